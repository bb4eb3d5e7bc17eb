// ReplicaSets on the World: how many pods there are, whose they are, and which go first.
#include <fmt/format.h>

#include "test/world/workloads.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;
using json::Object;
using json::Value;

class ReplicaSets : public Workloads {
 protected:
  void replicate(const std::string& name, int replicas, json::Object more = {}, int gpus = 0) {
    world.create(workload("ReplicaSet", name, replicas, templateOf(name, gpus), std::move(more)));
  }
  std::size_t running(const std::string& app) {
    std::size_t out = 0;
    for (const auto& pod : podsOf(app)) { out += isReady(pod) && !isDeleting(pod) ? 1U : 0U; }
    return out;
  }
  Value labelled(const std::string& name, const std::string& app) {
    Value out = pod(name, "");
    out.child("metadata").set("labels", Object{{"app", app}});
    out.child("spec").erase("restartPolicy");
    return out;
  }
};

TEST_F(ReplicaSets, HaveAsManyPodsAsTheyAskFor) {
  replicate("r", 7);
  ASSERT_TRUE(eventually([&] { return statusOf("replicasets", "r")["availableReplicas"].intOr(0) == 7; }));
  EXPECT_EQ(toldOf("ReplicaSet", "r", "SuccessfulCreate"), 7);
  deletePod(std::string{podsOf("r").at(0)["metadata"]["name"].str()});
  ASSERT_TRUE(eventually([&] { return podsOf("r").size() == 7 && running("r") == 7; }));
  scale("replicasets", "r", 2);
  ASSERT_TRUE(eventually([&] { return podsOf("r").size() == 2; }));
  EXPECT_EQ(toldOf("ReplicaSet", "r", "SuccessfulDelete"), 5);
  EXPECT_EQ(statusOf("replicasets", "r"), Value(Object{{"replicas", 2},
                                                       {"fullyLabeledReplicas", 2},
                                                       {"readyReplicas", 2},
                                                       {"availableReplicas", 2},
                                                       {"observedGeneration", 2}}));
  remove("replicasets", "r");
  EXPECT_TRUE(eventually([&] { return podsOf("r").empty(); }));
}

TEST_F(ReplicaSets, APodThatEndedIsReplacedAndKept) {
  replicate("r", 1);
  ASSERT_TRUE(eventually([&] { return running("r") == 1; }));
  finish(std::string{podsOf("r").at(0)["metadata"]["name"].str()});
  EXPECT_TRUE(eventually([&] { return running("r") == 1 && podsOf("r").size() == 2; }));
}

TEST_F(ReplicaSets, TakeOverPodsWithoutAnOwnerAndLetGoWhatTheyNoLongerSelect) {
  world.create(labelled("mine", "r"));
  replicate("r", 2);
  ASSERT_TRUE(eventually([&] { return running("r") == 2; }));
  EXPECT_EQ(podsOf("r").size(), 2U) << "one was made";
  EXPECT_EQ(object("pods", "mine")["metadata"]["ownerReferences"].at(0)["name"].str(), "r");
  merge("pods", "mine", Object{{"metadata", Object{{"labels", Object{{"app", "free"}}}}}});
  ASSERT_TRUE(eventually([&] { return running("r") == 2; }));
  EXPECT_TRUE(object("pods", "mine")["metadata"]["ownerReferences"].isNull());
  world.create(labelled("late", "r"));
  EXPECT_TRUE(eventually([&] { return podsOf("r").size() == 2; })) << "one is too many";
}

TEST_F(ReplicaSets, WithTheSamePodsDoNotFightAboutThem) {
  world.create(workload("ReplicaSet", "a", 2, templateOf("same")));
  world.create(workload("ReplicaSet", "b", 3, templateOf("same")));
  ASSERT_TRUE(eventually([&] { return running("same") == 5; }));
  expectAllTheTime([&] { return podsOf("same").size() == 5; }, 1min);
}

TEST_F(ReplicaSets, APodThatIsRefusedIsSaidAndTriedAgain) {
  Value refused = templateOf("r");
  refused.child("spec").set("priorityClassName", "high");
  world.create(workload("ReplicaSet", "r", 3, std::move(refused)));
  ASSERT_TRUE(eventually(
      [&] { return condition(statusOf("replicasets", "r"), "ReplicaFailure") == "True FailedCreate"; }));
  world.run(2min);
  const int times = toldOf("ReplicaSet", "r", "FailedCreate");
  EXPECT_GT(times, 5);
  EXPECT_LT(times, 15) << "less and less often, and one pod each time";
  world.create(Object{{"apiVersion", "scheduling.k8s.io/v1"},
                      {"kind", "PriorityClass"},
                      {"metadata", Object{{"name", "high"}}},
                      {"value", 5}});
  EXPECT_TRUE(eventually([&] { return running("r") == 3; }, 2min));
  EXPECT_TRUE(eventually([&] { return condition(statusOf("replicasets", "r"), "ReplicaFailure").empty(); }));
}

TEST_F(ReplicaSets, InANamespaceThatEndsGiveUp) {
  world.create(Object{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", Object{{"name", "team"}}}});
  Value set = workload("ReplicaSet", "r", 2, templateOf("r"));
  set.child("metadata").set("namespace", "team");
  world.create(set);
  ASSERT_TRUE(eventually([&] {
    return world.get("/apis/apps/v1/namespaces/team/replicasets/r")["status"]["readyReplicas"].intOr(0) == 2;
  }));
  ASSERT_EQ(world.request("DELETE", "/api/v1/namespaces/team").code, 200);
  EXPECT_TRUE(eventually([&] { return world.get("/api/v1/namespaces/team")["code"].intOr(0) == 404; }));
}

/// Of pods a and b, where b is made otherwise, the one that goes when one is too many.
TEST_F(ReplicaSets, ACheapPodGoesFirst) {
  replicate("r", 3);
  ASSERT_TRUE(eventually([&] { return running("r") == 3; }));
  const std::string cheap{podsOf("r").at(1)["metadata"]["name"].str()};
  merge("pods", cheap,
        Object{{"metadata",
                Object{{"annotations", Object{{"controller.kubernetes.io/pod-deletion-cost", "-1"}}}}}});
  scale("replicasets", "r", 2);
  ASSERT_TRUE(eventually([&] { return podsOf("r").size() == 2; }));
  EXPECT_EQ(object("pods", cheap)["code"].intOr(0), 404);
}

TEST_F(ReplicaSets, APodThatWaitsForGpusGoesBeforeThoseThatRun) {
  replicate("r", 3, {}, 4);
  ASSERT_TRUE(eventually([&] { return running("r") == 3; }));
  scale("replicasets", "r", 4);
  world.run(10s);
  ASSERT_EQ(running("r"), 3U) << "12 GPUs are there";
  std::set<std::string> before;
  for (const auto& pod : podsOf("r")) {
    if (isReady(pod)) { before.emplace(pod["metadata"]["name"].str()); }
  }
  scale("replicasets", "r", 3);
  ASSERT_TRUE(eventually([&] { return podsOf("r").size() == 3; }));
  for (const auto& pod : podsOf("r")) {
    EXPECT_TRUE(before.contains(std::string{pod["metadata"]["name"].str()}));
  }
}

}  // namespace
}  // namespace gs::test
