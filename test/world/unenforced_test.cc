// A node whose agent gives containers nothing of what is chosen: its device plugin picks for who asks by
// nvidia.com/gpu (R46).
#include "test/world/one_node.h"

namespace gs::test {
namespace {

class Unenforced : public OneNode {
 protected:
  Unenforced() : OneNode{{"GPU-0", "GPU-1"}, true, model::Enforcement::Off} { startOne(); }
};

TEST_F(Unenforced, APlainPodIsCountedWhereNobodyEnforces) {
  world.create(pod("p", "", 1));
  ASSERT_TRUE(eventually([&] { return running("p"); }));
  EXPECT_EQ(allocated("p"), "");
  EXPECT_EQ(leases(), 0U) << "two writes: its Binding and its event";
  world.create(claim("two", 2));
  world.create(pod("q", "two"));
  ASSERT_TRUE(eventually([&] { return !whyWaiting("q").empty(); }));
  EXPECT_NE(whyWaiting("q").find("need 2 and most free is 1"), std::string::npos) << whyWaiting("q");
  world.create(pod("r", "", 2));
  ASSERT_TRUE(eventually([&] { return !whyWaiting("r").empty(); }));
  EXPECT_NE(whyWaiting("r").find("need 2 and most free is 1"), std::string::npos) << whyWaiting("r");
  finish("p");
  ASSERT_TRUE(eventually([&] { return !nodeOf("q").empty() || !nodeOf("r").empty(); }));
  expectSettled();
}

TEST_F(Unenforced, AClaimIsGivenExactGpusAllTheSame) {
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  ASSERT_TRUE(eventually([&] { return running("p"); }));
  EXPECT_EQ(allocated("p"), "n:0");
  EXPECT_EQ(leases(), 1U);
  expectSettled();
}

}  // namespace
}  // namespace gs::test
