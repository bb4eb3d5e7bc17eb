// Pods of higher priority have others evicted, through the whole scheduler.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test/world/cluster.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;

class PreemptionWorldOfOurs : public Cluster {
 protected:
  PreemptionWorldOfOurs() {
    world.create(claim("all", 4));
    addClass("urgent", 1'000, "PreemptLowerPriority");
    addClass("polite", 1'000, "Never");
    addClass("normal", 100, "PreemptLowerPriority");
  }
  void addClass(const char* name, int value, const char* policy) {
    world.create(json::Object{{"apiVersion", "scheduling.k8s.io/v1"},
                              {"kind", "PriorityClass"},
                              {"metadata", json::Object{{"name", name}}},
                              {"value", value},
                              {"preemptionPolicy", policy}});
  }
  static json::Value podOf(const std::string& name, const std::string& priority_class) {
    json::Value out = pod(name, "all");
    if (!priority_class.empty()) { out.child("spec").set("priorityClassName", priority_class); }
    if (priority_class == "polite") { out.child("spec").set("preemptionPolicy", "Never"); }
    return out;
  }
  bool runs(const std::string& name) { return !nodeOf(name).empty(); }
  /// So many pods as there are nodes with four GPUs: each has one wholly.
  std::vector<std::string> fill(const char* priority_class) {
    std::vector<std::string> names;
    for (std::size_t i = 0;; ++i) {
      names.push_back("filler-" + std::to_string(i));
      world.create(podOf(names.back(), priority_class));
      world.run(3s);
      if (runs(names.back())) { continue; }
      deletePod(names.back(), true);
      names.pop_back();
      return names;
    }
  }
  bool isGoing(const std::string& name) {
    const json::Value object = podObject(name);
    return object["metadata"]["uid"].isNull() || !object["metadata"]["deletionTimestamp"].isNull();
  }
  std::size_t going(const std::vector<std::string>& names) {
    return static_cast<std::size_t>(
        std::count_if(names.begin(), names.end(), [this](const auto& name) { return isGoing(name); }));
  }
};

TEST_F(PreemptionWorldOfOurs, OneGoesAndThePodComesInItsPlace) {
  startOne();
  const auto fillers = fill("");
  ASSERT_FALSE(fillers.empty());
  world.create(podOf("urgent", "urgent"));
  ASSERT_TRUE(eventually([&] { return runs("urgent"); }, 120s)) << whyWaiting("urgent");
  EXPECT_EQ(going(fillers), 1U);
  world.run(120s);
  EXPECT_EQ(going(fillers), 1U) << "nobody else went for it";
  expectSettled();
}

TEST_F(PreemptionWorldOfOurs, NobodyGoesForWhoMayNotOrIsNotMoreImportant) {
  startOne();
  const auto fillers = fill("normal");
  ASSERT_FALSE(fillers.empty());
  world.create(podOf("polite", "polite"));
  world.create(podOf("equal", "normal"));
  world.create(podOf("low", ""));
  world.run(180s);
  EXPECT_EQ(going(fillers), 0U);
  for (const char* name : {"polite", "equal", "low"}) { EXPECT_FALSE(runs(name)) << name; }
}

TEST_F(PreemptionWorldOfOurs, TheRoomIsNotGivenToSomebodyLessImportant) {
  startOne();
  const auto fillers = fill("");
  world.create(podOf("low", ""));
  world.run(3s);
  world.create(podOf("urgent", "urgent"));
  ASSERT_TRUE(eventually([&] { return runs("urgent"); }, 120s)) << whyWaiting("urgent");
  EXPECT_FALSE(runs("low"));
  EXPECT_EQ(going(fillers), 1U);
}

TEST_F(PreemptionWorldOfOurs, TheNextLeaderGoesOn) {
  startOne();
  world.startReplica();
  const auto fillers = fill("");
  world.create(podOf("urgent", "urgent"));
  ASSERT_TRUE(eventually([&] { return !podObject("urgent")["status"]["nominatedNodeName"].isNull(); }, 60s));
  const auto leader = world.leader();
  ASSERT_TRUE(leader);
  world.crash(*leader);
  ASSERT_TRUE(eventually([&] { return runs("urgent"); }, 180s)) << whyWaiting("urgent");
  world.run(60s);
  EXPECT_EQ(going(fillers), 1U);
}

}  // namespace
}  // namespace gs::test
