#include "extender/grants/node_set.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"

namespace gs::extender {
namespace {

TEST(NodeSet, WithOthersHasAllThatComeAfterIt) {
  for (const std::size_t nodes : {0U, 1U, 63U, 64U, 65U, 130U}) {
    const NodeSet set{nodes, true};
    EXPECT_FALSE(set.empty());
    for (NodeSet::NodeIndex i = 0; i < 300; ++i) {
      EXPECT_EQ(set.contains(i), i >= nodes) << nodes << " " << i;
    }
    NodeSet found;
    found.insert(200);
    EXPECT_EQ(found.firstCommon(set), 200U);
    found.insertAll(set);
    EXPECT_TRUE(found.contains(1'000));
    EXPECT_EQ(found.contains(0), nodes == 0);
  }
}

TEST(NodeSet, IsASet) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng{seed};
    NodeSet a;
    NodeSet b{rng.below(200)};
    std::set<NodeSet::NodeIndex> in_a;
    std::set<NodeSet::NodeIndex> in_b;
    for (int i = 0; i < 60; ++i) {
      const auto node = static_cast<NodeSet::NodeIndex>(rng.below(300));
      const bool first = rng.chance(50);
      (first ? a : b).insert(node);
      (first ? in_a : in_b).insert(node);
      if (rng.chance(40)) {
        a.erase(node);
        in_a.erase(node);
      }
    }
    NodeSet both = a;
    both.insertAll(b);
    std::optional<NodeSet::NodeIndex> common;
    for (const auto node : in_a) {
      if (!common && in_b.contains(node)) { common = node; }
    }
    EXPECT_EQ(a.firstCommon(b), common) << seed;
    EXPECT_EQ(a.empty(), in_a.empty());
    for (NodeSet::NodeIndex i = 0; i < 400; ++i) {
      EXPECT_EQ(a.contains(i), in_a.contains(i));
      EXPECT_EQ(b.contains(i), in_b.contains(i));
      EXPECT_EQ(both.contains(i), in_a.contains(i) || in_b.contains(i));
    }
  }
  EXPECT_TRUE(NodeSet{100}.empty());
  EXPECT_EQ(NodeSet{100}.firstCommon(NodeSet(0, true)), std::nullopt);
}

}  // namespace
}  // namespace gs::extender
