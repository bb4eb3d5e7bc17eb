// The objects that World tests create, as a user would write them.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"

namespace gs::test {

inline const std::string kLeases = "/apis/coordination.k8s.io/v1/namespaces/default/leases/";

[[nodiscard]] inline json::Value claim(const std::string& name, int count,
                                       const json::Object& more_devices = {},
                                       const std::string& ns = "default") {
  json::Object devices{{"count", count}};
  for (const auto& [key, value] : more_devices) { devices[key] = value; }
  return json::Object{{"apiVersion", "gpu.scheduling/v1"},
                      {"kind", "GpuClaim"},
                      {"metadata", json::Object{{"name", name}, {"namespace", ns}}},
                      {"spec", json::Object{{"devices", std::move(devices)}}}};
}

/// `claim` "" : an ordinary pod; `gpus` > 0: limits nvidia.com/gpu.
[[nodiscard]] inline json::Value pod(const std::string& name, const std::string& claim, int gpus = 0,
                                     const std::string& ns = "default") {
  json::Object meta{{"name", name}, {"namespace", ns}};
  if (!claim.empty()) { meta["annotations"] = json::Object{{"gpu.scheduling/claim", claim}}; }
  json::Object container{{"name", "main"}, {"image", "cuda"}};
  if (gpus > 0) {
    container["resources"] = json::Object{{"limits", json::Object{{"nvidia.com/gpu", std::to_string(gpus)}}}};
  }
  return json::Object{{"apiVersion", "v1"},
                      {"kind", "Pod"},
                      {"metadata", std::move(meta)},
                      {"spec", json::Object{{"schedulerName", "gpu-scheduler"},
                                            {"restartPolicy", "Never"},
                                            {"containers", json::Array{json::Value{std::move(container)}}}}}};
}

/// Whole GPUs of NVIDIA's DRA driver.
[[nodiscard]] inline json::Value gpuClass() {
  const json::Object cel{
      {"expression",
       "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'"}};
  return json::Object{
      {"apiVersion", "resource.k8s.io/v1"},
      {"kind", "DeviceClass"},
      {"metadata", json::Object{{"name", "gpu.nvidia.com"}}},
      {"spec", json::Object{{"selectors", json::Array{json::Value{json::Object{{"cel", cel}}}}}}}};
}
/// spec.devices that ask for so many of these; `selector` "": any.
[[nodiscard]] inline json::Value gpuDevices(std::int64_t count, const std::string& selector = "") {
  json::Object exactly{
      {"deviceClassName", "gpu.nvidia.com"}, {"allocationMode", "ExactCount"}, {"count", count}};
  if (!selector.empty()) {
    const json::Object cel{{"expression", selector}};
    exactly["selectors"] = json::Array{json::Value{json::Object{{"cel", cel}}}};
  }
  const json::Object request{{"name", "gpus"}, {"exactly", std::move(exactly)}};
  return json::Object{{"devices", json::Object{{"requests", json::Array{json::Value{request}}}}}};
}
/// That ask for all of a node.
[[nodiscard]] inline json::Value allGpuDevices() {
  const json::Object exactly{{"deviceClassName", "gpu.nvidia.com"}, {"allocationMode", "All"}};
  const json::Object request{{"name", "gpus"}, {"exactly", exactly}};
  return json::Object{{"devices", json::Object{{"requests", json::Array{json::Value{request}}}}}};
}
[[nodiscard]] inline json::Value resourceClaim(const std::string& name, json::Value spec) {
  return json::Object{{"apiVersion", "resource.k8s.io/v1"},
                      {"kind", "ResourceClaim"},
                      {"metadata", json::Object{{"name", name}, {"namespace", "default"}}},
                      {"spec", std::move(spec)}};
}
[[nodiscard]] inline json::Value claimTemplate(const std::string& name, json::Value spec) {
  return json::Object{{"apiVersion", "resource.k8s.io/v1"},
                      {"kind", "ResourceClaimTemplate"},
                      {"metadata", json::Object{{"name", name}, {"namespace", "default"}}},
                      {"spec", json::Object{{"spec", std::move(spec)}}}};
}
/// Adds claims to a pod, which its container uses. `by`: resourceClaimName or resourceClaimTemplateName.
[[nodiscard]] inline json::Value withClaims(json::Value pod, const char* by,
                                            const std::vector<std::string>& claims) {
  json::Array entries;
  json::Array used;
  for (const auto& name : claims) {
    const std::string entry = "c" + std::to_string(entries.size());
    entries.push_back(json::Object{{"name", entry}, {by, name}});
    used.push_back(json::Object{{"name", entry}});
  }
  json::Array containers = pod["spec"]["containers"].items();
  containers.front().set("resources", json::Object{{"claims", std::move(used)}});
  pod.child("spec").set("containers", std::move(containers));
  pod.child("spec").set("resourceClaims", std::move(entries));
  return pod;
}

/// The pod of an ordinal, with a map.
[[nodiscard]] inline json::Value mappedPod(const std::string& name, const std::string& map,
                                           const std::string& ns = "default") {
  json::Value out = pod(name, "", 0, ns);
  out.child("metadata").set("annotations", json::Object{{"gpu-scheduling-map", map}});
  return out;
}

/// A Node that no agent speaks of.
[[nodiscard]] inline json::Value bareNode(const std::string& name) {
  json::Object amounts{{"cpu", "64"}, {"memory", "512Gi"}, {"pods", "110"}};
  return json::Object{{"apiVersion", "v1"},
                      {"kind", "Node"},
                      {"metadata", json::Object{{"name", name}}},
                      {"status", json::Object{{"capacity", amounts},
                                              {"allocatable", amounts},
                                              {"conditions", json::Array{json::Value{json::Object{
                                                                 {"type", "Ready"}, {"status", "True"}}}}}}}};
}

/// A Node of gpu-manager: `devices` GPUs with so much vcuda-memory each.
[[nodiscard]] inline json::Value gpuManagerNode(const std::string& name, int devices, int memory_each) {
  json::Object amounts{{"cpu", "64"},
                       {"memory", "512Gi"},
                       {"pods", "110"},
                       {"tencent.com/vcuda-core", std::to_string(100 * devices)},
                       {"tencent.com/vcuda-memory", std::to_string(memory_each * devices)}};
  return json::Object{{"apiVersion", "v1"},
                      {"kind", "Node"},
                      {"metadata", json::Object{{"name", name}}},
                      {"status", json::Object{{"capacity", amounts},
                                              {"allocatable", amounts},
                                              {"conditions", json::Array{json::Value{json::Object{
                                                                 {"type", "Ready"}, {"status", "True"}}}}}}}};
}

/// Limits of one container: vcuda-core, vcuda-memory.
struct Vcuda {
  int cores = 0;
  int memory = 0;
};

/// A pod of another scheduler that asks for shares of GPUs.
[[nodiscard]] inline json::Value vcudaPod(const std::string& name, const std::vector<Vcuda>& containers,
                                          const std::string& ns = "default") {
  json::Value out = pod(name, "", 0, ns);
  json::Array list;
  for (const Vcuda& limits : containers) {
    json::Object amounts{{"tencent.com/vcuda-core", std::to_string(limits.cores)}};
    if (limits.memory > 0) { amounts["tencent.com/vcuda-memory"] = std::to_string(limits.memory); }
    list.emplace_back(json::Object{{"name", "c" + std::to_string(list.size())},
                                   {"image", "cuda"},
                                   {"resources", json::Object{{"limits", std::move(amounts)}}}});
  }
  out.child("spec").set("schedulerName", "default-scheduler");
  out.child("spec").set("containers", std::move(list));
  return out;
}

}  // namespace gs::test
