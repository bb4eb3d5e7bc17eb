// Leases that another version of this program wrote, in a format to come or one that is gone: such a version
// may have led before, or stands by (kapi/lease_format.h, docs/upgrades.md).
#include <string>

#include "test/world/one_node.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;

class Versions : public OneNode {
 protected:
  Versions() : OneNode{{"GPU-a", "GPU-b"}} {}

  /// As the other version would have written it.
  void rewrite(int id) {
    const json::Object other{{"gpu.scheduling/format", "2"},
                             {"gpu.scheduling/uuid", nullptr},
                             {"gpu.scheduling/of-a-version-to-come", "[1, 2]"}};
    ASSERT_EQ(world
                  .request("PATCH", kLeases + "gpu-n-" + std::to_string(id),
                           json::Object{{"metadata", json::Object{{"annotations", other}}}},
                           "application/merge-patch+json")
                  .code,
              200);
  }
  [[nodiscard]] std::string formatOf(int id) {
    return std::string{lease(id)["metadata"]["annotations"]["gpu.scheduling/format"].str()};
  }
  void placeOne(const std::string& name, const std::string& claim_name) {
    world.create(pod(name, claim_name));
    ASSERT_TRUE(eventually([&] { return !nodeOf(name).empty(); })) << name << ": " << whyWaiting(name);
  }
};

TEST_F(Versions, AnothersLeaseHoldsItsGpuAndGoesWithItsPod) {
  startOne();
  world.create(claim("one", 1));
  world.create(claim("two", 2));
  placeOne("a", "one");
  rewrite(0);
  world.crash(0);
  startOne();
  placeOne("b", "one");
  EXPECT_EQ(allocated("b"), "n:1");
  world.create(pod("both", "two"));
  world.run(70s);
  EXPECT_EQ(formatOf(0), "2") << "the pod runs: nothing has to be written";
  EXPECT_EQ(nodeOf("both"), "");
  finish("a");
  finish("b");
  EXPECT_TRUE(eventually([&] { return allocated("both") == "n:0,1"; })) << whyWaiting("both");
  EXPECT_EQ(formatOf(0), "1");
  expectSettled();
}

TEST_F(Versions, AnothersLeasesOfAPodThatIsNotBoundAreFencedAndItIsPlacedAnew) {
  startOne();
  world.create(claim("two", 2));
  bool bindings_arrive = false;
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) {
    using How = sandbox::CallFault::How;
    const bool lost = call.subresource == "binding" && !bindings_arrive;
    return sandbox::CallFault{.how = lost ? How::LostBefore : How::Normal};
  });
  world.create(pod("a", "two"));
  ASSERT_TRUE(eventually([&] { return leases() == 2; }));
  world.crash(0);
  rewrite(0);
  rewrite(1);
  bindings_arrive = true;
  startOne();
  ASSERT_TRUE(eventually([&] { return !nodeOf("a").empty(); })) << whyWaiting("a");
  EXPECT_EQ(formatOf(0), "1");
  EXPECT_EQ(formatOf(1), "1");
  EXPECT_NE(podObject("a")["metadata"]["annotations"]["gpu.scheduling/fence"].str(), "");
  expectSettled();
}

TEST_F(Versions, NobodyJoinsAnothersSharedLeaseAndItsGpuIsSharedAgainOnceThatIsGone) {
  startOne();
  world.create(claim("s", 1, {{"exclusivity", "Shared"}}));
  placeOne("a", "s");
  rewrite(0);
  world.crash(0);
  startOne();
  placeOne("b", "s");
  EXPECT_EQ(allocated("b"), "n:1");
  placeOne("c", "s");
  EXPECT_EQ(allocated("c"), "n:1");
  EXPECT_EQ(formatOf(0), "2");
  finish("a");
  ASSERT_TRUE(eventually([&] { return leases() == 1; }));
  world.run(30s);  // its agent looks twice
  placeOne("d", "s");
  EXPECT_EQ(allocated("d"), "n:0") << "fewest holders";
  expectSettled();
}

}  // namespace
}  // namespace gs::test
