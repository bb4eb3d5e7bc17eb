#include "noderim/cache_gpus.h"

#include <algorithm>
#include <utility>

#include "agent/status.h"

namespace gs::noderim {
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

}  // namespace

Result<std::vector<kcache::CacheGpu>> cacheGpusOf(const agent::Look& look) {
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

}  // namespace gs::noderim
