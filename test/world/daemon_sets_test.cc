// DaemonSets on the World: on which nodes they have a pod, what becomes of pods when a node or the template
// changes, and what their status counts.
#include <fmt/format.h>

#include "test/world/workloads.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;
using json::Array;
using json::Object;
using json::Value;

class DaemonSets : public Workloads {
 protected:
  /// `more` of the template's spec.
  static Value daemon(const std::string& name, Object more = {}, Object of_set = {}) {
    Value out = workload("DaemonSet", name, 0, templateOf(name), std::move(of_set));
    out.child("spec").erase("replicas");
    Value& spec = out.child("spec").child("template").child("spec");
    spec.erase("schedulerName");
    for (auto& [key, value] : more) { spec.set(key, value); }
    return out;
  }
  std::set<std::string> nodesOf(const std::string& app) {
    std::set<std::string> out;
    for (const auto& pod : podsOf(app)) {
      if (isReady(pod) && !isDeleting(pod)) { out.emplace(pod["spec"]["nodeName"].str()); }
    }
    return out;
  }
  std::int64_t count(const std::string& name, const char* field) {
    return statusOf("daemonsets", name)[field].intOr(0);
  }
  void patchNode(const std::string& node, const char* change) {
    ASSERT_EQ(
        world.request("PATCH", "/api/v1/nodes/" + node, *json::parse(change), "application/merge-patch+json")
            .code,
        200);
  }
};

TEST_F(DaemonSets, HaveAPodOnEachNode) {
  world.create(daemon("d"));
  ASSERT_TRUE(eventually([&] { return nodesOf("d") == std::set<std::string>{"node-a", "node-b"}; }));
  ASSERT_TRUE(eventually([&] { return count("d", "numberAvailable") == 2; }));
  EXPECT_EQ(count("d", "desiredNumberScheduled"), 2);
  EXPECT_EQ(count("d", "updatedNumberScheduled"), 2);
  deletePod(std::string{podsOf("d").at(0)["metadata"]["name"].str()});
  EXPECT_TRUE(eventually([&] { return podsOf("d").size() == 2 && nodesOf("d").size() == 2; }));
  remove("daemonsets", "d");
  EXPECT_TRUE(eventually([&] { return podsOf("d").empty(); }));
}

TEST_F(DaemonSets, GoByNamesLabelsAndTaints) {
  world.create(daemon("select", {{"nodeSelector", Object{{"gpu-type", "a100"}}}}));
  world.create(daemon("affine", {{"affinity", *json::parse(R"({"nodeAffinity": {
    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [
      {"key": "gpu-type", "operator": "NotIn", "values": ["a100"]}]}]}}})")}}));
  world.create(daemon("all"));
  world.create(daemon("bold", {{"tolerations", *json::parse(R"([{"key": "own", "operator": "Exists"}])")}}));
  ASSERT_TRUE(eventually([&] { return nodesOf("all").size() == 2 && nodesOf("bold").size() == 2; }));
  EXPECT_EQ(nodesOf("select"), std::set<std::string>{"node-b"});
  EXPECT_EQ(nodesOf("affine"), std::set<std::string>{"node-a"});
  patchNode("node-a", R"({"spec": {"unschedulable": true}})");
  patchNode("node-b", R"({"spec": {"taints": [{"key": "own", "value": "x", "effect": "NoExecute"}]}})");
  ASSERT_TRUE(eventually([&] { return nodesOf("all") == std::set<std::string>{"node-a"}; }));
  EXPECT_EQ(nodesOf("bold").size(), 2U) << "it tolerates the taint";
  EXPECT_TRUE(eventually([&] { return count("all", "desiredNumberScheduled") == 1; }));
  patchNode(
      "node-b",
      R"({"spec": {"taints": [{"key": "own", "effect": "NoSchedule"}]}, "metadata": {"labels": {"gpu-type": "t4"}}})");
  EXPECT_TRUE(eventually([&] { return nodesOf("select").empty(); }));
  EXPECT_EQ(nodesOf("all"), std::set<std::string>{"node-a"})
      << "where it was sent away, it does not come back";
}

TEST_F(DaemonSets, FollowNodesThatComeAndGo) {
  world.create(daemon("d"));
  kapi::SimNode more = kapi::defaultNodes().at(0);
  more.name = model::NodeName{"node-c"};
  world.machines().addNode(more);
  world.touch();
  ASSERT_TRUE(eventually([&] { return nodesOf("d").contains("node-c"); }));
  world.machines().removeNode("node-a");
  world.touch();
  EXPECT_TRUE(eventually([&] {
    return nodesOf("d") == std::set<std::string>{"node-b", "node-c"} && podsOf("d").size() == 2;
  }));
  EXPECT_TRUE(eventually([&] { return count("d", "desiredNumberScheduled") == 2; }));
}

TEST_F(DaemonSets, RenewTheirPodsNodeByNode) {
  world.create(daemon("d"));
  ASSERT_TRUE(eventually([&] { return count("d", "numberAvailable") == 2; }));
  Value set = object("daemonsets", "d");
  set.child("spec").child("template").child("spec").child("containers").array().at(0).set("image", "i:2");
  ASSERT_EQ(world.request("PUT", pathOf("daemonsets", "d"), set).code, 200);
  std::int64_t least = 2;
  ASSERT_TRUE(eventually([&] {
    least = std::min(least, static_cast<std::int64_t>(nodesOf("d").size()));
    return count("d", "observedGeneration") == 2 && count("d", "updatedNumberScheduled") == 2 &&
           count("d", "numberAvailable") == 2;
  }));
  EXPECT_EQ(least, 1) << "one at a time";
  EXPECT_EQ(list("controllerrevisions").size(), 2U);
  EXPECT_EQ(
      object("daemonsets", "d")["metadata"]["annotations"]["deprecated.daemonset.template.generation"].str(),
      "2");
}

TEST_F(DaemonSets, WithOnDeleteWaitForSomebodyToDelete) {
  world.create(daemon("d", {}, {{"updateStrategy", Object{{"type", "OnDelete"}}}}));
  ASSERT_TRUE(eventually([&] { return count("d", "numberAvailable") == 2; }));
  Value set = object("daemonsets", "d");
  set.child("spec").child("template").child("spec").child("containers").array().at(0).set("image", "i:2");
  ASSERT_EQ(world.request("PUT", pathOf("daemonsets", "d"), set).code, 200);
  ASSERT_TRUE(eventually([&] { return statusOf("daemonsets", "d")["observedGeneration"].intOr(0) == 2; }));
  EXPECT_EQ(count("d", "updatedNumberScheduled"), 0);
  deletePod(std::string{podsOf("d").at(0)["metadata"]["name"].str()});
  EXPECT_TRUE(eventually([&] { return count("d", "updatedNumberScheduled") == 1; }));
}

}  // namespace
}  // namespace gs::test
