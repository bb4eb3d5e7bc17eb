#include "extender/standalone.h"

#include <gtest/gtest.h>

#include "extender/protocol/pod_server_test.h"
#include "extender/status_page.h"
#include "kapi/kinds.h"

namespace gs::extender {
namespace {

using namespace std::chrono_literals;

/// gpu-admission's machine and its API server, which answers reads; writes wait in `writes`.
class StandaloneTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server.add(vcudaPod("p", {{60, 1}}));
    server.add(vcudaPod("q", {{60, 1}}));
    serve(machine.start(now));
    serve(machine.handle(kapi::Leadership{true, 1, now.mono + 1h}, now));
    ASSERT_TRUE(machine.extender().leading());
  }
  void serve(const kapi::Effects& effects) {
    for (const auto& effect : effects) {
      if (const auto* watch = std::get_if<kapi::OpenWatch>(&effect)) {
        watches.emplace(watch->kind, watch->stream);
      }
      const auto* call = std::get_if<kapi::Call>(&effect);
      if (call == nullptr) { continue; }
      if (kapi::isRead(call->verb)) {
        give(listed(*call));
      } else {
        writes.push_back(*call);
      }
    }
  }
  void give(const kapi::Outcome& outcome) {
    serve(machine.handle(outcome, now));
    for (auto& [request_id, answer] : machine.takeAnswers()) { answers[request_id] = std::move(answer); }
  }
  kapi::Outcome listed(const kapi::Call& call) {
    kapi::Outcome o;
    o.token = call.token;
    o.http = 200;
    o.result = kapi::CallResult::Applied;
    o.list_revision = server.revision;
    if (call.kind == kapi::kNode) {
      o.items = {std::make_shared<const model::Node>(gpuNode("a", 4))};
    } else {
      for (const auto& [name, pod] : server.pods) {
        o.items.emplace_back(std::make_shared<const model::Pod>(pod));
      }
    }
    return o;
  }
  /// The first write that waits takes effect.
  void answerWrite() {
    ASSERT_FALSE(writes.empty());
    const kapi::Call call = writes.front();
    writes.erase(writes.begin());
    give(server.carryOut(call));
  }
  void watchBrings(const char* name) {
    const model::Pod& pod = server.pods.at(name);
    serve(machine.handle(kapi::WatchEvent{watches.at(kapi::kPod), kapi::WatchType::Modified,
                                          std::make_shared<const model::Pod>(pod), pod.key, pod.revision},
                         now));
  }
  RequestId ask(const char* pod) {
    Request q;
    q.verb = Verb::Filter;
    q.pod = std::make_shared<const model::Pod>(server.pods.at(pod));
    q.candidates.table = machine.table();
    q.candidates.nodes = {machine.table()->find("a")};
    serve(machine.ask(++last, std::move(q), now));
    for (auto& [request_id, answer] : machine.takeAnswers()) { answers[request_id] = std::move(answer); }
    return last;
  }
  /// "" : not yet.
  [[nodiscard]] std::string refusal(RequestId request_id) const {
    const auto it = answers.find(request_id);
    if (it == answers.end()) { return ""; }
    return it->second.kind == Answer::Kind::Unavailable ? it->second.text : "(it was answered)";
  }

  PodServer server;
  Now now{Mono{1h}, Wall{1'750'000'000s}};
  Standalone machine{{}, Rng{1}};
  std::vector<kapi::Call> writes;
  std::map<kapi::Kind, kapi::Token> watches;  // the first of each
  std::map<RequestId, Answer> answers;
  RequestId last = 0;
};

/// Not told yet who leads.
/// With the check of who sends requests on.
Readiness readiness(const Standalone& machine, bool another_leads) {
  Readiness out = machine.readiness();
  noteRequests(machine.extender(), another_leads, out);
  return out;
}

class StandaloneReadiness : public StandaloneTest {
 protected:
  void SetUp() override {
    server.add(vcudaPod("p", {{60, 1}}));
    serve(machine.start(now));
  }
  [[nodiscard]] bool ready(bool another_leads = false) const {
    return readiness(machine, another_leads).ready;
  }
  [[nodiscard]] bool says(const std::string& line, bool another_leads = false) const {
    return readiness(machine, another_leads).text().find("\nrequests: " + line + "\n") != std::string::npos;
  }
};

TEST_F(StandaloneReadiness, ItIsReadyOnceItsRequestsAreAnsweredAndNotBefore) {
  EXPECT_FALSE(ready()) << "nobody leads";
  EXPECT_TRUE(says("this extender does not lead yet"));
  EXPECT_EQ(refusal(ask("p")), "this extender does not lead yet");
  const kapi::Effects catching_up = machine.handle(kapi::Leadership{true, 1, now.mono + 1h}, now);
  EXPECT_FALSE(ready());
  EXPECT_TRUE(says("this replica leads and is catching up with the cluster; ask again"));
  EXPECT_EQ(refusal(ask("p")), "this replica leads and is catching up with the cluster; ask again");
  serve(catching_up);
  EXPECT_TRUE(ready());
  EXPECT_TRUE(says("ok"));
  EXPECT_EQ(refusal(ask("p")), "");
}

TEST_F(StandaloneReadiness, AStandbyIsReadyWhileThereIsSomebodyToSendThemOnTo) {
  EXPECT_TRUE(ready(true));
  EXPECT_TRUE(says("ok, sent on to the replica that leads", true));
  EXPECT_FALSE(ready(false));
}

TEST_F(StandaloneReadiness, WhoSendsThemOnKnowsTheClusterAllTheSame) {
  Standalone fresh{{}, Rng{1}};
  (void)fresh.start(now);
  EXPECT_FALSE(readiness(fresh, true).ready) << "it may have to lead any moment";
}

TEST_F(StandaloneReadiness, OneThatLostTheLeadOrIsStoppingIsNotReady) {
  serve(machine.handle(kapi::Leadership{true, 1, now.mono + 1h}, now));
  EXPECT_TRUE(ready());
  serve(machine.handle(kapi::Leadership{false, 1, {}}, now));
  EXPECT_FALSE(ready());
  serve(machine.handle(kapi::Leadership{true, 2, now.mono + 1h}, now));
  EXPECT_TRUE(ready());
  machine.stopTaking();
  EXPECT_FALSE(ready());
  EXPECT_TRUE(says("this replica is stopping"));
}

TEST_F(StandaloneTest, WithNothingUnderWayItMayStopAtOnce) {
  machine.stopTaking();
  EXPECT_FALSE(machine.underWay());
  EXPECT_EQ(refusal(ask("p")), "this replica is stopping");
}

TEST_F(StandaloneTest, ALeaderLeaseWhoseHistoryWentBackEndsItForGood) {
  kapi::Leadership back;
  back.went_back = true;
  serve(machine.handle(back, now));
  EXPECT_NE(machine.failure().find("the leader lease"), std::string::npos) << machine.failure();
  EXPECT_FALSE(machine.extender().leading());
  serve(machine.handle(kapi::Leadership{true, 2, now.mono + 1h}, now));
  EXPECT_FALSE(machine.extender().leading());
}

TEST_F(StandaloneTest, AListThatIsOlderThanWhatWasKnownWhenItWasAskedForDoesToo) {
  server.revision = 1;  // of a backup
  serve(machine.handle(kapi::Leadership{true, 2, now.mono + 1h}, now));
  EXPECT_NE(machine.failure().find("went back in time"), std::string::npos) << machine.failure();
  EXPECT_FALSE(machine.extender().leading());
}

TEST_F(StandaloneTest, AnOrderlyStopWaitsForWritesAndAnswersTheirCallers) {
  const RequestId before = ask("p");
  ASSERT_EQ(writes.size(), 1U);
  machine.stopTaking();
  EXPECT_TRUE(machine.underWay());
  EXPECT_EQ(refusal(ask("q")), "this replica is stopping");
  EXPECT_EQ(writes.size(), 1U);
  EXPECT_FALSE(answers.contains(before));
  answerWrite();
  ASSERT_TRUE(answers.contains(before));
  EXPECT_EQ(answers.at(before).kind, Answer::Kind::Chosen);
  EXPECT_FALSE(machine.underWay());
}

TEST_F(StandaloneTest, WhatTakesTooLongIsGivenUpAndItsCallersAreTold) {
  const RequestId before = ask("p");
  machine.stopTaking();
  machine.giveUp();
  for (auto& [request_id, answer] : machine.takeAnswers()) { answers[request_id] = std::move(answer); }
  EXPECT_EQ(refusal(before), "this replica is stopping");
  EXPECT_FALSE(machine.underWay());
}

TEST_F(StandaloneTest, AStopEndsWhenTheLeadIsLost) {
  const RequestId before = ask("p");
  machine.stopTaking();
  serve(machine.handle(kapi::Leadership{false, 1, {}}, now));
  for (auto& [request_id, answer] : machine.takeAnswers()) { answers[request_id] = std::move(answer); }
  EXPECT_EQ(refusal(before), "another replica leads");
  EXPECT_FALSE(machine.underWay());
}

TEST_F(StandaloneTest, AnEventThatABusyServerRefusedIsSentAgain) {
  ask("p");
  answerWrite();
  model::Pod& pod = server.pods.at("p");
  pod.node = model::NodeName{"another"};
  pod.revision = ++server.revision;
  watchBrings("p");
  ASSERT_EQ(writes.size(), 1U);
  const kapi::Call event = std::exchange(writes, {}).front();
  ASSERT_EQ(event.kind, kapi::kEvent);
  kapi::Outcome busy;
  busy.token = event.token;
  busy.result = kapi::CallResult::Refused;
  busy.http = 429;
  give(busy);
  EXPECT_TRUE(writes.empty()) << "not at once";
  now.mono += 1s;
  serve(machine.handle(kapi::TimerDue{}, now));
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].body, event.body);
}

}  // namespace
}  // namespace gs::extender
