// What a pod would like, beside GPUs and fullness. Other pods' part of it: engine/wishes_test.cc.
#include <gtest/gtest.h>

#include "sched/ledger/test_nodes.h"
#include "sched/placement/decider.h"
#include "sched/placement/test_looks.h"

namespace gs::sched {
namespace {

using NodeOp = model::NodeRequirement::Op;

PodRequest likesZone(PodRequest request, std::int32_t weight, const std::string& zone) {
  request.node_affinity.preferred.push_back({weight, {{{"zone", NodeOp::In, {zone}}}, {}}});
  return request;
}

std::string wishedNode(Ledger& l, const PodRequest& request) {
  Decider d{l};
  const auto placed = d.decide(d.classOf(request));
  return placed ? placed->node.text : "none";
}

TEST(DeciderWishes, ComeAfterTheDevicesAndBeforeTheFullerNode) {
  Ledger l;
  testNode("fast").gpus(8, "x", 900).label("zone", "west").addTo(l);
  testNode("full").gpus(2, "x", 600).label("zone", "west").addTo(l);
  testNode("liked").gpus(8, "x", 600).label("zone", "east").addTo(l);
  EXPECT_EQ(wishedNode(l, testClaim(1)), "full");
  EXPECT_EQ(wishedNode(l, likesZone(testClaim(1), 1, "east")), "liked");
  EXPECT_EQ(wishedNode(l, likesZone(testClaim(2), 100, "east")), "fast") << "its GPUs are better connected";
  EXPECT_EQ(wishedNode(l, likesZone(testClaim(1), 1, "north")), "full") << "nobody is there";
}

TEST(DeciderWishes, TheTaintWeighsMoreThanTheTerm) {
  Ledger l;
  testNode("a").gpus(1).label("zone", "east").taint("spot", "", "PreferNoSchedule").addTo(l);
  testNode("b").gpus(1).addTo(l);
  EXPECT_EQ(wishedNode(l, testClaim(1)), "b");
  EXPECT_EQ(wishedNode(l, likesZone(testClaim(1), 100, "east")), "b") << "300 against 200";
  PodRequest tolerates = likesZone(testClaim(1), 100, "east");
  tolerates.tolerations = {{"spot", "", "PreferNoSchedule", false}};
  EXPECT_EQ(wishedNode(l, tolerates), "a");
}

TEST(DeciderWishes, AreLookedAtAnewWhenTheNodesLabelsChange) {
  Ledger l;
  testNode("a").gpus(2).addTo(l);
  testNode("b").gpus(2).addTo(l);
  Decider d{l};
  const EquivalenceClass c = d.classOf(likesZone(testClaim(1), 1, "east"));
  EXPECT_EQ(d.decide(c)->node.text, "a");
  TestNode b = testNode("b").gpus(2).label("zone", "east");
  b.node.revision = 2;
  l.upsertNode(b.node);
  EXPECT_EQ(d.decide(c)->node.text, "b");
  Reservation held = l.reserve(model::NodeName{"b"}, model::Uid{"p"}, d.request(c), {0});
  EXPECT_EQ(d.decide(c)->node.text, "b") << "it has room yet";
  Reservation all = l.reserve(model::NodeName{"b"}, model::Uid{"q"}, d.request(c), {1});
  EXPECT_EQ(d.decide(c)->node.text, "a");
  held.release();
  EXPECT_EQ(d.decide(c)->node.text, "b");
}

TEST(DeciderWishes, AreComparedOnceUntilSomethingChanges) {
  Ledger l;
  for (int i = 0; i < 640; ++i) { testNode("n" + std::to_string(i)).gpus(1).addTo(l); }
  Decider d{l};
  const EquivalenceClass c = d.classOf(likesZone(testClaim(1), 1, "east"));
  (void)d.decide(c);
  EXPECT_LE(looksOf(d, [&] { (void)d.decide(c); }), 2U);
  EXPECT_LE(looksOf(d, [&] { EXPECT_TRUE(d.prepare(c, 1)); }), 2U);
}

}  // namespace
}  // namespace gs::sched
