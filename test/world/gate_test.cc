// A pod with a gate (docs/use/enforcement.md) goes only where the kubelet has its driver: no kubelet would
// start it elsewhere.
#include <gtest/gtest.h>

#include "model/gate.h"
#include "test/world/objects.h"
#include "test/world/one_node.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;

class Gated : public OneNode {
 protected:
  Gated() : OneNode{{"GPU-0"}} { world.create(claim("one", 1)); }

  static json::Value withGate(json::Value pod) {
    json::Array volumes;
    volumes.emplace_back(
        json::Object{{"name", model::kGateVolume},
                     {"csi", json::Object{{"driver", model::kGateDriver}, {"readOnly", true}}}});
    pod.child("spec").set("volumes", std::move(volumes));
    return pod;
  }
  /// As the node's kubelet writes it.
  static json::Value csiNode(const std::string& driver) {
    json::Array drivers;
    drivers.emplace_back(
        json::Object{{"name", driver}, {"nodeID", "n"}, {"topologyKeys", json::Value{nullptr}}});
    return json::Object{{"apiVersion", "storage.k8s.io/v1"},
                        {"kind", "CSINode"},
                        {"metadata", json::Object{{"name", "n"}}},
                        {"spec", json::Object{{"drivers", std::move(drivers)}}}};
  }
};

TEST_F(Gated, APodWaitsForANodeWithTheDriver) {
  startOne();
  world.create(withGate(pod("p", "one")));
  ASSERT_TRUE(eventually([&] {
    return whyWaiting("p").find(
               "node(s) had no gate for pods with GPUs: gpu-scheduler-agent does not serve "
               "CSI driver gate.gpu.scheduling there") != std::string::npos;
  })) << whyWaiting("p");
  world.run(30s);
  EXPECT_EQ(nodeOf("p"), "");
  world.create(csiNode(model::kGateDriver));
  EXPECT_TRUE(eventually([&] { return nodeOf("p") == "n"; })) << whyWaiting("p");
  expectSettled();
}

TEST_F(Gated, OthersGoThereAllTheSame) {
  startOne();
  world.create(csiNode("csi.gkm.io"));
  world.create(pod("p", "one"));
  EXPECT_TRUE(eventually([&] { return nodeOf("p") == "n"; })) << whyWaiting("p");
}

}  // namespace
}  // namespace gs::test
