// What a wake is by itself. Whom to wake, and when, is Refusals'; with all the rest it is in
// extender_wakes_test.cc.
#include "extender/wakes.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "extender/grants/metrics.h"
#include "extender/protocol/pod_server_test.h"
#include "extender/share_chooser.h"
#include "kapi/kinds.h"
#include "model/annotations.h"

namespace gs::extender {
namespace {

using namespace std::chrono_literals;
using kapi::CallResult;

/// A node with one GPU, which refuses pods that ask for two until it has two.
class WakeWrites : public ::testing::Test {
 protected:
  WakeWrites() {
    c.now = Now{Mono{1h}, Wall{1000h}};
    hasGpus(1);
  }
  void hasGpus(int gpus) {
    model::Node node = gpuNode("a", gpus);
    node.revision = ++server.revision;
    engine.apply({kapi::kNode, {"", "a"}, {}, std::make_shared<const model::Node>(node), node.revision},
                 c.now.mono);
  }
  void watchBrings(const std::string& name) {
    const model::Pod& pod = server.pods.at(name);
    engine.apply({kapi::kPod, pod.key, {}, std::make_shared<const model::Pod>(pod), pod.revision},
                 c.now.mono);
  }
  /// It asks, and finds no node.
  void isRefused(const model::Pod& pod) {
    Candidates candidates;
    candidates.table = chooser.table();
    candidates.nodes = {candidates.table->find("a")};
    const auto choice = chooser.choose(candidates, pod, c.now.mono);
    EXPECT_FALSE(choice.best);
    wakes.refusals().refused(pod, choice.request.value(), candidates, choice.answer, c.now.mono);
  }
  /// A pod that comes.
  model::Uid isRefused(const std::string& name, const std::string& ns = "default") {
    model::Pod pod = vcudaPod(name, {{200, 0}});
    pod.key.ns = ns;
    server.add(pod);
    watchBrings(name);
    isRefused(pod);
    return pod.uid;
  }
  /// One turn: the calls that it sent.
  std::vector<kapi::Call> turn() {
    wakes.wakeSomebody();
    std::vector<kapi::Call> sent;
    for (auto& effect : std::exchange(c.out, {})) {
      if (auto* call = std::get_if<kapi::Call>(&effect)) { sent.push_back(std::move(*call)); }
      if (const auto* metric = std::get_if<kapi::Metric>(&effect)) {
        EXPECT_STREQ(metric->name, kWakes);
        counted += metric->value;
      }
    }
    EXPECT_LE(sent.size(), 1U) << "one at most";
    return sent;
  }
  /// A turn every 100 ms, until so long after now. All that was sent.
  std::vector<kapi::Call> turnsFor(Duration time) {
    std::vector<kapi::Call> sent;
    for (Duration gone{}; gone < time; gone += 100ms) {
      c.now.mono += 100ms;
      for (auto& call : turn()) { sent.push_back(std::move(call)); }
    }
    return sent;
  }
  void isAnswered(const kapi::Call& call, const kapi::Outcome& outcome) {
    const auto answered = calls.answered(call.token);
    ASSERT_TRUE(answered);
    EXPECT_EQ(answered->purpose, PodCalls::Purpose::Wake);
    wakes.answered(answered->uid, outcome);
  }
  static kapi::Outcome refusal(int http) {
    kapi::Outcome outcome;
    outcome.result = http >= 500 ? CallResult::Unknown : CallResult::Refused;
    outcome.http = http;
    outcome.message = "no";
    return outcome;
  }
  void isStuck(const std::string& ns) {
    for (int i = 0; i < WriteTroubles::kManyFailures; ++i) { troubles.failedIn(ns, refusal(500)); }
    ASSERT_NE(troubles.stuckIn(ns), nullptr);
  }

  engine::Engine engine;
  PodServer server;
  Context c{engine, {}, Rng{1}};
  Grants grants{engine, false};
  PodCalls calls{7};
  WriteTroubles troubles;
  ShareChooser chooser{engine, false};
  Wakes wakes{c, grants, calls, troubles};
  double counted = 0;
};

TEST_F(WakeWrites, WhoMayFitNowIsChangedOnceSoThatItsSchedulerLooksAgain) {
  isRefused("p");
  EXPECT_TRUE(turnsFor(3s).empty()) << "there is no room";
  EXPECT_EQ(wakes.nextDue(), std::nullopt) << "and nothing to wait for";
  hasGpus(2);
  const auto sent = turnsFor(3s);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].key.text(), "default/p");
  EXPECT_EQ(sent[0].ordering_key, "wake/uid-p");
  EXPECT_EQ(counted, 1);
  EXPECT_TRUE(calls.underWay());
  isAnswered(sent[0], server.carryOut(sent[0]));
  EXPECT_EQ(server.writes, 1);
  EXPECT_TRUE(server.pods["p"].annotations.contains(model::kWakeKey));
  const model::Pod* known = engine.cache().pod(server.pods["p"].uid);
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(known->revision, server.pods["p"].revision) << "the next write of it is of this version";
}

/// It changes with every wake: a PATCH that changes nothing wakes nobody.
TEST_F(WakeWrites, EachTimeWithAnotherValue) {
  isRefused("p");
  hasGpus(2);
  std::set<std::string> values;
  for (int i = 0; i < 3; ++i) {
    const auto sent = turnsFor(i == 0 ? 3s : 30s);
    ASSERT_GE(sent.size(), 1U) << i;
    isAnswered(sent[0], server.carryOut(sent[0]));
    EXPECT_TRUE(values.insert(server.pods["p"].annotations[model::kWakeKey]).second);
    hasGpus(1);
    isRefused(server.pods["p"]);
    hasGpus(2);
  }
}

/// Its scheduler has its answer, and a write of it may be under way, which this one would make fail.
TEST_F(WakeWrites, NotAPodWithAGrantBeforeThatEnds) {
  const model::Uid uid = isRefused("p");
  hasGpus(2);
  grants.of(uid, server.pods["p"].key);
  EXPECT_TRUE(turnsFor(5s).empty());
  grants.end(uid);
  EXPECT_EQ(turnsFor(1200ms).size(), 1U);
}

/// No write of a pod is tried again at once, whatever it is for.
TEST_F(WakeWrites, NotAPodOfWhichAWriteFailedAMomentAgo) {
  const model::Uid uid = isRefused("p");
  hasGpus(2);
  troubles.failed(uid, c.now.mono);
  EXPECT_TRUE(turnsFor(9900ms).empty());
  EXPECT_EQ(turnsFor(1500ms).size(), 1U);
}

TEST_F(WakeWrites, WhereNoWriteGoesThroughOneAtATimeShowsWhetherOneDoes) {
  for (const char* name : {"p", "q", "r"}) { isRefused(name); }
  for (const char* name : {"s", "t"}) { isRefused(name, "fine"); }
  isStuck("default");
  hasGpus(2);
  std::map<std::string, int> of;
  std::vector<kapi::Call> stuck;
  for (auto& call : turnsFor(4s)) {
    ++of[call.key.ns];
    if (call.key.ns == "default") { stuck.push_back(call); }
  }
  EXPECT_EQ(of["default"], 1);
  EXPECT_EQ(of["fine"], 2);
  isAnswered(stuck.at(0), server.carryOut(stuck.at(0)));
  EXPECT_EQ(troubles.stuckIn("default"), nullptr);
  wakes.refusals().asked(server.pods[stuck[0].key.name].uid);
  std::size_t others = 0;
  for (const auto& call : turnsFor(2s)) { others += call.key.ns == "default" ? 1 : 0; }
  EXPECT_EQ(others, 2U) << "one went through";
}

TEST_F(WakeWrites, OneThatWentThroughEndsWhatWasKnownAgainstThePodAndItsNamespace) {
  const model::Uid uid = isRefused("p");
  hasGpus(2);
  const auto sent = turnsFor(2s);
  ASSERT_EQ(sent.size(), 1U);
  (void)troubles.refused(uid, "said by a policy", c.now.mono);
  isStuck("default");
  isAnswered(sent[0], server.carryOut(sent[0]));
  EXPECT_EQ(troubles.rejectionsOf(uid), 0);
  EXPECT_EQ(troubles.stuckIn("default"), nullptr);
}

/// Who asks about it meanwhile is told why, and it is woken later; a conflict says nothing of others' writes.
TEST_F(WakeWrites, OneThatWasNotWrittenIsToldAndTriedLater) {
  struct Row {
    int http;
    bool says_of_others;
  };
  for (const Row& row : {Row{409, false}, {403, true}, {429, true}, {500, true}}) {
    const std::string name = "p-" + std::to_string(row.http);
    const std::string ns = "ns-" + std::to_string(row.http);
    hasGpus(1);
    const model::Uid uid = isRefused(name, ns);
    hasGpus(2);
    const auto sent = turnsFor(2s);
    ASSERT_EQ(sent.size(), 1U) << row.http;
    isAnswered(sent[0], refusal(row.http));
    const std::string* why = troubles.rejectionOf(uid, c.now.mono);
    ASSERT_NE(why, nullptr) << row.http;
    EXPECT_EQ(*why,
              "cannot annotate pod " + ns + "/" + name + ": " + std::to_string(row.http) + " no; ask again");
    for (int i = 1; i < WriteTroubles::kManyFailures; ++i) { wakes.answered(uid, refusal(row.http)); }
    EXPECT_EQ(troubles.stuckIn(ns) != nullptr, row.says_of_others) << row.http;
    EXPECT_TRUE(turnsFor(9900ms).empty()) << row.http;
    EXPECT_EQ(turnsFor(3s).size(), 1U) << row.http;
    wakes.refusals().forget(uid);
  }
}

/// Another pod has its name by now, or something answered that is no API server of pods.
TEST_F(WakeWrites, AnAnswerThatShowsNotThisPodIsNone) {
  const model::Uid uid = isRefused("p");
  hasGpus(2);
  const auto sent = turnsFor(2s);
  ASSERT_EQ(sent.size(), 1U);
  kapi::Outcome of_another = server.carryOut(sent[0]);
  model::Pod other = server.pods["p"];
  other.uid = model::Uid{"another"};
  of_another.object = std::make_shared<const model::Pod>(other);
  isAnswered(sent[0], of_another);
  EXPECT_NE(troubles.rejectionOf(uid, c.now.mono), nullptr);
  EXPECT_EQ(engine.cache().pod(other.uid), nullptr);
  kapi::Outcome empty = of_another;
  empty.object = {};
  wakes.answered(uid, empty);
  EXPECT_EQ(troubles.rejectionsOf(uid), 2);
}

/// Nobody would have it forgotten any more.
TEST_F(WakeWrites, OfAPodThatIsGoneNothingIsKept) {
  const model::Uid uid = isRefused("p");
  hasGpus(2);
  const auto sent = turnsFor(2s);
  ASSERT_EQ(sent.size(), 1U);
  engine.podGone(uid, c.now.mono);
  wakes.refusals().forget(uid);
  isAnswered(sent[0], refusal(500));
  EXPECT_EQ(troubles.rejectionsOf(uid), 0);
  EXPECT_EQ(wakes.refusals().size(), 0U);
  EXPECT_TRUE(turnsFor(1min).empty());
}

}  // namespace
}  // namespace gs::extender
