#include "engine/device_index.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace gs::engine {
namespace {

/// Some without a UUID, some with another's, and users that have several.
model::GpuNodeStatus drawStatus(Rng& rng) {
  model::GpuNodeStatus s;
  for (int id = 0; s.devices.size() < rng.below(12); id += rng.chance(20) ? 2 : 1) {
    model::Device d;
    d.id = id;
    if (rng.chance(80)) { d.uuid = "GPU-" + std::to_string(rng.below(10)); }
    for (std::uint64_t n = rng.below(3); n > 0; --n) {
      d.in_use_by.emplace_back("p" + std::to_string(rng.below(4)));
    }
    std::sort(d.in_use_by.begin(), d.in_use_by.end());
    d.in_use_by.erase(std::unique(d.in_use_by.begin(), d.in_use_by.end()), d.in_use_by.end());
    s.devices.push_back(std::move(d));
  }
  return s;
}

RC_GTEST_PROP(DeviceIndexProperty, FindsWhatALookAtEachDeviceFinds, (std::uint64_t seed)) {
  Rng rng{seed};
  const model::GpuNodeStatus status = drawStatus(rng);
  const DeviceIndex index{status};
  for (int n = 0; n < 12; ++n) {
    const std::string uuid = n < 10 ? "GPU-" + std::to_string(n) : "";
    std::vector<int> ids;
    for (const auto& d : status.devices) {
      if (d.uuid == uuid && !uuid.empty()) { ids.push_back(d.id); }
    }
    RC_ASSERT(index.idsOf(uuid) == ids);
    const int likely = static_cast<int>(rng.below(14));
    const bool is_likely = std::find(ids.begin(), ids.end(), likely) != ids.end();
    RC_ASSERT(index.idNow(uuid, likely) ==
              (ids.empty() ? std::nullopt : std::optional{is_likely ? likely : ids.front()}));
  }
  for (int n = 0; n < 5; ++n) {
    const model::Uid uid{"p" + std::to_string(n)};
    std::vector<int> used;
    for (const auto& d : status.devices) {
      if (std::find(d.in_use_by.begin(), d.in_use_by.end(), uid) != d.in_use_by.end()) {
        used.push_back(d.id);
      }
    }
    RC_ASSERT(index.usedBy(uid) == used);
  }
}

}  // namespace
}  // namespace gs::engine
