#include "mcv/gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace gs::mcv {
namespace {

/// Ids by product and driver.
std::map<std::pair<std::string, std::string>, std::vector<int>> groupsOf(
    const std::vector<kcache::CacheGpu>& gpus) {
  std::map<std::pair<std::string, std::string>, std::vector<int>> out;
  for (const kcache::CacheGpu& gpu : gpus) { out[{gpu.product, gpu.driver_version}].push_back(gpu.id); }
  for (auto& [name, ids] : out) { std::sort(ids.begin(), ids.end()); }
  return out;
}

}  // namespace

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
