#include "k8s/call_pool.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/deadline_test.h"
#include "base/system_clock.h"
#include "k8s/fake_client_test.h"
#include "kapi/kinds.h"

namespace gs::k8s {
namespace {

using namespace std::chrono_literals;

class CallPoolTest : public testing::Test {
 protected:
  std::unique_ptr<CallPool> makePool(std::size_t connections = 4) {
    return std::make_unique<CallPool>(
        CallPool::Options{connections, "call"}, api_.connect(),
        [this](kapi::Outcome outcome) { received_.add(std::move(outcome)); }, clock_, &gate_);
  }
  static kapi::Call call(kapi::Token token, std::string ordering_key = {}, bool leader_only = false) {
    kapi::Call made;
    made.token = token;
    made.verb = kapi::Verb::Update;
    made.kind = kapi::kLease;
    made.ordering_key = std::move(ordering_key);
    made.leader_only = leader_only;
    made.timeout = 1h;
    return made;
  }
  void lead(std::uint64_t term) { gate_.set({true, term, Mono::max()}); }

  SystemClock clock_;
  LeaderGate gate_;
  FakeApi api_;
  Received received_;
};

TEST_F(CallPoolTest, CarriesCallsOutSideBySide) {
  const auto pool = makePool();
  for (kapi::Token t = 1; t <= 4; ++t) { pool->submit(call(t), 0); }
  std::set<kapi::Token> tokens;
  for (int i = 0; i < 4; ++i) { tokens.insert(api_.nextCall().token); }  // none of them was answered yet
  EXPECT_EQ(tokens.size(), 4U);
  for (const kapi::Token t : tokens) { api_.answer(t); }
  EXPECT_EQ(received_.waitFor(4).size(), 4U);
}

TEST_F(CallPoolTest, NeverMoreThanTheGivenConnections) {
  const auto pool = makePool(2);
  for (kapi::Token t = 1; t <= 20; ++t) { pool->submit(call(t), 0); }
  for (int i = 0; i < 20; ++i) { api_.answer(api_.nextCall().token); }
  received_.waitFor(20);
  EXPECT_LE(api_.clients(), 2);
}

TEST_F(CallPoolTest, OneOrderingKeyGoesInOrderAndItsOutcomesComeInOrder) {
  const auto pool = makePool();
  for (kapi::Token t = 1; t <= 5; ++t) { pool->submit(call(t, "pod-a"), 0); }
  pool->submit(call(6, "pod-b"), 0);
  std::set<kapi::Token> first{api_.nextCall().token, api_.nextCall().token};
  EXPECT_EQ(first, (std::set<kapi::Token>{1, 6}));
  for (kapi::Token t = 1; t <= 5; ++t) {
    api_.answer(t);
    if (t < 5) { EXPECT_EQ(api_.nextCall().token, t + 1); }
  }
  const auto outcomes = received_.waitFor(5);
  for (std::size_t i = 0; i < 5; ++i) { EXPECT_EQ(outcomes[i].token, i + 1); }
  api_.answer(6);
}

TEST_F(CallPoolTest, LeaderOnlyCallIsSentOnlyInItsTerm) {
  const auto pool = makePool();
  pool->submit(call(1, "", true), 1);  // nobody leads yet
  EXPECT_EQ(received_.waitFor(1)[0].result, kapi::CallResult::NotSent);
  lead(2);
  pool->submit(call(2, "", true), 1);  // decided in an earlier term
  EXPECT_EQ(received_.waitFor(2)[1].result, kapi::CallResult::NotSent);
  pool->submit(call(3, "", true), 2);
  EXPECT_EQ(api_.nextCall().token, 3U);
  api_.answer(3);
  EXPECT_EQ(received_.waitFor(3)[2].result, kapi::CallResult::Applied);
  gate_.set({true, 2, clock_.now().mono});  // the renew deadline is over
  pool->submit(call(4, "", true), 2);
  EXPECT_EQ(received_.waitFor(4)[3].result, kapi::CallResult::NotSent);
  EXPECT_TRUE(api_.nothingArrived());
}

TEST_F(CallPoolTest, LeaderOnlyCallThatWaitedInItsOrderingKeyWhileLeadershipWasLostIsNotSent) {
  const auto pool = makePool();
  lead(1);
  pool->submit(call(1, "a", true), 1);
  pool->submit(call(2, "a", true), 1);
  EXPECT_EQ(api_.nextCall().token, 1U);
  lead(2);
  api_.answer(1);
  const auto outcomes = received_.waitFor(2);
  EXPECT_EQ(outcomes[1].token, 2U);
  EXPECT_EQ(outcomes[1].result, kapi::CallResult::NotSent);
}

TEST_F(CallPoolTest, WithoutAGateLeaderOnlyCallsAreNeverSent) {
  CallPool pool{
      {}, api_.connect(), [this](kapi::Outcome o) { received_.add(std::move(o)); }, clock_, nullptr};
  pool.submit(call(1, "", true), 0);
  EXPECT_EQ(received_.waitFor(1)[0].result, kapi::CallResult::NotSent);
}

TEST_F(CallPoolTest, BusyAnswerHoldsTheNextCallOfThatKind) {
  const auto pool = makePool();
  pool->submit(call(1), 0);
  api_.nextCall();
  api_.answer(1, 429, 1h);
  EXPECT_EQ(received_.waitFor(1)[0].retry_after, 1h);  // the machine decides about the call itself
  pool->submit(call(2), 0);
  kapi::Call other = call(3);
  other.verb = kapi::Verb::Delete;
  pool->submit(other, 0);
  EXPECT_EQ(api_.nextCall().token, 3U);
  api_.answer(3);
  received_.waitFor(2);
  EXPECT_TRUE(api_.nothingArrived());  // the second is held
}

TEST_F(CallPoolTest, HeldCallGoesByItselfWhenItsTimeHasCome) {
  const auto pool = makePool();
  pool->submit(call(1), 0);
  api_.nextCall();
  api_.answer(1, 429, 20ms);
  received_.waitFor(1);
  pool->submit(call(2), 0);
  EXPECT_EQ(api_.nextCall().token, 2U);
  api_.answer(2);
}

TEST_F(CallPoolTest, CallHeldForLongerThanItsTimeoutComesBackNotSent) {
  const auto pool = makePool();
  pool->submit(call(1), 0);
  api_.nextCall();
  api_.answer(1, 429, 30s);
  received_.waitFor(1);
  kapi::Call impatient = call(2, "a");
  impatient.timeout = 5ms;
  pool->submit(impatient, 0);
  const auto outcome = received_.waitFor(2)[1];
  EXPECT_EQ(outcome.result, kapi::CallResult::NotSent);
  EXPECT_GT(outcome.retry_after, Duration::zero());
}

TEST_F(CallPoolTest, DrainWaitsForWhatIsOutAndRefusesTheRest) {
  const auto pool = makePool(1);
  pool->submit(call(1, "a"), 0);
  pool->submit(call(2, "a"), 0);
  pool->submit(call(3), 0);
  EXPECT_EQ(api_.nextCall().token, 1U);
  std::jthread drainer{[&] { pool->drain(1h); }};
  while (!pool->draining()) { std::this_thread::yield(); }
  api_.answer(1);
  drainer.join();
  const auto outcomes = received_.waitFor(3);
  EXPECT_EQ(outcomes[0].result, kapi::CallResult::Applied);
  EXPECT_EQ(outcomes[1].result, kapi::CallResult::NotSent);
  EXPECT_EQ(outcomes[2].result, kapi::CallResult::NotSent);
  EXPECT_TRUE(api_.nothingArrived());
  pool->drain(1h);  // again: nothing to do
  pool->submit(call(4), 0);
  EXPECT_EQ(received_.waitFor(4)[3].result, kapi::CallResult::NotSent);
}

TEST_F(CallPoolTest, DrainCancelsWhatGetsNoAnswerInTime) {
  const auto pool = makePool();
  pool->submit(call(1), 0);
  pool->submit(call(2), 0);
  api_.nextCall();
  api_.nextCall();
  pool->drain(1ms);  // returns, though nothing was answered
  for (const auto& outcome : received_.waitFor(2)) { EXPECT_EQ(outcome.result, kapi::CallResult::Unknown); }
}

TEST_F(CallPoolTest, DrainGivesBackHeldCalls) {
  const auto pool = makePool();
  pool->submit(call(1), 0);
  api_.nextCall();
  api_.answer(1, 429, 30s);
  received_.waitFor(1);
  pool->submit(call(2), 0);
  pool->drain(1h);
  EXPECT_EQ(received_.waitFor(2)[1].result, kapi::CallResult::NotSent);
}

TEST_F(CallPoolTest, DestructionDoesNotWaitForAnswers) {
  auto pool = makePool();
  for (kapi::Token t = 1; t <= 10; ++t) { pool->submit(call(t), 0); }
  api_.nextCall();
  const gs::Deadline deadline{"the pool's destructor returns"};
  pool.reset();
}

}  // namespace
}  // namespace gs::k8s
