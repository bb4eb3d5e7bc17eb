// What the truth says of sharers (test/world/truth.h): a lease names those that share.
#include "test/world/one_node.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;

struct Sharers : OneNode {
  Sharers() : OneNode{{"GPU-0"}, true} {}
  void SetUp() override {
    startOne();
    world.create(claim("shared", 1, {{"exclusivity", "Shared"}}));
    world.create(pod("p", "shared"));
    world.create(pod("q", "shared"));
    ASSERT_TRUE(eventually([&] { return allocated("p") == "n:0" && allocated("q") == "n:0"; }));
    expectSettled();
    world.crash(0);  // nobody mends it
  }
};

TEST_F(Sharers, ThatTheirLeaseDoesNotNameHaveTheGpuTwice) {
  const auto lease = world.get(kLeases + "gpu-n-0");
  const auto holders = json::parse(lease["metadata"]["annotations"]["gpu.scheduling/holders"].str());
  ASSERT_TRUE(holders);
  const std::string first = json::print(json::Array{holders->items().front()});
  ASSERT_EQ(
      world
          .request(
              "PATCH", kLeases + "gpu-n-0",
              json::Object{{"metadata",
                            json::Object{{"annotations", json::Object{{"gpu.scheduling/holders", first}}}}}},
              "application/merge-patch+json")
          .code,
      200);
  EXPECT_EQ(readTruth(world).problems.size(), 1U);
  EXPECT_EQ(readTruth(world).unsettled.size(), 1U);
}

TEST_F(Sharers, WhoAreGoneLeaveALeaseThatIsNotSettled) {
  deletePod("p", true);
  deletePod("q", true);
  EXPECT_TRUE(readTruth(world).problems.empty());
  EXPECT_EQ(readTruth(world).unsettled.size(), 2U);
}

}  // namespace
}  // namespace gs::test
