// Deployments on the World: what of them runs at every moment of a rollout, and what is said of it.
#include <fmt/format.h>

#include "test/world/workloads.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;
using json::Object;
using json::Value;

class Deployments : public Workloads {
 protected:
  void deploy(const std::string& name, int replicas, json::Object more = {}, int gpus = 0) {
    world.create(workload("Deployment", name, replicas, templateOf(name, gpus), std::move(more)));
  }
  Value status(const std::string& name = "web") { return statusOf("deployments", name); }
  /// Rolled out: all pods are of the newest template and available.
  bool complete(const std::string& name = "web") {
    const Value d = object("deployments", name);
    const auto& s = d["status"];
    const auto wanted = d["spec"]["replicas"].intOr(0);
    return s["observedGeneration"] == d["metadata"]["generation"] && s["replicas"].intOr(0) == wanted &&
           s["updatedReplicas"].intOr(0) == wanted && s["availableReplicas"].intOr(0) == wanted;
  }
  /// "image:wanted" of each ReplicaSet, by image.
  std::string sets() {
    std::set<std::string> out;
    for (const auto& set : list("replicasets")) {
      out.insert(fmt::format("{}={}", set["spec"]["template"]["spec"]["containers"].at(0)["image"].str(),
                             set["spec"]["replicas"].intOr(0)));
    }
    return fmt::format("{}", fmt::join(out, " "));
  }
  std::string revisionOf(const std::string& image) {
    for (const auto& set : list("replicasets")) {
      if (set["spec"]["template"]["spec"]["containers"].at(0)["image"].str() == image) {
        return std::string{set["metadata"]["annotations"]["deployment.kubernetes.io/revision"].str()};
      }
    }
    return "none";
  }
  int podsWith(const std::string& image, bool going = false) {
    int out = 0;
    for (const auto& pod : podsOf("web")) {
      out += pod["spec"]["containers"].at(0)["image"].str() == image && (going || !isDeleting(pod)) ? 1 : 0;
    }
    return out;
  }
};

TEST_F(Deployments, PodsGetTheirGpusAndTheStatusSaysThatTheyRun) {
  deploy("web", 3, {}, 2);
  ASSERT_TRUE(eventually([&] { return complete(); }));
  std::set<std::string> gpus;
  for (const auto& pod : podsOf("web")) {
    gpus.insert(std::string{pod["metadata"]["annotations"]["gpu.scheduling/allocated"].str()});
    EXPECT_EQ(pod["metadata"]["ownerReferences"].at(0)["kind"].str(), "ReplicaSet");
    EXPECT_TRUE(
        pod["metadata"]["name"].str().starts_with(list("replicasets").at(0)["metadata"]["name"].str()));
  }
  EXPECT_EQ(gpus.size(), 3U);
  EXPECT_EQ(condition(status(), "Available"), "True MinimumReplicasAvailable");
  EXPECT_EQ(condition(status(), "Progressing"), "True NewReplicaSetAvailable");
  EXPECT_EQ(status()["readyReplicas"].intOr(0), 3);
  EXPECT_EQ(status()["unavailableReplicas"].intOr(0), 0);
  EXPECT_EQ(told("Deployment", "web"),
            std::vector<std::string>{fmt::format("ScalingReplicaSet: Scaled up replica set {} from 0 to 3",
                                                 list("replicasets").at(0)["metadata"]["name"].str())});
  expectSettled();
}

TEST_F(Deployments, AQuietOneIsNotWrittenAgain) {
  deploy("web", 2);
  ASSERT_TRUE(eventually([&] { return complete(); }));
  world.run(5s);
  const auto before = object("deployments", "web")["metadata"]["resourceVersion"];
  world.run(20min);
  EXPECT_EQ(object("deployments", "web")["metadata"]["resourceVersion"], before);
}

/// While pods are replaced, no more and no fewer are there than the strategy allows.
struct StrategyCase {
  const char* name;
  int replicas;
  Value surge;
  Value unavailable;
  int most;
  int fewest;
};
class RollingUpdate : public Deployments, public ::testing::WithParamInterface<StrategyCase> {};
TEST_P(RollingUpdate, KeepsItsBounds) {
  const auto& p = GetParam();
  deploy("web", p.replicas,
         {{"strategy",
           Object{{"rollingUpdate", Object{{"maxSurge", p.surge}, {"maxUnavailable", p.unavailable}}}}}});
  ASSERT_TRUE(eventually([&] { return complete(); }));
  setImage("deployments", "web", "i:2");
  int most = 0;
  int fewest = p.replicas;
  const auto look = [&] {
    int there = 0;
    int ready = 0;
    for (const auto& pod : podsOf("web")) {
      there += isDeleting(pod) ? 0 : 1;
      ready += !isDeleting(pod) && isReady(pod) ? 1 : 0;
    }
    most = std::max(most, there);
    fewest = std::min(fewest, ready);
    return podsWith("i:1", true) == 0 && complete();
  };
  ASSERT_TRUE(eventually(look, 5min));
  EXPECT_EQ(most, p.most) << "no more, and as many as that at some time";
  EXPECT_EQ(fewest, p.fewest);
  EXPECT_EQ(sets(), fmt::format("i:1=0 i:2={}", p.replicas));
}
INSTANTIATE_TEST_SUITE_P(Table, RollingUpdate,
                         ::testing::Values(StrategyCase{"Defaults", 4, "25%", "25%", 5, 3},
                                           StrategyCase{"DefaultsOfOne", 1, "25%", "25%", 2, 1},
                                           StrategyCase{"OneMore", 3, 1, 0, 4, 3},
                                           StrategyCase{"OneFewer", 3, 0, 1, 3, 2},
                                           StrategyCase{"AllAtOnce", 3, "100%", "100%", 3, 0},
                                           StrategyCase{"RoundedUpAndDown", 5, "30%", "30%", 7, 4},
                                           StrategyCase{"NeitherIsOneFewer", 3, 0, "1%", 3, 2}),
                         [](const auto& info) { return std::string{info.param.name}; });

TEST_F(Deployments, RecreateHasNoPodOfTheNewTemplateBesideOneOfTheOld) {
  deploy("web", 3, {{"strategy", Object{{"type", "Recreate"}}}});
  ASSERT_TRUE(eventually([&] { return complete(); }));
  setImage("deployments", "web", "i:2");
  bool both = false;
  ASSERT_TRUE(eventually([&] {
    both = both || (podsWith("i:1", true) > 0 && podsWith("i:2", true) > 0);
    return complete();
  }));
  EXPECT_FALSE(both);
  EXPECT_EQ(sets(), "i:1=0 i:2=3");
}

TEST_F(Deployments, GoingBackFindsTheEarlierReplicaSet) {
  deploy("web", 2);
  ASSERT_TRUE(eventually([&] { return complete(); }));
  setImage("deployments", "web", "i:2");
  ASSERT_TRUE(eventually([&] { return complete(); }));
  EXPECT_EQ(revisionOf("i:1"), "1");
  EXPECT_EQ(revisionOf("i:2"), "2");
  setImage("deployments", "web", "i:1");
  ASSERT_TRUE(eventually([&] { return complete(); }));
  EXPECT_EQ(list("replicasets").size(), 2U);
  EXPECT_EQ(revisionOf("i:1"), "3");
  EXPECT_EQ(
      object("deployments", "web")["metadata"]["annotations"]["deployment.kubernetes.io/revision"].str(),
      "3");
  EXPECT_EQ(sets(), "i:1=2 i:2=0");
}

TEST_F(Deployments, OldReplicaSetsGoBeyondTheLimit) {
  deploy("web", 1, {{"revisionHistoryLimit", 1}});
  for (const char* image : {"i:2", "i:3", "i:4"}) {
    ASSERT_TRUE(eventually([&] { return complete(); }));
    setImage("deployments", "web", image);
  }
  EXPECT_TRUE(eventually([&] { return sets() == "i:3=0 i:4=1"; }));
}

TEST_F(Deployments, PausedRollsNothingOutAndIsScaledAllTheSame) {
  deploy("web", 2);
  ASSERT_TRUE(eventually([&] { return complete(); }));
  merge("deployments", "web", Object{{"spec", Object{{"paused", true}}}});
  setImage("deployments", "web", "i:2");
  scale("deployments", "web", 4);
  world.run(10s);
  EXPECT_EQ(sets(), "i:1=4");
  EXPECT_EQ(condition(status(), "Progressing"), "Unknown DeploymentPaused");
  merge("deployments", "web", Object{{"spec", Object{{"paused", nullptr}}}});
  ASSERT_TRUE(eventually([&] { return complete(); }));
  EXPECT_EQ(sets(), "i:1=0 i:2=4");
  EXPECT_EQ(condition(status(), "Progressing"), "True NewReplicaSetAvailable");
}

TEST_F(Deployments, ARolloutThatDoesNotMoveIsTooLate) {
  deploy("web", 1, {{"progressDeadlineSeconds", 60}}, 99);
  ASSERT_TRUE(eventually([&] { return condition(status(), "Progressing") == "True ReplicaSetUpdated"; }));
  EXPECT_FALSE(eventually(
      [&] { return condition(status(), "Progressing") == "False ProgressDeadlineExceeded"; }, 58s));
  EXPECT_TRUE(
      eventually([&] { return condition(status(), "Progressing") == "False ProgressDeadlineExceeded"; }, 4s));
  EXPECT_EQ(condition(status(), "Available"), "False MinimumReplicasUnavailable");
  merge("deployments", "web",
        *json::parse(R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i:2"}]}}}})"));
  EXPECT_TRUE(eventually([&] { return complete(); })) << "a template that fits ends it";
  EXPECT_EQ(condition(status(), "Progressing"), "True NewReplicaSetAvailable");
}

TEST_F(Deployments, ScaledWhileARolloutIsStuckEachSetKeepsItsPart) {
  deploy("web", 10,
         {{"strategy", Object{{"rollingUpdate", Object{{"maxSurge", 3}, {"maxUnavailable", 2}}}}}});
  ASSERT_TRUE(eventually([&] { return complete(); }));
  Value stuck = templateOf("web", 99, "i:2");
  merge("deployments", "web", Object{{"spec", Object{{"template", std::move(stuck)}}}});
  ASSERT_TRUE(eventually([&] { return sets() == "i:1=8 i:2=5"; })) << sets();
  scale("deployments", "web", 15);
  EXPECT_TRUE(eventually([&] { return sets() == "i:1=11 i:2=7"; })) << sets();
  scale("deployments", "web", 0);
  EXPECT_TRUE(eventually([&] { return sets() == "i:1=0 i:2=0"; })) << sets();
}

TEST_F(Deployments, MinReadySecondsDelayWhatIsAvailable) {
  deploy("web", 2, {{"minReadySeconds", 20}});
  ASSERT_TRUE(eventually([&] { return status()["readyReplicas"].intOr(0) == 2; }));
  EXPECT_FALSE(eventually([&] { return status()["availableReplicas"].intOr(0) > 0; }, 18s));
  EXPECT_TRUE(eventually([&] { return complete(); }, 4s));
}

TEST_F(Deployments, WhatItOwnsGoesWithItUnlessOrphaned) {
  deploy("web", 2);
  ASSERT_TRUE(eventually([&] { return complete(); }));
  remove("deployments", "web", Object{{"propagationPolicy", "Orphan"}});
  world.run(10s);
  EXPECT_EQ(podsOf("web").size(), 2U);
  ASSERT_EQ(list("replicasets").size(), 1U);
  const auto uid = list("replicasets").at(0)["metadata"]["uid"];
  deploy("web", 2);
  ASSERT_TRUE(eventually([&] { return complete(); }));
  ASSERT_EQ(list("replicasets").size(), 1U) << "it is taken over";
  EXPECT_EQ(list("replicasets").at(0)["metadata"]["uid"], uid);
  remove("deployments", "web");
  EXPECT_TRUE(eventually([&] { return podsOf("web").empty() && list("replicasets").empty(); }));
}

TEST_F(Deployments, AReplicaSetOfThatNameMakesItTakeAnother) {
  deploy("web", 1);
  ASSERT_TRUE(eventually([&] { return complete(); }));
  const std::string name{list("replicasets").at(0)["metadata"]["name"].str()};
  remove("deployments", "web");
  ASSERT_TRUE(eventually([&] { return podsOf("web").empty(); }));
  world.create(workload("ReplicaSet", name, 0, templateOf("other")));
  deploy("web", 1);
  ASSERT_TRUE(eventually([&] { return complete(); }));
  EXPECT_EQ(status()["collisionCount"].intOr(0), 1);
  EXPECT_EQ(list("replicasets").size(), 2U);
}

TEST_F(Deployments, ARestartedSandboxGoesOnWithWhatIsThere) {
  deploy("web", 3);
  ASSERT_TRUE(eventually([&] { return complete(); }));
  setImage("deployments", "web", "i:2");
  ASSERT_TRUE(eventually([&] { return podsWith("i:2") == 1; }));
  sandbox::World next{{.controllers = true, .restore = world.api().save()}};
  next.startReplica();
  const auto done = [&] {
    const Value s = next.get("/apis/apps/v1/namespaces/default/deployments/web")["status"];
    return s["replicas"].intOr(0) == 3 && s["updatedReplicas"].intOr(0) == 3 &&
           s["availableReplicas"].intOr(0) == 3;
  };
  EXPECT_TRUE(next.runUntil(done, 60s));
}

}  // namespace
}  // namespace gs::test
