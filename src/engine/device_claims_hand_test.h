// What tests of claims for devices share: a node of four GPUs of a DRA driver, and a class of these.
#pragma once

#include "engine/engine_hand_test.h"

namespace gs::engine {

inline const model::NodeName kNode{"node-d"};

inline model::DeviceSubRequest way(std::int64_t count, std::string selector = "", std::string name = "") {
  model::DeviceSubRequest out;
  out.name = std::move(name);
  out.device_class = "gpu";
  out.count = count;
  if (!selector.empty()) { out.selectors = {std::move(selector)}; }
  return out;
}
inline model::DeviceSubRequest all() {
  model::DeviceSubRequest out = way(0);
  out.all = true;
  return out;
}

/// A node of four GPUs of a DRA driver, and a class of these.
class DeviceClaimsTest : public EngineTest {
 protected:
  DeviceClaimsTest() {
    auto node = testing::makeNode("node-d");
    node.kubelet = "v1.37.2";
    engine.apply({kapi::kNode, {"", "node-d"}, {}, shared(node), 1}, now);
    sliceComes("80");
    classComes();
  }
  void sliceComes(const std::string& cuda) {
    model::ResourceSlice s;
    s.key = {"", "slice-d"};
    s.uid = model::Uid{"slice-d"};
    s.revision = ++revision;
    s.driver = "gpu.nvidia.com";
    s.pool = "node-d";
    s.generation = static_cast<std::int64_t>(revision);
    s.slices = 1;
    s.node = kNode;
    for (int i = 0; i < 4; ++i) {
      model::SliceDevice& d = s.devices.emplace_back();
      d.name = "gpu-" + std::to_string(i);
      d.attributes[{"gpu.nvidia.com", "type"}] = std::string{"gpu"};
      d.attributes[{"gpu.nvidia.com", "half"}] = std::int64_t{i / 2};
      d.attributes[{"gpu.nvidia.com", "cuda"}] = cuda;
    }
    engine.apply({kapi::kResourceSlice, s.key, {}, shared(s), s.revision}, now);
  }
  void classComes(const std::string& selector = "device.driver == 'gpu.nvidia.com'") {
    model::DeviceClass c;
    c.key = {"", "gpu"};
    c.revision = ++revision;
    c.selectors = {selector};
    c.config = {{true, {}, R"({"opaque":1})"}};
    engine.apply({kapi::kDeviceClass, c.key, {}, shared(c), c.revision}, now);
  }
  model::ResourceClaim claim(const std::string& name, std::vector<model::DevicesRequest> requests) {
    model::ResourceClaim c;
    c.key = {"default", name};
    c.uid = model::Uid{"uid-" + name};
    c.revision = ++revision;
    c.requests = std::move(requests);
    return c;
  }
  void claimComes(model::ResourceClaim c) {
    c.revision = ++revision;
    engine.apply({kapi::kResourceClaim, c.key, {}, shared(c), c.revision}, now);
  }
  sched::Objects asked(const PodBuilder& pod) { return engine.deviceClaims().asked(pod.value()); }
  /// "kind: text"
  std::string blocked(const PodBuilder& pod) {
    const auto objects = asked(pod);
    EXPECT_EQ(objects.selection, nullptr);
    return objects.no_selection.kind + ": " + objects.no_selection.text;
  }
  /// `joinable`: what the pod "other" has.
  std::string picked(const PodBuilder& pod, const std::vector<int>& free,
                     const std::vector<int>& joinable = {}) {
    const auto selection = asked(pod).selection;
    if (selection == nullptr) { return "none"; }
    std::vector<sched::DeviceSelection::Joinable> shared;
    for (const int id : joinable) { shared.push_back({id, {model::Uid{"other"}}}); }
    const auto out = selection->pick(kNode, free, shared);
    EXPECT_GT(out.steps, 0U);
    if (out.ids.empty()) {
      return out.lack + (out.need > 0 ? " " + std::to_string(out.have) + "/" + std::to_string(out.need) : "");
    }
    return model::printIds(out.ids);
  }
  bool touched(const PodBuilder& pod) { return engine.takeTouched().contains(pod.value().uid); }

  model::Revision revision = 10;
};

}  // namespace gs::engine
