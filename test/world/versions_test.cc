// Leases that another version of this program wrote, in a format to come or one that is gone: such a version
// may have led before, or stands by (kapi/lease_format.h, docs/use/upgrades.md).
#include <algorithm>
#include <string>

#include "test/world/one_node.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;

class Versions : public OneNode {
 protected:
  Versions() : OneNode{{"GPU-a", "GPU-b"}} {}

  /// As the other version would have written it: it says more, and some things elsewhere.
  void rewrite(int id, bool elsewhere = true) {
    json::Object other{{"gpu.scheduling/format", "2"},
                       {"gpu.scheduling/uuid", nullptr},
                       {"gpu.scheduling/of-a-version-to-come", "[1, 2]"}};
    if (elsewhere) { other.set("gpu.scheduling/reservation", nullptr); }
    if (json::Array sharers = sharersOf(id); !sharers.empty()) {
      for (json::Value& one : sharers) {
        for (const char* name : {"milli", "mib", "reservation"}) { one.erase(name); }
        one.set("amounts", json::Array{500, "of a version to come"});
      }
      other.set("gpu.scheduling/holders", json::print(sharers));
    }
    ASSERT_EQ(world
                  .request("PATCH", kLeases + "gpu-n-" + std::to_string(id),
                           json::Object{{"metadata", json::Object{{"annotations", other}}}},
                           "application/merge-patch+json")
                  .code,
              200);
  }
  [[nodiscard]] std::string noteOf(int id, const std::string& name) {
    return std::string{lease(id)["metadata"]["annotations"]["gpu.scheduling/" + name].str()};
  }
  [[nodiscard]] std::string formatOf(int id) { return noteOf(id, "format"); }
  [[nodiscard]] json::Array sharersOf(int id) {
    return json::parse(noteOf(id, "holders")).value_or(json::Value{}).items();
  }
  void unboundIsFencedAndPlacedAnew(bool elsewhere);
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

void Versions::unboundIsFencedAndPlacedAnew(bool elsewhere) {
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
  rewrite(0, elsewhere);
  rewrite(1, elsewhere);
  bindings_arrive = true;
  startOne();
  ASSERT_TRUE(eventually([&] { return !nodeOf("a").empty(); })) << whyWaiting("a");
  EXPECT_EQ(formatOf(0), "1");
  EXPECT_EQ(formatOf(1), "1");
  EXPECT_NE(podObject("a")["metadata"]["annotations"]["gpu.scheduling/fence"].str(), "");
  expectSettled();
}

TEST_F(Versions, AnothersLeasesOfAPodThatIsNotBoundAreFencedAndItIsPlacedAnew) {
  unboundIsFencedAndPlacedAnew(true);
}
TEST_F(Versions, SoAreThoseThatSayTheReservationAsThisVersionDoes) { unboundIsFencedAndPlacedAnew(false); }

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

TEST_F(Versions, WhoLeavesAnothersSharedLeaseChangesNothingElseInIt) {
  startOne();
  world.create(claim("s", 1, {{"exclusivity", "Shared"}}));
  for (const char* name : {"a", "b", "c"}) { placeOne(name, "s"); }
  ASSERT_EQ(allocated("c"), "n:0") << "as a has";
  rewrite(0);
  world.crash(0);
  startOne();
  finish("a");
  ASSERT_TRUE(eventually([&] { return sharersOf(0).size() == 1; }));
  EXPECT_EQ(sharersOf(0).at(0)["name"].str(), "c");
  EXPECT_EQ(sharersOf(0).at(0)["amounts"].at(0).intOr(0), 500);
  EXPECT_EQ(formatOf(0), "2");
  EXPECT_EQ(noteOf(0, "of-a-version-to-come"), "[1, 2]");
  placeOne("d", "s");
  EXPECT_EQ(allocated("d"), "n:1") << "how much is left of the other one is not known";
  finish("c");
  EXPECT_TRUE(eventually([&] { return leases() == 1; }));
  expectSettled();
}

TEST_F(Versions, NobodyIsToldOfTheLeasesOfAnotherThatTheyAreMissing) {
  startOne();
  world.create(claim("one", 1));
  world.create(claim("s", 1, {{"exclusivity", "Shared"}}));
  placeOne("a", "one");
  placeOne("b", "s");
  rewrite(0);
  rewrite(1);
  world.crash(0);
  startOne();
  world.run(70s);
  EXPECT_EQ(formatOf(0) + formatOf(1), "22") << "the pods run: nothing has to be written";
  EXPECT_FALSE(warned("GpuLeaseRewritten"));
  EXPECT_FALSE(warned("GpuHeldByOther"));
}

TEST_F(Versions, OfAllLeasesOfAnotherOneLineIsWritten) {
  startOne();
  world.create(claim("two", 2));
  placeOne("a", "two");
  rewrite(0);
  rewrite(1);
  const auto said = [this](const std::string& words) {
    return std::count_if(world.log().begin(), world.log().end(),
                         [&](const std::string& line) { return line.find(words) != std::string::npos; });
  };
  world.run(100s);
  EXPECT_EQ(said("of another version's format"), 1);
  EXPECT_EQ(said("leases=2"), 1);
  EXPECT_EQ(said("cannot be read"), 0) << "nobody has to delete one by hand";
}

}  // namespace
}  // namespace gs::test
