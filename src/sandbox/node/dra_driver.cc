#include "sandbox/node/dra_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "apiserver/handlers/api.h"
#include "base/ascii.h"
#include "kapi/decode.h"
#include "model/resources.h"
#include "sandbox/node/kubelet.h"

namespace gs::sandbox {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr const char* kDriver = "gpu.nvidia.com";
constexpr const char* kClaims = "resource.k8s.io/resourceclaims";
constexpr int kWithClaims = 34;  // 1.34: a kubelet knows claims
constexpr int kWithLimits = 36;

std::string deviceName(const model::Device& device) {
  return device.uuid.empty() ? fmt::format("gpu-{}", device.id) : inLowerCase(device.uuid);
}

Value text(const std::string& value) { return Object{{"string", value}}; }

/// The device of that name, as the node's slice has it; nullptr: none.
const Value* deviceIn(const Value& slice, std::string_view name) {
  const auto& devices = slice["spec"]["devices"].items();
  const auto it =
      std::find_if(devices.begin(), devices.end(), [&](const Value& d) { return d["name"].str() == name; });
  return it == devices.end() ? nullptr : &*it;
}

/// Containers that have such a limit and are named in the mapping, with the request that serves them.
std::vector<std::string> requestsOf(const Value& pod) {
  std::set<std::string> asking;
  for (const char* list : {"initContainers", "containers"}) {
    for (const Value& container : pod["spec"][list].items()) {
      const bool asks = !container["resources"]["limits"][model::kNvidiaGpu].isNull();
      if (asks) { asking.emplace(container["name"].str()); }
    }
  }
  std::vector<std::string> out;
  for (const Value& m : pod["status"]["extendedResourceClaimStatus"]["requestMappings"].items()) {
    const bool is_ours = m["resourceName"].str() == model::kNvidiaGpu &&
                         asking.contains(std::string{m["containerName"].str()});
    if (is_ours) { out.emplace_back(m["requestName"].str()); }
  }
  return out;
}

}  // namespace

std::string sliceOf(const kapi::SimNode& node) { return fmt::format("{}-{}", node.name.text, kDriver); }

Value draSlice(const kapi::SimNode& node, std::string_view node_uid) {
  Array devices;
  for (const auto& device : node.devices) {
    Object attributes{{"type", text("gpu")}, {"productName", text(device.model)}};
    if (!device.uuid.empty()) { attributes["uuid"] = text(device.uuid); }
    if (!device.pci_bus_id.empty()) {
      attributes["resource.kubernetes.io/pciBusID"] = text(device.pci_bus_id);
    }
    Object one{{"name", deviceName(device)},
               {"attributes", std::move(attributes)},
               {"capacity", Object{{"memory", Object{{"value", fmt::format("{}Mi", device.memory_mib)}}}}}};
    if (device.health == model::Health::Unhealthy) {
      one["taints"] = Array{Value{Object{{"key", "gpu.nvidia.com/unhealthy"}, {"effect", "NoExecute"}}}};
    }
    devices.push_back(std::move(one));
  }
  Value out = Object{{"apiVersion", "resource.k8s.io/v1"}, {"kind", "ResourceSlice"}};
  out.set("metadata", Object{{"name", sliceOf(node)},
                             {"ownerReferences", Array{Value{Object{{"apiVersion", "v1"},
                                                                    {"kind", "Node"},
                                                                    {"name", node.name.text},
                                                                    {"uid", std::string{node_uid}},
                                                                    {"controller", true}}}}}});
  out.set("spec", Object{{"driver", kDriver},
                         {"nodeName", node.name.text},
                         {"pool", Object{{"name", node.name.text}, {"resourceSliceCount", 1}}},
                         {"devices", std::move(devices)}});
  return out;
}

bool DraDriver::serves(const Value& pod) const {
  const std::string node{pod["spec"]["nodeName"].str()};
  const bool publishes = api_.store().find({kSlices, "", fmt::format("{}-{}", node, kDriver)}) != nullptr;
  return kubeletOf(node) >= kWithClaims && (publishes || !askedBy(pod).empty());
}

int DraDriver::kubeletOf(const std::string& node) const {
  const auto* there = api_.store().find({"/nodes", "", node});
  if (there == nullptr) { return 0; }
  std::string_view version = (*there->object)["status"]["nodeInfo"]["kubeletVersion"].str();
  version.remove_prefix(std::min(version.size(), std::string_view{"v1."}.size()));
  int minor = 0;
  (void)std::from_chars(version.data(), version.data() + version.size(), minor);
  return minor;
}

std::vector<DraDriver::Asked> DraDriver::askedBy(const Value& pod) const {
  std::vector<Asked> out;
  const int kubelet = kubeletOf(std::string{pod["spec"]["nodeName"].str()});
  if (auto requests = requestsOf(pod); kubelet >= kWithLimits && !requests.empty()) {
    const auto name = pod["status"]["extendedResourceClaimStatus"]["resourceClaimName"].str();
    out.push_back({std::string{name}, std::move(requests)});
  }
  if (kubelet < kWithClaims) { return out; }
  for (const Value& one : pod["spec"]["resourceClaims"].items()) {
    std::string name{one["resourceClaimName"].str()};
    for (const Value& made : pod["status"]["resourceClaimStatuses"].items()) {
      if (name.empty() && made["name"].str() == one["name"].str()) { name = made["resourceClaimName"].str(); }
    }
    out.push_back({std::move(name), {}});
  }
  return out;
}

/// nullopt: a claim is not there, not allocated, not the pod's, or names what is not here.
std::optional<DraDriver::Devices> DraDriver::devicesFor(const Value& pod) const {
  Devices devices;
  for (const Asked& asked : askedBy(pod)) {
    if (!add(pod, asked, devices)) { return std::nullopt; }
  }
  return devices;
}

bool DraDriver::add(const Value& pod, const Asked& asked, Devices& devices) const {
  const std::string ns{pod["metadata"]["namespace"].str()};
  const std::string node{pod["spec"]["nodeName"].str()};
  const auto* claim_there = api_.store().find({kClaims, ns, asked.claim});
  const auto* slice = api_.store().find({kSlices, "", fmt::format("{}-{}", node, kDriver)});
  if (claim_there == nullptr || slice == nullptr) { return false; }
  const auto claim = kapi::decodeResourceClaim(*claim_there->object);
  const model::Uid uid{pod["metadata"]["uid"].str()};
  if (!claim.allocated || !claim.isReservedFor(uid)) { return false; }
  for (const auto& result : claim.results) {
    const auto& requests = asked.requests;
    const bool is_wanted =
        requests.empty() || std::find(requests.begin(), requests.end(), result.request) != requests.end();
    if (!is_wanted) { continue; }
    const Value* device = deviceIn(*slice->object, result.device.device);
    if (result.device.driver != kDriver || result.device.pool != node || device == nullptr) { return false; }
    devices.emplace((*device)["attributes"]["uuid"]["string"].str(), claim.uid);
  }
  return true;
}

bool DraDriver::isFree(const std::string& node, const Devices& devices) const {
  for (const auto& running : kubelet_.running(node)) {
    const std::string all = "," + running.devices + ",";
    const auto known = prepared_.find(running.uid);
    for (const auto& device : devices) {
      const bool is_by_it = known != prepared_.end() && known->second.contains(device.first) &&
                            known->second.at(device.first) == device.second;
      if (!is_by_it && all.find("," + device.first + ",") != std::string::npos) { return false; }
    }
  }
  return true;
}

std::optional<std::vector<std::string>> DraDriver::prepare(const Value& pod) {
  const std::string node{pod["spec"]["nodeName"].str()};
  const auto devices = devicesFor(pod);
  if (!devices) { return std::nullopt; }
  std::vector<std::string> uuids;
  for (const auto& [uuid, claim] : *devices) { uuids.push_back(uuid); }
  if (uuids.empty()) { return uuids; }
  const auto away = away_.find(node);
  if (away != away_.end() && away->second) { return std::nullopt; }
  if (!isFree(node, *devices)) {
    ++in_use_;
    return std::nullopt;
  }
  prepared_[std::string{pod["metadata"]["uid"].str()}] = *devices;
  return uuids;
}

}  // namespace gs::sandbox
