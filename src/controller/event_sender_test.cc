#include "controller/event_sender.h"

#include <gtest/gtest.h>

namespace gs::controller {
namespace {

using namespace std::chrono_literals;
using controller::EventNote;
using controller::EventRecorder;
using kapi::Call;
using kapi::CallResult;
using kapi::Effects;
using kapi::Outcome;
using kapi::Verb;

class EventSenderTest : public ::testing::Test {
 protected:
  std::vector<Call> taken() {
    std::vector<Call> calls;
    for (auto& effect : std::exchange(out, {})) { calls.push_back(std::get<Call>(std::move(effect))); }
    return calls;
  }
  void send(const char* text, const char* ns = "default") {
    EventNote note;
    note.object = {ns, "p"};
    note.uid = model::Uid{"uid-p"};
    note.reason = "Scheduled";
    note.note = text;
    sender.send(note, now, out);
  }
  Call sent(const char* text = "to node-a", const char* ns = "default") {
    send(text, ns);
    const auto calls = taken();
    EXPECT_EQ(calls.size(), 1U);
    return calls.empty() ? Call{} : calls.at(0);
  }
  void answer(const Call& call, CallResult result, int http, Duration retry_after = {}) {
    Outcome o;
    o.token = call.token;
    o.result = result;
    o.http = http;
    if (http == 404) { o.reason = "NotFound"; }
    o.retry_after = retry_after;
    sender.handle(o, now, out);
  }
  std::vector<Call> after(Duration by) {
    now.mono += by;
    sender.tick(now, out);
    return taken();
  }

  EventRecorder recorder{"gpu-scheduler", "gpu-scheduler-0", Rng{1}};
  controller::Parts parts;
  EventSender sender{recorder, parts};
  Effects out;
  Now now{Mono{1h}, Wall{1'750'000'000s}};
};

TEST_F(EventSenderTest, AnEventIsOneCreateOfOurs) {
  const auto call = sent();
  EXPECT_EQ(call.verb, Verb::Create);
  EXPECT_TRUE(call.leader_only);
  EXPECT_EQ(kapi::tokenOwner(call.token), 1);
  EXPECT_EQ(call.body["note"].str(), "to node-a");
}

TEST_F(EventSenderTest, OnlyABusyServerOrAnUnknownOutcomeIsAReasonToSendAgain) {
  struct Case {
    CallResult result;
    int http;
    bool again;
  };
  int n = 0;
  for (const Case& c : {Case{CallResult::Applied, 201, false}, Case{CallResult::Unknown, 0, true},
                        Case{CallResult::Unknown, 503, true}, Case{CallResult::NotSent, 0, true},
                        Case{CallResult::Refused, 429, true}, Case{CallResult::Refused, 409, false},
                        Case{CallResult::Refused, 403, false}, Case{CallResult::Refused, 404, false},
                        Case{CallResult::Refused, 422, false}}) {
    sender.reset();
    answer(sent(std::to_string(++n).c_str()), c.result, c.http);
    EXPECT_EQ(sender.nextDue().has_value(), c.again) << c.http;
    EXPECT_EQ(after(1min).size(), c.again ? 1U : 0U) << c.http;
  }
}

TEST_F(EventSenderTest, ItIsSentFourTimesInAllEachTimeLater) {
  const auto first = sent();
  auto call = first;
  for (const Duration wait : {200ms, 400ms, 800ms}) {
    answer(call, CallResult::Unknown, 0);
    EXPECT_TRUE(after(wait - 1ms).empty());
    const auto again = after(1ms);
    ASSERT_EQ(again.size(), 1U);
    EXPECT_NE(again[0].token, call.token);
    EXPECT_EQ(again[0].body, first.body) << "under the same name, so that a copy is refused";
    call = again[0];
  }
  answer(call, CallResult::Unknown, 0);
  EXPECT_EQ(sender.nextDue(), std::nullopt);
}

TEST_F(EventSenderTest, ABusyServerIsAskedAgainWhenItSaid) {
  answer(sent(), CallResult::Refused, 429, 7s);
  EXPECT_EQ(sender.nextDue(), now.mono + 7s);
  EXPECT_TRUE(after(6s).empty());
  EXPECT_EQ(after(1s).size(), 1U);
}

TEST_F(EventSenderTest, EachEventWaitsForItself) {
  answer(sent("a"), CallResult::Refused, 429, 3s);
  answer(sent("b"), CallResult::Unknown, 0);
  EXPECT_EQ(sender.nextDue(), now.mono + 200ms);
  const auto b = after(200ms);
  ASSERT_EQ(b.size(), 1U);
  EXPECT_EQ(b[0].body["note"].str(), "b");
  const auto a = after(2800ms);
  ASSERT_EQ(a.size(), 1U);
  EXPECT_EQ(a[0].body["note"].str(), "a");
}

TEST_F(EventSenderTest, ANamespaceHasFewInFlightAndTheRestWaits) {
  for (int i = 0; i < EventSender::kInFlight + 3; ++i) { send(std::to_string(i).c_str()); }
  const auto first = taken();
  ASSERT_EQ(first.size(), std::size_t{EventSender::kInFlight});
  EXPECT_EQ(sender.nextDue(), std::nullopt);
  EXPECT_TRUE(sender.waiting());
  EXPECT_EQ(sent("of another namespace", "other").body["note"].str(), "of another namespace");
  answer(first[0], CallResult::Applied, 201);
  answer(first[1], CallResult::Applied, 201);
  EXPECT_LE(sender.nextDue(), now.mono);
  const auto next = after({});
  ASSERT_EQ(next.size(), 2U);
  EXPECT_EQ(next[0].body["note"].str(), std::to_string(EventSender::kInFlight));
  EXPECT_EQ(next[1].body["note"].str(), std::to_string(EventSender::kInFlight + 1));
  answer(next[0], CallResult::Applied, 201);
  EXPECT_EQ(after({}).size(), 1U);
  EXPECT_FALSE(sender.waiting());
}

TEST_F(EventSenderTest, WhatWaitsIsBoundedTheOldestGo) {
  for (std::size_t i = 0; i < EventSender::kInFlight + EventSender::kWaiting + 1; ++i) {
    send(std::to_string(i).c_str());
  }
  const auto first = taken();
  for (const auto& call : first) { answer(call, CallResult::Applied, 201); }
  EXPECT_EQ(after({}).at(0).body["note"].str(), std::to_string(EventSender::kInFlight + 1));
}

TEST_F(EventSenderTest, ARepeatThatComesTooSoonIsNotSent) {
  answer(sent(), CallResult::Applied, 201);
  send("to node-a");
  EXPECT_TRUE(taken().empty());
  now.mono += 10s;
  EXPECT_EQ(sent().verb, Verb::MergePatch);
}

TEST_F(EventSenderTest, AnEventThatTheServerHasNoMoreIsMadeAgain) {
  answer(sent(), CallResult::Applied, 201);
  now.mono += 10s;
  const auto again = sent();
  ASSERT_EQ(again.verb, Verb::MergePatch);
  answer(again, CallResult::Refused, 404);
  now.mono += 10s;
  EXPECT_EQ(sent().verb, Verb::Create);
}

TEST_F(EventSenderTest, OnlyItsOwnAnswersAreTakenAndOnce) {
  const auto call = sent();
  answer(Call{}, CallResult::Unknown, 0);
  EXPECT_FALSE(sender.waiting());
  answer(call, CallResult::Unknown, 0);
  answer(call, CallResult::Unknown, 0);
  EXPECT_EQ(after(1min).size(), 1U);
}

TEST_F(EventSenderTest, AfterALossOfLeadershipNothingIsSentAgain) {
  const auto in_flight = sent("a");
  answer(sent("b"), CallResult::Unknown, 0);
  sender.reset();
  EXPECT_EQ(sender.nextDue(), std::nullopt);
  answer(in_flight, CallResult::Unknown, 0);
  EXPECT_TRUE(after(1min).empty());
}

}  // namespace
}  // namespace gs::controller
