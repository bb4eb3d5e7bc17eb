#include "mcv/gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "agent/status.h"

namespace gs::mcv {
namespace {

kcache::Target targetOf(const agent::Gpu& gpu) {
  if (gpu.vendor == agent::Vendor::Amd) {
    return {"hip", gpu.compute, kcache::warpSizeOf("hip", gpu.compute)};
  }
  std::string arch = gpu.compute;  // "9.0" is "90"
  std::erase(arch, '.');
  return {"cuda", std::move(arch), kcache::warpSizeOf("cuda", "")};
}

/// Numbered by vendor, and then by their places on the bus: ids of NVIDIA's GPUs are those of their driver,
/// whoever else's there are.
std::vector<agent::Device> numbered(const agent::Hardware& hardware) {
  std::vector<agent::Device> out = agent::devicesOf(hardware);
  std::stable_sort(out.begin(), out.end(), [](const agent::Device& a, const agent::Device& b) {
    return a.gpu.vendor < b.gpu.vendor;
  });
  for (std::size_t id = 0; id < out.size(); ++id) { out[id].id = static_cast<int>(id); }
  return out;
}

/// Ids by product and driver.
std::map<std::pair<std::string, std::string>, std::vector<int>> groupsOf(
    const std::vector<kcache::CacheGpu>& gpus) {
  std::map<std::pair<std::string, std::string>, std::vector<int>> out;
  for (const kcache::CacheGpu& gpu : gpus) { out[{gpu.product, gpu.driver_version}].push_back(gpu.id); }
  for (auto& [name, ids] : out) { std::sort(ids.begin(), ids.end()); }
  return out;
}

}  // namespace

Result<std::vector<kcache::CacheGpu>> gpusOf(const agent::Look& look) {
  std::vector<kcache::CacheGpu> out;
  if (!look) {
    if (look.error().kind == agent::Fault::Kind::Absent) { return out; }
    return fail(Code::Unavailable, "the GPUs cannot be looked at: " + look.error().text);
  }
  for (const agent::Device& device : numbered(*look)) {
    const agent::Gpu& gpu = device.gpu;
    if (gpu.compute.empty()) { continue; }
    out.push_back({.id = device.id,
                   .product = gpu.model,
                   .driver_version = gpu.driver_version.empty() ? look->driver_version : gpu.driver_version,
                   .target = targetOf(gpu)});
  }
  return out;
}

std::string whyNoGpus(const agent::Look& look) {
  return look || look.error().kind != agent::Fault::Kind::Absent ? "" : look.error().text;
}

std::vector<kcache::CacheGpu> stubGpus() {
  const kcache::CacheGpu first{.id = 0,
                               .product = "STUBBED Aldebaran/MI200 [Instinct MI210]",
                               .driver_version = "6.12.10-100.fc40.x86_64",
                               .target = {"hip", "gfx90a", 64}};
  kcache::CacheGpu second = first;
  second.id = 1;
  return {first, second};
}

std::string idsText(const std::vector<int>& ids) { return fmt::format("[{}]", fmt::join(ids, " ")); }

json::Value fleetOf(const std::vector<kcache::CacheGpu>& gpus) {
  json::Array groups;
  for (const auto& [name, ids] : groupsOf(gpus)) {
    groups.emplace_back(json::Object{{"gpuType", name.first},
                                     {"driverVersion", name.second},
                                     {"ids", json::Array(ids.begin(), ids.end())}});
  }
  return json::Object{{"gpus", std::move(groups)}};
}

std::string fleetText(const std::vector<kcache::CacheGpu>& gpus) {
  if (gpus.empty()) { return "No GPUs found.\n"; }
  std::string out = "GPU Fleet:\n";
  for (const auto& [name, ids] : groupsOf(gpus)) {
    out += fmt::format("  - GPU Type: {}\n    Driver Version: {}\n    IDs: {}\n", name.first, name.second,
                       idsText(ids));
  }
  return out;
}

}  // namespace gs::mcv
