// What tests of nodes with a DRA driver share.
#pragma once

#include "engine/engine_hand_test.h"

namespace gs::engine {

inline const model::NodeName kDraNode{"node-d"};

class DraNodes : public EngineTest {
 protected:
  explicit DraNodes(dra::Drivers drivers = dra::knownDrivers()) : EngineTest{std::move(drivers)} {
    nodeComes("node-d");
  }

  static model::SliceDevice gpu(int i) {
    model::SliceDevice d;
    d.name = "gpu-" + std::to_string(i);
    d.attributes[{"gpu.nvidia.com", "type"}] = std::string{"gpu"};
    d.attributes[{"gpu.nvidia.com", "uuid"}] = "GPU-d-" + std::to_string(i);
    d.attributes[{"resource.kubernetes.io", "pciBusID"}] = "0000:0" + std::to_string(i) + ":00.0";
    return d;
  }
  model::ResourceSlice slice(const std::string& node, std::vector<model::SliceDevice> devices) {
    model::ResourceSlice s;
    s.key = {"", "slice-" + node};
    s.uid = model::Uid{"slice-" + node};
    s.revision = ++revision;
    s.driver = "gpu.nvidia.com";
    s.pool = node;
    s.generation = static_cast<std::int64_t>(revision);
    s.slices = 1;
    s.node = model::NodeName{node};
    s.devices = std::move(devices);
    return s;
  }
  void sliceComes(const model::ResourceSlice& s) {
    engine.apply({kapi::kResourceSlice, s.key, {}, shared(s), s.revision}, now);
  }
  /// As a device plugin has the kubelet count them.
  void nodeOffers(std::int64_t gpus) {
    model::Node node = testing::makeNode("node-d");
    node.revision = ++revision;
    node.allocatable.extended[model::kNvidiaGpu] = gpus;
    engine.apply({kapi::kNode, {"", "node-d"}, {}, shared(node), node.revision}, now);
  }
  /// Its driver went for good.
  void moves() {
    sliceGoes("node-d");
    nodeOffers(1);
    nodeOffers(0);
  }
  /// An agent's, or (no look) one that the scheduler keeps.
  model::GpuNodeStatus saysDra(const char* observed) {
    auto status = testing::makeStatus("node-d", 2);
    status.revision = ++revision;
    status.writer = *observed == '\0' ? model::Writer::Scheduler : model::Writer::Agent;
    status.observed_time = observed;
    status.says_dra = true;
    for (int i = 0; i < 2; ++i) {
      status.devices[static_cast<std::size_t>(i)].uuid = "GPU-d-" + std::to_string(i);
    }
    return status;
  }
  void statusDeleted(const model::GpuNodeStatus& status) {
    engine.apply({kapi::kGpuNodeStatus, {"", status.node.text}, {}, {}, ++revision, shared(status)}, now);
  }
  /// A claim that others allocated GPU `i` for this pod.
  model::ResourceClaim claimed(int i, const PodBuilder& pod) {
    model::ResourceClaim claim;
    claim.key = {"default", "c"};
    claim.uid = model::Uid{"uid-c-of-" + pod.value().key.name};
    claim.revision = ++revision;
    claim.allocated = true;
    claim.results = {{"r", {"gpu.nvidia.com", "node-d", "gpu-" + std::to_string(i)}}};
    claim.reserved_for = {pod.value().uid};
    return claim;
  }
  void claimComes(const model::ResourceClaim& claim) {
    engine.apply({kapi::kResourceClaim, claim.key, {}, shared(claim), claim.revision}, now);
  }
  void claimGoes(const model::ResourceClaim& claim) {
    engine.apply({kapi::kResourceClaim, claim.key, claim.uid, {}, ++revision}, now);
  }
  void passes(Duration by) {
    now += by;
    engine.tick(now);
  }
  void sliceGoes(const std::string& node) {
    engine.apply({kapi::kResourceSlice, {"", "slice-" + node}, {}, {}, ++revision}, now);
  }
  void ruleComes(const std::string& pool) {
    model::DeviceTaintRule rule;
    rule.key = {"", "rule"};
    rule.revision = ++revision;
    rule.pool = pool;
    rule.taint = {"fan", "", "NoSchedule"};
    engine.apply({kapi::kDeviceTaintRule, rule.key, {}, shared(rule), rule.revision}, now);
  }
  void ruleGoes() { engine.apply({kapi::kDeviceTaintRule, {"", "rule"}, {}, {}, ++revision}, now); }
  [[nodiscard]] const sched::NodeState& node(const model::NodeName& name = kDraNode) const {
    return *engine.ledger().find(name);
  }
  [[nodiscard]] model::Health health(int id) const { return node().device(id)->facts.health; }

  std::uint64_t revision = 10;
};

}  // namespace gs::engine
