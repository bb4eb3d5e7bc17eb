#include "controller/nodes_in_vain.h"

#include <gtest/gtest.h>

namespace gs::controller {
namespace {

using namespace std::chrono_literals;

const model::Uid kPod{"p"};
constexpr Mono kStart{1h};

std::vector<std::string> leftOut(const NodesInVain& nodes, Mono now, bool all = false) {
  std::vector<std::string> out;
  for (const auto& node : nodes.leftOut(kPod, all, now)) { out.push_back(node.text); }
  return out;
}

TEST(NodesInVain, ANodeIsLeftOutWhileOthersMayDoAndLongerEachTime) {
  NodesInVain nodes;
  EXPECT_EQ(nodes.tried(kPod, model::NodeName{"a"}, false, kStart), kStart + 2s);
  EXPECT_EQ(leftOut(nodes, kStart + 1h), std::vector<std::string>{"a"}) << "others may do";
  EXPECT_EQ(nodes.tried(kPod, model::NodeName{"a"}, false, kStart), kStart + 4s);
  EXPECT_TRUE(nodes.nowhereElse(kPod));
  EXPECT_EQ(leftOut(nodes, kStart + 3s), std::vector<std::string>{"a"});
  EXPECT_TRUE(leftOut(nodes, kStart + 4s).empty());
  EXPECT_EQ(leftOut(nodes, kStart + 4s, true), std::vector<std::string>{"a"});
}

TEST(NodesInVain, ThatNothingElseFitsIsNewsOnce) {
  NodesInVain nodes;
  EXPECT_FALSE(nodes.nowhereElse(kPod)) << "it was not tried anywhere";
  (void)nodes.tried(kPod, model::NodeName{"a"}, true, kStart);
  EXPECT_TRUE(nodes.nowhereElse(kPod));
  EXPECT_FALSE(nodes.nowhereElse(kPod));
  EXPECT_TRUE(nodes.refused(kPod));
  nodes.forget(kPod);
  EXPECT_FALSE(nodes.contains(kPod));
}

TEST(NodesInVain, TheMoreNodesTheLongerEachAndNeverMoreThanSixtyFour) {
  NodesInVain nodes;
  for (int i = 0; i < 64; ++i) {
    const auto until = nodes.tried(kPod, model::NodeName{"n" + std::to_string(i)}, false, kStart);
    ASSERT_TRUE(until);
    EXPECT_EQ(*until, kStart + 1s * std::max(2, i + 1)) << i;
  }
  EXPECT_EQ(nodes.tried(kPod, model::NodeName{"one-more"}, false, kStart), std::nullopt);
  for (int i = 0; i < 9; ++i) { (void)nodes.tried(kPod, model::NodeName{"n0"}, false, kStart); }
  EXPECT_EQ(nodes.tried(kPod, model::NodeName{"n0"}, false, kStart), kStart + 3min) << "at most";
}

}  // namespace
}  // namespace gs::controller
