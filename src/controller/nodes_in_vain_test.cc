#include "controller/nodes_in_vain.h"

#include <gtest/gtest.h>

namespace gs::controller {
namespace {

using namespace std::chrono_literals;

const model::Uid kPod{"p"};
constexpr Mono kFirstTry{1h};

std::vector<std::string> leftOut(const NodesInVain& nodes, Mono now, bool all = false) {
  std::vector<std::string> out;
  for (const auto& node : nodes.leftOut(kPod, all, now)) { out.push_back(node.text); }
  return out;
}

TEST(NodesInVain, ANodeIsLeftOutWhileOthersMayDoAndLongerEachTime) {
  NodesInVain nodes;
  EXPECT_EQ(nodes.tried(kPod, model::NodeName{"a"}, false, kFirstTry), kFirstTry + 2s);
  EXPECT_EQ(leftOut(nodes, kFirstTry + 1h), std::vector<std::string>{"a"}) << "others may do";
  EXPECT_EQ(nodes.tried(kPod, model::NodeName{"a"}, false, kFirstTry), kFirstTry + 4s);
  EXPECT_TRUE(nodes.nowhereElse(kPod));
  EXPECT_EQ(leftOut(nodes, kFirstTry + 3s), std::vector<std::string>{"a"});
  EXPECT_TRUE(leftOut(nodes, kFirstTry + 4s).empty());
  EXPECT_EQ(leftOut(nodes, kFirstTry + 4s, true), std::vector<std::string>{"a"});
}

TEST(NodesInVain, ThatNothingElseFitsIsNewsOnce) {
  NodesInVain nodes;
  EXPECT_FALSE(nodes.nowhereElse(kPod)) << "it was not tried anywhere";
  (void)nodes.tried(kPod, model::NodeName{"a"}, true, kFirstTry);
  EXPECT_TRUE(nodes.nowhereElse(kPod));
  EXPECT_FALSE(nodes.nowhereElse(kPod));
  EXPECT_TRUE(nodes.refused(kPod));
  nodes.forget(kPod);
  EXPECT_FALSE(nodes.contains(kPod));
}

TEST(NodesInVain, TheMoreNodesTheLongerEachAndNeverMoreThanSixtyFour) {
  NodesInVain nodes;
  for (int i = 0; i < 64; ++i) {
    const auto until = nodes.tried(kPod, model::NodeName{"n" + std::to_string(i)}, false, kFirstTry);
    ASSERT_TRUE(until);
    EXPECT_EQ(*until, kFirstTry + 1s * std::max(2, i + 1)) << i;
  }
  EXPECT_EQ(nodes.tried(kPod, model::NodeName{"one-more"}, false, kFirstTry), std::nullopt);
  for (int i = 0; i < 9; ++i) { (void)nodes.tried(kPod, model::NodeName{"n0"}, false, kFirstTry); }
  EXPECT_EQ(nodes.tried(kPod, model::NodeName{"n0"}, false, kFirstTry), kFirstTry + 3min) << "at most";
}

}  // namespace
}  // namespace gs::controller
