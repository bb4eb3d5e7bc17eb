// kube-scheduler's pods that found no node are woken when a node that refused them may take them.
#include "extender/extender_hand_test.h"
#include "extender/grants/metrics.h"
#include "model/annotations.h"

namespace gs::extender {
namespace {

using namespace std::chrono_literals;

class WakesTest : public ExtenderTest {
 protected:
  /// A pod takes so much of that node, which has one GPU.
  void isTaken(const std::string& node, std::int64_t cores = 80) {
    const std::string name = on[node] = node + "-" + std::to_string(++taken);
    ASSERT_EQ(filter(create(name, {{cores, 1}}), {node}).kind, AnswerKind::Chosen);
    bindTo(name, node);
  }
  void isFreeAgain(const std::string& node) {
    const model::Pod pod = server.pods.extract(on.at(node)).mapped();
    watchRemoves(pod);
  }
  void isRefused(const std::string& name, const std::vector<std::string>& nodes, std::int64_t cores = 50) {
    const model::Pod pod = server.pods.contains(name) ? server.pods[name] : create(name, {{cores, 1}});
    ASSERT_EQ(filter(pod, nodes).kind, AnswerKind::Nowhere);
  }
  /// All calls are answered meanwhile.
  void passAndRun(Duration time) {
    for (Duration gone{}; gone < time; gone += 10ms) {
      pass(10ms);
      run();
    }
  }
  [[nodiscard]] int wakes() const {
    const auto it = counted.find(kWakes);
    return it == counted.end() ? 0 : static_cast<int>(it->second);
  }
  bool isWoken(const std::string& name) { return note(name, model::kWakeKey) != "-"; }
  void quotaIs(int gpus) {
    model::QuotaConfig quota;
    quota.map = {"kube-system", "gpuquota"};
    quota.labels = {"model", "pool"};
    engine.configureQuota(quota);
    const model::Quotas quotas{{"default", {{{"V100", gpus}}, {}}}};
    engine.apply({kapi::kQuotaMap,
                  quota.map,
                  {},
                  std::make_shared<const model::QuotaMap>(model::QuotaMap{quota.map, {}, 1, quotas, {}}),
                  ++server.revision},
                 now.mono);
  }

  std::map<std::string, std::string> on;  // who took a node
  int taken = 0;
};

/// One GPU, of which a pod has 80 cores.
class Refused : public WakesTest {
 protected:
  Refused() {
    addNode(gpuNode("a", 1));
    lead();
    isTaken("a");
  }
};

TEST_F(Refused, APodIsWokenWhenThereIsRoom) {
  isRefused("p", {"a"});
  passAndRun(10s);
  EXPECT_FALSE(isWoken("p"));
  isFreeAgain("a");
  run();
  EXPECT_TRUE(isWoken("p"));
  EXPECT_EQ(filter(server.pods["p"], {"a"}).kind, AnswerKind::Chosen);
  passAndRun(2min);
  EXPECT_EQ(wakes(), 1) << "it has its node";
}

/// kube-scheduler heard sooner than the extender that there is room. It is putting the pod aside still.
TEST_F(Refused, APodIsNotWokenInTheSecondInWhichItWasRefused) {
  isRefused("p", {"a"});
  isFreeAgain("a");
  passAndRun(990ms);
  EXPECT_FALSE(isWoken("p"));
  passAndRun(10ms);
  EXPECT_TRUE(isWoken("p"));
}

TEST_F(Refused, NobodyIsWokenForRoomThatDoesNotSuffice) {
  isRefused("p", {"a"});
  isFreeAgain("a");
  isTaken("a", 60);
  passAndRun(1min);
  EXPECT_EQ(wakes(), 0);
}

TEST_F(Refused, ANodeThatWasNoCandidateWakesNobody) {
  addNode(gpuNode("b", 1));
  isTaken("b");
  isRefused("p", {"a"});
  isFreeAgain("b");
  passAndRun(1min);
  EXPECT_EQ(wakes(), 0) << "its scheduler refuses that one";
  isFreeAgain("a");
  passAndRun(1s);
  EXPECT_EQ(wakes(), 1);
}

TEST_F(Refused, ANodeThatWasNotKnownYetIsAsGoodAsAnother) {
  isRefused("p", {"a", "new"});
  addNode(gpuNode("new", 1));
  passAndRun(2s);
  EXPECT_TRUE(isWoken("p"));
}

TEST_F(Refused, APodWhoseLimitIsNoneWaitsForNoNode) {
  const model::Pod pod = create("p", {{150, 0}});
  ASSERT_EQ(filter(pod, {"a"}).kind, AnswerKind::Nowhere);
  isFreeAgain("a");
  passAndRun(1min);
  EXPECT_EQ(wakes(), 0);
}

TEST_F(Refused, WhatVolcanoAskedIsAskedAgainByItself) {
  const model::Pod pod = create("p", {{50, 1}});
  for (const Verb verb : {Verb::Predicate, Verb::Look, Verb::Allocate}) {
    const RequestId request_id = ask(verb, pod, {"a"});
    run();
    ASSERT_EQ(answers[request_id].kind, AnswerKind::Nowhere);
  }
  isFreeAgain("a");
  passAndRun(1min);
  EXPECT_EQ(wakes(), 0);
}

TEST_F(Refused, WhoIsWokenAndNotAskedAboutIsWokenAgainEverMoreSeldom) {
  isRefused("p", {"a"});
  isFreeAgain("a");
  passAndRun(10min);
  EXPECT_GE(wakes(), 5);
  EXPECT_LE(wakes(), 15);
}

TEST_F(Refused, AChangeThatComesAgainAndAgainWakesAPodAtMostOnceInItsBackoff) {
  for (int i = 0; i < 20; ++i) {
    isRefused("p", {"a"});
    isFreeAgain("a");
    passAndRun(1s);
    isTaken("a");
  }
  EXPECT_EQ(wakes(), 3) << "after 1, 6 and 16 seconds";
}

TEST_F(Refused, OfOneNamespaceFewAreWokenAtATime) {
  for (int i = 0; i < 12; ++i) { isRefused("p" + std::to_string(i), {"a"}, 80); }
  isFreeAgain("a");
  passAndRun(3s);
  EXPECT_EQ(wakes(), 4);
  EXPECT_EQ(filter(server.pods["p0"], {"a"}).kind, AnswerKind::Chosen);
  passAndRun(1min);
  EXPECT_EQ(wakes(), 4) << "there is no room any more";
}

TEST_F(Refused, WhoIsGoneOrBoundIsForgotten) {
  for (const char* name : {"p", "q"}) { isRefused(name, {"a"}); }
  const model::Pod gone = server.pods.extract("p").mapped();
  watchRemoves(gone);
  bindTo("q", "elsewhere");
  isFreeAgain("a");
  passAndRun(1min);
  EXPECT_EQ(wakes(), 0);
}

TEST_F(Refused, AStandbyWakesNobody) {
  isRefused("p", {"a"});
  extender.standBy("another one leads");
  isFreeAgain("a");
  passAndRun(1min);
  EXPECT_EQ(wakes(), 0);
}

TEST_F(Refused, OneThatIsStoppingWakesNobodyAndWaitsForNone) {
  isRefused("p", {"a"});
  extender.stopTaking();
  isFreeAgain("a");
  passAndRun(1min);
  EXPECT_EQ(wakes(), 0);
  EXPECT_EQ(extender.nextDue(), std::nullopt);
}

/// Wakes of namespaces in which every write hangs are few, so others find room for theirs.
TEST_F(Refused, NamespacesThatHangLeaveRoomForOthers) {
  constexpr int kBad = 5;
  addNode(gpuNode("b", 1));
  isTaken("b");
  const auto comes = [this](const std::string& name, const std::string& ns, const char* node) {
    model::Pod pod = vcudaPod(name, {{50, 1}});
    pod.key.ns = ns;
    server.add(pod);
    watchBrings(name);
    isRefused(name, {node});
  };
  for (int i = 0; i < kBad * 60; ++i) {
    comes("bad-" + std::to_string(i), "bad-" + std::to_string(i % kBad), "a");
  }
  comes("good", "good", "b");
  isFreeAgain("a");
  struct Hanging {
    kapi::Call call;
    Mono until;
  };
  std::deque<Hanging> hanging;
  std::size_t most = 0;
  const auto passHanging = [&](Duration time) {
    for (Duration gone{}; gone < time; gone += 20ms) {
      pass(20ms);
      for (auto& call : std::exchange(calls, {})) { hanging.push_back({call, now.mono + call.timeout}); }
      most = std::max(most, hanging.size());
      while (!hanging.empty() && hanging.front().until <= now.mono) {
        kapi::Outcome outcome;
        outcome.token = hanging.front().call.token;
        outcome.result = kapi::CallResult::Unknown;
        hanging.pop_front();
        give(outcome);
      }
    }
  };
  passHanging(20s);
  EXPECT_GE(most, 6U) << "before it is known";
  most = 0;
  passHanging(10s);
  EXPECT_LE(most, std::size_t{kBad}) << "one of each";
  EXPECT_GE(most, 1U) << "to see whether one goes through";
  isFreeAgain("b");
  passHanging(200ms);
  EXPECT_TRUE(std::any_of(hanging.begin(), hanging.end(),
                          [](const Hanging& h) { return h.call.key.name == "good"; }));
}

TEST_F(Refused, OneThatCouldNotBeWrittenIsWokenLater) {
  isRefused("p", {"a"});
  passAndRun(1s);
  server.pods["p"].revision = ++server.revision;  // the watch has not brought it yet
  isFreeAgain("a");
  passAndRun(1s);
  EXPECT_FALSE(isWoken("p"));
  watchBrings("p");
  passAndRun(8s);
  EXPECT_FALSE(isWoken("p")) << "no write is tried again at once";
  passAndRun(3s);
  EXPECT_TRUE(isWoken("p"));
}

TEST_F(WakesTest, APodIsWokenWhenGpuManagerHasTakenThoseBeforeIt) {
  addNode(gpuNode("a", 2));
  lead();
  ASSERT_EQ(filter(create("first", {{50, 1}}), {"a"}).kind, AnswerKind::Chosen);
  bindTo("first", "a", false);
  const Answer answer = filter(create("p", {{60, 1}}), {"a"});
  ASSERT_EQ(answer.kind, AnswerKind::Nowhere);
  ASSERT_EQ(answer.of_objects.at(0).refused, sched::Reason::NotTakenYet);
  passAndRun(1min);
  EXPECT_EQ(wakes(), 0);
  bindTo("first", "a");
  passAndRun(1s);
  EXPECT_TRUE(isWoken("p"));
}

TEST_F(WakesTest, APodIsWokenWhenItsQuotaGrows) {
  model::Node node = gpuNode("a", 4);
  node.labels["model"] = "V100";
  addNode(node);
  quotaIs(1);
  lead();
  isTaken("a");
  isRefused("p", {"a"});
  passAndRun(10s);
  EXPECT_EQ(wakes(), 0);
  quotaIs(2);
  passAndRun(1s);
  EXPECT_TRUE(isWoken("p"));
}

TEST_F(WakesTest, APodIsWokenWhenItsNamespaceUsesLess) {
  for (const char* name : {"a", "b"}) {
    model::Node node = gpuNode(name, 1);
    node.labels["model"] = "V100";
    addNode(node);
  }
  quotaIs(1);
  lead();
  isTaken("a");
  isRefused("p", {"b"});
  isFreeAgain("a");
  passAndRun(1s);
  EXPECT_TRUE(isWoken("p")) << "node b is as it was";
}

}  // namespace
}  // namespace gs::extender
