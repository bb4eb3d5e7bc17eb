#include "extender/protocol/reasons.h"

#include <gtest/gtest.h>

#include "extender/extender_hand_test.h"

namespace gs::extender {
namespace {

using sched::ContainerShare;
using sched::NodeStanding;

TEST(LackText, SaysWhatIsNeededAndWhatIsFree) {
  NodeStanding node;
  node.devices = 4;
  node.whole = 2;
  node.most_milli = 400;
  node.most_mib = 3072;
  struct Row {
    std::vector<ContainerShare> asked;
    const char* says;
  };
  for (const Row& row : std::vector<Row>{
           {{{5, 0, 0}}, "needs 5 whole GPUs; free: 2 of 4 whole"},
           {{{2, 0, 0}, {}, {1, 0, 0}}, "needs 3 whole GPUs; free: 2 of 4 whole"},
           {{{0, 600, 5120}},
            "needs 60 cores with 5120 MiB on one GPU; free: 40 cores with 3072 MiB on the freest"},
           {{{0, 600, 512}, {0, 100, 1024}},
            "needs 2 shares of 70 cores with 1536 MiB (the largest 60 cores with 512 MiB); free: 40 cores "
            "with "
            "3072 MiB on the freest"},
           {{{1, 0, 0}, {0, 800, 768}},
            "needs 1 whole GPU and 80 cores with 768 MiB on one GPU; free: 2 of 4 whole and 40 cores with "
            "3072 "
            "MiB on the freest"},
       }) {
    EXPECT_EQ(lackText(row.asked, node), row.says);
  }
}

class ReasonsTest : public ExtenderTest {
 protected:
  std::string why(const Answer& answer, const std::vector<std::string>& nodes, std::size_t i = 0) {
    return misfitAt(answer, request(Verb::Filter, vcudaPod("p", {}), nodes).candidates, i, "u").text;
  }
  void addLabelled(const std::string& name, std::map<std::string, std::string> labels) {
    model::Node node = gpuNode(name, 8);
    node.labels = std::move(labels);
    addNode(node);
  }
  void setQuota(model::Quotas quotas) {
    model::QuotaConfig quota;
    quota.map = {"kube-system", "gpuquota"};
    quota.labels = {"model", "pool"};
    engine.configureQuota(quota);
    engine.apply({kapi::kQuotaMap,
                  quota.map,
                  {},
                  std::make_shared<const model::QuotaMap>(
                      model::QuotaMap{quota.map, {}, ++server.revision, std::move(quotas), {}}),
                  server.revision},
                 now.mono);
  }
};

/// The freest device is the one with the most cores; of equal ones that with the most memory.
TEST_F(ReasonsTest, WhatIsFreeIsThatOfTheFreestDevice) {
  addNode(gpuNode("a", 2));
  lead();
  ASSERT_EQ(filter(create("p", {{30, 1}}), {"a"}).kind, AnswerKind::Chosen);
  bindTo("p", "a");
  const Answer a = filter(create("q", {{100, 0}, {80, 1}}), {"a"});
  EXPECT_EQ(why(a, {"a"}),
            "pod u does not match with this node: needs 1 whole GPU and 80 cores with 256 MiB on one GPU; "
            "free: 1 of "
            "2 whole and 100 cores with 1024 MiB on the freest");
  EXPECT_EQ(why(filter(create("r", {{500, 0}}), {"a"}), {"a"}),
            "pod u does not match with this node: needs 5 whole GPUs; free: 1 of 2 whole");
}

TEST_F(ReasonsTest, AQuotaSaysWhatIsUsedOfWhichModelAndWhatIsAsked) {
  addLabelled("v", {{"model", "V100"}, {"pool", "public"}});
  addLabelled("p", {{"model", "P4"}});
  addLabelled("none", {});
  addLabelled("other-pool", {{"model", "M40"}});
  setQuota({{"default", {{{"V100", 2}, {"M40", 9}}, {"public", "shared"}}}});
  lead();
  const std::vector<std::string> nodes{"v", "p", "none", "other-pool"};
  ASSERT_EQ(filter(create("a", {{60, 1}}), nodes).kind, AnswerKind::Chosen);
  const Answer refused = filter(create("b", {{200, 0}}), nodes);
  ASSERT_EQ(refused.kind, AnswerKind::Nowhere);
  EXPECT_EQ(why(refused, nodes, 0), "ExceedsGPUQuota: V100 used 0.6, limit 2, asks 2");
  EXPECT_EQ(why(refused, nodes, 1), "ExceedsGPUQuota: P4 is not in the quota of default");
  EXPECT_EQ(why(refused, nodes, 2), "ExceedsGPUQuota: the node has no label model");
  EXPECT_EQ(why(refused, nodes, 3), "ExceedsGPUQuota: the quota of default is for pool=public, shared");
  EXPECT_EQ(refused.quota.texts.size(), 4U);
}

/// What the pod itself was given is not in its own way, so it is not told as used.
TEST_F(ReasonsTest, WhatThePodHoldsItselfIsNotUsedByOthers) {
  addLabelled("v", {{"model", "V100"}});
  addLabelled("w", {{"model", "P4"}});
  setQuota({{"default", {{{"V100", 2}}, {}}}});
  lead();
  const model::Pod pod = create("a", {{100, 1}});
  ASSERT_EQ(filter(pod, {"v"}).kind, AnswerKind::Chosen);
  setQuota({{"default", {{{"V100", 0}}, {}}}});
  EXPECT_EQ(why(answers[ask(Verb::Look, pod, {"v"})], {"v"}),
            "ExceedsGPUQuota: V100 used 0, limit 0, asks 1");
}

TEST_F(ReasonsTest, ASummaryCountsReasons) {
  addNode(gpuNode("a", 1));
  addNode(gpuNode("b", 1));
  addNode(gpuNode("cpu", 0));
  lead();
  const std::vector<std::string> nodes{"a", "b", "cpu", "nobody"};
  const Answer refused = filter(create("p", {{200, 0}}), nodes);
  EXPECT_EQ(summaryOf(refused, request(Verb::Filter, vcudaPod("p", {}), nodes).candidates, "u"),
            "0/4 nodes fit: 2 pod u does not match with this node: needs 2 whole GPUs; free: 1 of 1 whole; 1 "
            "node is "
            "not known to this extender yet; 1 no GPU device");
}

/// One kind of reason has several texts.
TEST_F(ReasonsTest, ASummaryCountsWhatIsSaidOfEach) {
  for (const char* name : {"p1", "p2"}) { addLabelled(name, {{"model", "P4"}}); }
  addLabelled("v", {{"model", "V100"}});
  addNode(gpuNode("small", 1));
  setQuota({{"default", {{{"V100", 1}}, {}}}});
  lead();
  const std::vector<std::string> nodes{"p1", "p2", "v", "small"};
  const Answer refused = filter(create("p", {{500, 0}}), nodes);
  EXPECT_EQ(
      summaryOf(refused, request(Verb::Filter, vcudaPod("p", {}), nodes).candidates, "u"),
      "0/4 nodes fit: 2 ExceedsGPUQuota: P4 is not in the quota of default; 1 ExceedsGPUQuota: the node "
      "has no label model; 1 ExceedsGPUQuota: V100 used 0, limit 1, asks 5");
}

TEST_F(ReasonsTest, ASummaryShowsTheFiveTextsThatAreSaidOfMostAndCountsTheOthers) {
  std::vector<std::string> nodes;
  for (int gpus = 1; gpus <= 7; ++gpus) {
    nodes.push_back("with-" + std::to_string(gpus));
    addNode(gpuNode(nodes.back(), gpus));
  }
  lead();
  const Answer refused = filter(create("p", {{800, 0}}), nodes);
  const std::string said =
      summaryOf(refused, request(Verb::Filter, vcudaPod("p", {}), nodes).candidates, "u");
  EXPECT_TRUE(
      said.ends_with("; 1 pod u does not match with this node: needs 8 whole GPUs; free: 3 of 3 whole; "
                     "2 others"))
      << said;
}

}  // namespace
}  // namespace gs::extender
