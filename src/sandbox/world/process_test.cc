// What a process does with its calls, timers and leadership as k8s/ does for every program.
#include "sandbox/world/process.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "apiserver/handlers/api.h"
#include "kapi/kinds.h"

namespace gs::sandbox {
namespace {

using namespace std::chrono_literals;
using How = CallFault::How;

/// One process of two connections, whose machine a test scripts.
class ProcessTest : public testing::Test, public Transport::Clients {
 protected:
  ProcessTest() {
    transport_.connect(*this);
    transport_.setJudge([this](ReplicaId, const kapi::Call& call) { return judge(call); });
    process_.begin();
  }
  ~ProcessTest() = default;

  bool isAlive(Transport::Address who) const override { return process_.isAlive(who); }
  void answered(Transport::Address who, kapi::Outcome o) override { process_.answered(who, std::move(o)); }
  void streamed(Transport::Address who, ApiPort::StreamEvent event) override {
    process_.streamed(who, std::move(event));
  }
  void die(Transport::Address who) override {
    if (isAlive(who)) { process_.end(); }
  }

  static kapi::Call read(kapi::Token token, const char* ordering_key = "") {
    kapi::Call call;
    call.token = token;
    call.kind = kapi::kPod;
    call.key = {"default", "none"};
    call.ordering_key = ordering_key;
    call.timeout = 10s;
    return call;
  }
  static kapi::Call binding(kapi::Token token) {
    kapi::Call call = read(token);
    call.subresource = "binding";
    return call;
  }
  static kapi::Call onlyAsLeader(kapi::Call call) {
    call.leader_only = true;
    return call;
  }
  void wants(kapi::Effects effects) { process_.carry(std::move(effects)); }
  /// It leads from now on, and its election hears of nothing that it writes.
  void lead() {
    controller::Election::Config election;
    election.lease = {"default", "lease"};
    election.identity = "it";
    process_.elect(std::move(election), Rng{1});
    queue_.runTo(queue_.now().mono + 100ms);
    ASSERT_TRUE(process_.leads());
    (void)after(0ms);
  }
  /// What was sent ("7") and heard ("7 applied") within that time.
  std::string after(Duration by) {
    queue_.runTo(queue_.now().mono + by);
    return std::exchange(said_, {});
  }

  EventQueue queue_{ManualClock{}.now().wall};
  apiserver::Api api_{Rng{1}, queue_.now()};
  ApiPort port_{api_};
  Transport transport_{queue_, port_, {1ms, true, [] {}}};
  std::map<kapi::Token, CallFault> faults_;  // by call; none: it goes well
  bool election_is_cut_ = false;
  Process process_{queue_, transport_, 1, 2, program()};

 private:
  Process::Program program() {
    Process::Program out;
    out.handle = [this](const kapi::MachineEvent& event, Now) {
      static constexpr const char* kResults[] = {"applied", "refused", "unknown", "not-sent"};
      if (const auto* o = std::get_if<kapi::Outcome>(&event)) {
        said_ += std::to_string(o->token) + ' ' + kResults[static_cast<int>(o->result)] + "; ";
      } else if (std::holds_alternative<kapi::TimerDue>(event)) {
        said_ += "timer; ";
      }
      return kapi::Effects{};
    };
    return out;
  }
  CallFault judge(const kapi::Call& call) {
    if (kapi::tokenOwner(call.token) == kElectionOwner) {
      return {.how = election_is_cut_ ? How::LostBefore : How::Normal};
    }
    said_ += std::to_string(call.token) + "; ";
    const auto fault = faults_.find(call.token);
    return fault == faults_.end() ? CallFault{.how = How::LostBefore} : fault->second;
  }

  std::string said_;
};

TEST_F(ProcessTest, HasNoMoreCallsOutThanItHasConnections) {
  wants({read(1), read(2), read(3), binding(4)});
  EXPECT_EQ(after(1ms), "1; 2; ");
  EXPECT_EQ(after(1ms), "4; 1 unknown; 3; 2 unknown; ") << "a Binding goes before what came before it";
  EXPECT_EQ(after(2ms), "4 unknown; 3 unknown; ");
}

TEST_F(ProcessTest, WhatWaitsBehindAnotherIsSentBeforeTheMachineHearsOfThat) {
  wants({read(1, "x"), read(2, "x")});
  EXPECT_EQ(after(2ms), "1; 2; 1 unknown; ");
}

// What production does: the World sent it.
TEST_F(ProcessTest, WhatWasDecidedInAnEarlierTermIsNotSentInALaterOne) {
  lead();
  faults_[1] = {.how = How::LostBefore, .hangs = 30s};
  wants({onlyAsLeader(read(1, "x")), onlyAsLeader(read(2, "x"))});
  EXPECT_EQ(after(1ms), "1; ");
  election_is_cut_ = true;
  (void)after(10s);
  ASSERT_FALSE(process_.leads());
  election_is_cut_ = false;
  (void)after(10s);
  ASSERT_TRUE(process_.leads()) << "again, in a term of its own";
  EXPECT_EQ(after(20s), "1 unknown; 2 not-sent; ");
  wants({onlyAsLeader(read(3, "x"))});
  EXPECT_EQ(after(2ms), "3; 3 unknown; ");
}

TEST_F(ProcessTest, WhoNeverTriesToLeadSendsNoLeaderOnlyCall) {
  wants({onlyAsLeader(read(1)), read(2)});
  EXPECT_EQ(after(2ms), "2; 1 not-sent; 2 unknown; ");
}

TEST_F(ProcessTest, WhenTheApiServerIsBusyCallsOfThatKindWait) {
  faults_[1] = {.how = How::Refused, .http = 429, .retry_after = 2s};
  wants({read(1)});
  EXPECT_EQ(after(2ms), "1; 1 refused; ");
  kapi::Call impatient = read(3);
  impatient.timeout = 500ms;
  wants({read(2), impatient, binding(4)});
  EXPECT_EQ(after(10ms), "4; 4 unknown; ");
  EXPECT_EQ(after(1s), "3 not-sent; ") << "it would have waited for longer than it may take";
  EXPECT_EQ(after(1s), "2; 2 unknown; ");
}

TEST_F(ProcessTest, WakesOfOneMillisecondAreOneTimer) {
  const Mono now = queue_.now().mono;
  wants({kapi::Wake{now + 2ms}, kapi::Wake{now + 1500us}, kapi::Wake{now + 5ms}, kapi::Wake{Mono::max()}});
  EXPECT_EQ(after(1ms), "");
  EXPECT_EQ(after(1ms), "timer; ");
  EXPECT_EQ(after(1h), "timer; ");
}

TEST_F(ProcessTest, AnotherLifeKnowsNothingOfWhatWaited) {
  wants({read(1, "x"), read(2, "x"), kapi::Wake{queue_.now().mono + 2ms}});
  process_.end();
  process_.begin();
  EXPECT_EQ(after(1h), "1; ");
  wants({read(1, "x")});
  EXPECT_EQ(after(2ms), "1; 1 unknown; ");
}

}  // namespace
}  // namespace gs::sandbox
