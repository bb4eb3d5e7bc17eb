#include "serve/combined/combined.h"
#include "extender/status_page.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kapi/kinds.h"
#include "serve/combined/list_server_test.h"
#include "testing/builders.h"

namespace gs::serve {
namespace {

using namespace std::chrono_literals;
using extender::Answer;
using extender::Request;
using extender::Verb;
using kapi::Kind;

/// A pod that a kube-scheduler places and that asks for a GPU by its number.
model::Pod kubePod() {
  model::Pod pod = testing::PodBuilder("k").gpus(1).value();
  pod.scheduler_name = "gpu-kube";
  return pod;
}
scheduler::Config withKubePods() {
  scheduler::Config config;
  config.extender_pods = {"gpu-kube"};
  return config;
}

/// Both on one engine, and their API server.
class CombinedTest : public ::testing::Test, protected ListServer {
 protected:
  CombinedTest() {
    add(kapi::kNode, shareNode());
    addLeaseRecord();
  }
  void start() { serve(machine.start(now)); }
  void lead(std::uint64_t term = 1) {
    serve(machine.handle(kapi::Leadership{true, term, now.mono + 1h}, now));
  }
  void lose() { serve(machine.handle(kapi::Leadership{false, 1, {}}, now)); }
  void serve(kapi::Effects effects) {
    for (const auto& effect : effects) {
      if (const auto* watch = std::get_if<kapi::OpenWatch>(&effect);
          watch && watch->kind == kapi::kPod && pods_watch == 0) {
        pods_watch = watch->stream;
      }
      const auto* call = std::get_if<kapi::Call>(&effect);
      if (call == nullptr) { continue; }
      if (const auto outcome = answer(*call)) {
        serve(machine.handle(*outcome, now));
      } else {
        written.push_back(*call);
      }
    }
  }
  static model::Node shareNode() {
    model::Node node = testing::makeNode("shares");
    node.share_capacity = {200, 8};
    return node;
  }
  static model::Pod sharePod() {
    model::Pod pod = testing::PodBuilder("p").value();
    pod.scheduler_name = "default-scheduler";
    pod.share_limits = {{60, 2}};
    pod.revision = 5;
    return pod;
  }
  void watchBrings(kapi::WatchType type, const model::Pod& pod) {
    serve(machine.handle(
        kapi::WatchEvent{pods_watch, type, std::make_shared<const model::Pod>(pod), pod.key, pod.revision},
        now));
  }
  Request filter() {
    Request q;
    q.verb = Verb::Filter;
    q.pod = std::make_shared<const model::Pod>(sharePod());
    q.candidates.table = machine.table();
    q.candidates.nodes = {machine.table()->find("shares")};
    return q;
  }
  std::optional<Answer> ask() {
    serve(machine.ask(1, filter(), now));
    auto answers = machine.takeAnswers();
    return answers.empty() ? std::nullopt : std::optional{answers.back().second};
  }
  /// The PATCH of sharePod() took effect.
  static kapi::Outcome applied(const kapi::Call& call) {
    model::Pod pod = sharePod();
    pod.revision = 11;
    for (const auto& [key, value] : call.body["metadata"]["annotations"].members()) {
      if (!value.isNull()) { pod.annotations[key] = value.str(); }
    }
    kapi::Outcome o;
    o.token = call.token;
    o.http = 200;
    o.result = kapi::CallResult::Applied;
    o.object = std::make_shared<const model::Pod>(pod);
    return o;
  }
  [[nodiscard]] bool patchedShares() const {
    return std::any_of(written.begin(), written.end(),
                       [](const kapi::Call& c) { return c.kind == kapi::kPod && c.subresource == "status"; });
  }

  std::vector<kapi::Call> written;
  kapi::Token pods_watch = 0;
  Now now{Mono{1h}, Wall{1'750'000'000s}};
  scheduler::Scheduler scheduler{withKubePods(), Rng{1}};
  Combined machine{scheduler, {}, Rng{2}};
};

TEST_F(CombinedTest, TheExtenderDecidesWhileTheSchedulerDoes) {
  add(kapi::kPod, sharePod());
  start();
  auto answer = ask();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, Answer::Kind::Unavailable);
  lead();
  ASSERT_TRUE(scheduler.leading());
  EXPECT_FALSE(ask()) << "it waits for its PATCH";
  EXPECT_TRUE(patchedShares());
  EXPECT_TRUE(machine.underWay());
  lose();
  const auto left = machine.takeAnswers();
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left.at(0).second.kind, Answer::Kind::Unavailable);
  EXPECT_EQ(left.at(0).second.text, "this replica does not lead");
}

/// Whoever asks knows nodes by the numbers of a table, which may be an old one: nodes came since.
TEST_F(CombinedTest, KubeSchedulersPodsAreTheSchedulersAndTheirNodesThoseOfToday) {
  const extender::NodeTablePtr old = machine.table();
  start();
  lead();
  Request q;
  q.verb = Verb::Filter;
  q.pod = std::make_shared<const model::Pod>(kubePod());
  q.candidates.table = old;
  q.candidates.nodes = {old->find("shares")};
  const auto asked = [&] {
    serve(machine.ask(7, q, now));
    const auto answers = machine.takeAnswers();
    return answers.empty() ? Answer{} : answers.back().second;
  };
  const Answer anew = asked();
  ASSERT_EQ(anew.kind, Answer::Kind::NewTable);
  q.candidates.table = anew.table;
  q.candidates.nodes = {anew.table->find("shares")};
  const Answer offered = asked();
  ASSERT_EQ(offered.kind, Answer::Kind::Offered) << offered.text;
  ASSERT_NE(offered.offers.rejectionOf(0), nullptr);
  EXPECT_EQ(offered.offers.rejectionOf(0)->text, "node(s) were managed by gpu-manager");
  EXPECT_TRUE(offered.offers.rejectionOf(0)->never);
  lose();
  EXPECT_EQ(asked().kind, Answer::Kind::Unavailable);
}

/// The pod of a request to bind is a name only. Its watch may be later than kube-scheduler's.
TEST_F(CombinedTest, APodThatIsNotSeenYetIsReadBeforeItIsSaidWhoseItIs) {
  start();
  lead();
  add(kapi::kPod, kubePod());
  Request q;
  q.verb = Verb::Bind;
  model::Pod named;
  named.key = kubePod().key;
  named.uid = kubePod().uid;
  q.pod = std::make_shared<const model::Pod>(named);
  q.node = model::NodeName{"shares"};
  q.candidates.table = machine.table();
  serve(machine.ask(7, q, now));
  const auto answers = machine.takeAnswers();
  const bool binds = std::any_of(written.begin(), written.end(),
                                 [](const kapi::Call& c) { return c.subresource == "binding"; });
  EXPECT_FALSE(binds) << "without its GPU";
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers.at(0).second.kind, Answer::Kind::Failed);
  EXPECT_EQ(answers.at(0).second.text, "node shares: node(s) were managed by gpu-manager");
}

TEST_F(CombinedTest, ItIsReadyOnceBothAre) {
  const auto readiness = [this](bool another_leads) {
    Readiness out = machine.readiness();
    extender::noteRequests(machine.extender(), another_leads, out);
    return out;
  };
  const auto ready = [&](bool another_leads) { return readiness(another_leads).ready; };
  EXPECT_FALSE(ready(true)) << "nothing is listed yet";
  start();
  EXPECT_FALSE(ready(false)) << "nobody answers requests";
  EXPECT_TRUE(ready(true)) << "they are sent on";
  lead();
  EXPECT_TRUE(ready(false));
  EXPECT_NE(readiness(false).text().find("\nrole: leader\n"), std::string::npos);
  EXPECT_TRUE(readiness(false).text().ends_with("\nrequests: ok\n"));
  machine.stopTaking();
  EXPECT_FALSE(ready(false));
}

TEST_F(CombinedTest, BothCountInOneLedger) {
  add(kapi::kPod, sharePod());
  start();
  lead();
  (void)ask();
  const auto* node = scheduler.engine().ledger().find(model::NodeName{"shares"});
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->free_milli, 1400);
}

TEST_F(CombinedTest, AnOrderlyStopWaitsForWritesAndAnswersTheirCallers) {
  add(kapi::kPod, sharePod());
  start();
  lead();
  EXPECT_FALSE(ask());
  machine.stopTaking();
  EXPECT_TRUE(machine.underWay());
  const auto refused = ask();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->text, "this replica is stopping");
  serve(machine.handle(kapi::TimerDue{}, now));
  EXPECT_TRUE(machine.underWay()) << "no answer yet";
  serve(machine.handle(applied(written.back()), now));
  const auto answers = machine.takeAnswers();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers.at(0).second.kind, Answer::Kind::Chosen);
  EXPECT_FALSE(machine.underWay());
}

TEST_F(CombinedTest, WhatTakesTooLongAtAStopIsGivenUpAndItsCallersAreTold) {
  add(kapi::kPod, sharePod());
  start();
  lead();
  EXPECT_FALSE(ask());
  machine.stopTaking();
  machine.giveUp();
  EXPECT_EQ(machine.takeAnswers().at(0).second.text, "this replica is stopping");
  EXPECT_FALSE(machine.underWay());
}

TEST_F(CombinedTest, WhoLosesTheLeadWhileItStopsTellsItsCallers) {
  add(kapi::kPod, sharePod());
  start();
  lead();
  EXPECT_FALSE(ask());
  machine.stopTaking();
  lose();
  const auto answers = machine.takeAnswers();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers.at(0).second.text, "this replica does not lead");
  EXPECT_FALSE(machine.underWay());
}

TEST_F(CombinedTest, OneThatIsStoppingAnswersNothingNew) {
  start();
  lead();
  machine.stopTaking();
  const auto answer = ask();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, Answer::Kind::Unavailable);
  EXPECT_EQ(answer->text, "this replica is stopping");
}

// ---- One pod, two answers

/// Its limits make it a pod of the extender's too, its scheduler is the one here.
model::Pod ownSharePod() {
  model::Pod pod = testing::PodBuilder("p").value();
  pod.share_limits = {{60, 2}};
  pod.revision = 5;
  return pod;
}

TEST_F(CombinedTest, ARequestInTheNameOfAPodThatTheSchedulerPlacesReservesNothing) {
  start();
  lead();
  EXPECT_FALSE(ask()) << "nothing is known of that pod yet";
  model::Pod pod = ownSharePod();
  pod.revision = 11;
  watchBrings(kapi::WatchType::Added, pod);
  const auto answers = machine.takeAnswers();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers.at(0).second.text, "pod default/p is scheduled by gpu-scheduler");
  now.mono += 2s;
  serve(machine.handle(kapi::TimerDue{}, now));
  const auto binds = [](const kapi::Call& c) { return c.subresource == "binding"; };
  EXPECT_TRUE(std::any_of(written.begin(), written.end(), binds)) << "it is placed all the same";
}

TEST_F(CombinedTest, ARequestInTheNameOfAPodOfTheSchedulerIsRefused) {
  add(kapi::kPod, ownSharePod());
  start();
  lead();
  const auto answer = ask();  // says a newer version, of another scheduler
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->text, "pod default/p is scheduled by gpu-scheduler");
}

TEST_F(CombinedTest, WhatAnEarlierLeaderPromisedCountsBeforeTheSchedulerPlacesAnybody) {
  model::Node node = shareNode();
  node.allocatable_pods = 1;
  objects[kapi::kNode].clear();
  add(kapi::kNode, node);
  model::Pod promised = sharePod();
  promised.annotations = {{"tencent.com/predicate-node", "shares"},
                          {"tencent.com/predicate-gpu-idx-0", "0"},
                          {"tencent.com/predicate-time", "1749999999000000000"},
                          {"tencent.com/gpu-assigned", "false"}};
  add(kapi::kPod, promised);
  add(kapi::kPod, testing::PodBuilder("own").value());
  start();
  lead();
  const auto binds = [](const kapi::Call& c) { return c.subresource == "binding"; };
  EXPECT_TRUE(std::none_of(written.begin(), written.end(), binds));
}

TEST_F(CombinedTest, AnnotationsOnAPodOfTheSchedulerReserveNothing) {
  model::Pod pod = ownSharePod();
  pod.scheduling_gates = {"wait"};
  pod.annotations = {{"tencent.com/predicate-node", "shares"}, {"tencent.com/predicate-gpu-idx-0", "0"}};
  add(kapi::kPod, pod);
  start();
  lead();
  pod.scheduling_gates = {};
  pod.revision = 11;
  watchBrings(kapi::WatchType::Modified, pod);
  const auto binds = [](const kapi::Call& c) { return c.subresource == "binding"; };
  EXPECT_TRUE(std::any_of(written.begin(), written.end(), binds));
}

}  // namespace
}  // namespace gs::serve
