// Preemption of pods of shares (engine/preemption.h): which nodes a kube-scheduler is told, and whom it is to
// evict there.
#include <fmt/format.h>

#include "extender/extender_hand_test.h"

namespace gs::extender {
namespace {

class PreemptTest : public ExtenderTest {
 protected:
  /// Bound to that node, and taken by gpu-manager.
  void runs(const std::string& name, const model::VcudaLimits& limits, const std::string& node,
            std::int32_t priority = 0) {
    create(name, {limits});
    ASSERT_EQ(filter(server.pods.at(name), {node}).kind, AnswerKind::Chosen);
    server.pods.at(name).priority = priority;
    server.pods.at(name).taken_by_kubelet = true;
    bindTo(name, node);
  }
  model::Pod high(const std::vector<model::VcudaLimits>& limits) {
    model::Pod pod = vcudaPod("high", limits);
    pod.priority = 100;
    server.add(pod);
    watchBrings("high");
    return server.pods["high"];
  }
  /// What a node's victims are; "given": those that were.
  using Named = std::map<std::string, std::vector<std::string>>;
  Named preempt(const model::Pod& pod, const std::vector<std::string>& nodes,
                const std::vector<std::vector<std::string>>& given = {}) {
    Request q = request(Verb::Preempt, pod, nodes);
    std::vector<Victims> victims(nodes.size());
    for (std::size_t i = 0; i < given.size(); ++i) {
      for (const auto& name : given[i]) { victims[i].emplace_back("uid-" + name); }
    }
    q.victims = std::make_shared<const std::vector<Victims>>(std::move(victims));
    desk.ask(extender, ++last, std::move(q), now);
    settle();
    EXPECT_EQ(answers[last].kind, AnswerKind::Kept) << answers[last].text;
    Named out;
    for (std::size_t k = 0; k < answers[last].kept.size(); ++k) {
      auto& names = out[nodes.at(answers[last].kept[k])];
      const Victims none;
      const auto& all = answers[last].victims;
      for (const auto& uid : k < all.size() ? all[k] : none) { names.push_back(uid.text.substr(4)); }
      const auto given_there = answers[last].kept[k] < given.size() ? given[answers[last].kept[k]].size() : 0;
      if (names.empty() && given_there > 0) { names = {"given"}; }
    }
    return out;
  }
};

TEST_F(PreemptTest, KeepsNodesWhereTheVictimsMakeRoom) {
  addNode(gpuNode("a", 1));
  addNode(gpuNode("b", 1));
  lead();
  runs("on-a", {80, 1}, "a", 100);
  runs("on-b", {80, 1}, "b", 100);
  EXPECT_EQ(preempt(high({{100, 0}}), {"a", "b"}, {{"on-a"}, {"x"}}), (Named{{"a", {"given"}}}));
}

/// Two nodes with two GPUs each, 40 cores left on every one; kube-scheduler counts 80 on a node.
TEST_F(PreemptTest, NamesAVictimWhereKubeSchedulerCountsRoom) {
  addNode(gpuNode("n1", 2, 40));
  addNode(gpuNode("n2", 2, 40));
  lead();
  for (const char* node : {"n1", "n2"}) {
    for (const char* which : {"-x", "-y"}) { runs(std::string{node} + which, {60, 20}, node); }
  }
  const model::Pod pod = high({{50, 10}});
  ASSERT_EQ(filter(pod, {"n1", "n2"}).kind, AnswerKind::Nowhere);
  const Named named = preempt(pod, {"n1", "n2"});
  ASSERT_EQ(named.size(), 2U);
  for (const auto& [node, victims] : named) {
    EXPECT_EQ(victims, (std::vector<std::string>{node + "-y"})) << "one is enough";
  }
  server.pods.at("n1-y").deleting = true;
  server.pods.at("n1-y").revision = ++server.revision;
  watchBrings("n1-y");
  EXPECT_EQ(preempt(pod, {"n1", "n2"}), (Named{{"n1", {}}})) << "it leaves: nobody else has to";
  watchRemoves(server.pods.at("n1-y"));
  EXPECT_EQ(filter(pod, {"n1", "n2"}).kind, AnswerKind::Chosen);
}

TEST_F(PreemptTest, WhoIsAsImportantStays) {
  addNode(gpuNode("a", 1, 40));
  lead();
  runs("equal", {60, 20}, "a", 100);
  EXPECT_EQ(preempt(high({{50, 10}}), {"a"}), Named{});
}

TEST_F(PreemptTest, NamesMoreThanThoseThatWereGiven) {
  addNode(gpuNode("a", 1, 40));
  lead();
  runs("one", {30, 10}, "a", 3);
  runs("two", {30, 10}, "a", 7);
  runs("three", {30, 10}, "a", 5);
  EXPECT_EQ(preempt(high({{70, 10}}), {"a"}, {{"two"}}), (Named{{"a", {"two", "one"}}}))
      << "the lowest of the others, and the most important first";
}

TEST_F(PreemptTest, WhoAsksForNoGpuMayHaveEveryNode) {
  addNode(gpuNode("a", 1));
  lead();
  model::Pod pod = vcudaPod("plain", {});
  server.add(pod);
  watchBrings("plain");
  EXPECT_EQ(preempt(pod, {"a", "unknown"}, {{"x"}, {"y"}}).size(), 2U);
}

TEST_F(PreemptTest, AThousandNodesAndANameThatComesAgainAreAnsweredOverSeveralTurns) {
  std::vector<std::string> names;
  for (int i = 0; i < 1'000; ++i) {
    names.push_back(fmt::format("n{:04}", i));
    addNode(gpuNode(names.back(), 8, 40));
  }
  lead();
  runs("low", {100, 0}, "n0000");
  Request q = request(Verb::Preempt, high({{900, 0}}), names);
  desk.ask(extender, ++last, q, now);
  EXPECT_TRUE(extender.takeAnswers().empty());
  EXPECT_EQ(extender.nextDue(), now.mono);
  for (int i = 0; i < 100 && !answers.contains(last); ++i) { settle(); }
  EXPECT_EQ(answers[last].kind, AnswerKind::Kept);
  EXPECT_TRUE(answers[last].kept.empty());
}

TEST_F(PreemptTest, WhoLosesItsLeadRefusesThoseThatWait) {
  std::vector<std::string> names;
  for (int i = 0; i < 1'000; ++i) {
    names.push_back(fmt::format("n{:04}", i));
    addNode(gpuNode(names.back(), 8, 40));
  }
  lead();
  desk.ask(extender, ++last, request(Verb::Preempt, high({{900, 0}}), names), now);
  extender.standBy("this replica does not lead");
  settle();
  EXPECT_EQ(answers[last].kind, AnswerKind::Unavailable);
}

TEST_F(PreemptTest, VictimsOfItsNamespaceGiveBackQuota) {
  model::QuotaConfig quota;
  quota.map = {"kube-system", "gpuquota"};
  quota.labels = {"model", "pool"};
  engine.configureQuota(quota);
  const auto limits = [&](const std::string& ns) {
    const model::Quotas quotas{{ns, {{{"V100", 1}}, {}}}};
    engine.apply({kapi::kQuotaMap,
                  quota.map,
                  {},
                  std::make_shared<const model::QuotaMap>(model::QuotaMap{quota.map, {}, 1, quotas, {}}),
                  ++server.revision},
                 now.mono);
  };
  model::Node node = gpuNode("a", 2);
  node.labels["model"] = "V100";
  addNode(node);
  lead();
  limits("elsewhere");
  ASSERT_EQ(filter(create("low", {{80, 1}}), {"a"}).kind, AnswerKind::Chosen);
  bindTo("low", "a");
  const model::Pod high = create("high", {{100, 0}});
  limits(high.key.ns);
  ASSERT_EQ(filter(high, {"a"}).kind, AnswerKind::Nowhere) << "20 of 100 are left of the quota";
  EXPECT_EQ(preempt(high, {"a"}, {{"low"}}), (Named{{"a", {"given"}}}));
  EXPECT_EQ(preempt(high, {"a"}, {{"of-another"}}), Named{}) << "nobody who goes had any of it";
  model::Pod& low = server.pods.at("low");
  low.priority = -1;
  low.revision = ++server.revision;
  watchBrings("low");
  EXPECT_EQ(preempt(high, {"a"}), (Named{{"a", {"low"}}})) << "its quota is what is lacking";
}

}  // namespace
}  // namespace gs::extender
