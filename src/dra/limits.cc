#include "dra/limits.h"

#include <fmt/core.h>

#include <algorithm>

namespace gs::dra {

std::vector<model::LimitRequest> limitRequests(const model::Pod& pod, const Driver& driver) {
  using Of = model::GpuLimit::Of;
  std::vector<model::LimitRequest> out;
  std::size_t running = 0;  // devices of the sidecars and containers so far
  for (const auto& limit : pod.gpu_limits) {
    model::LimitRequest& r = out.emplace_back();
    r.container = limit.container;
    r.resource = driver.resource;
    r.request = fmt::format("limit-{}", out.size() - 1);
    r.device_class = driver.device_class;
    r.count = limit.count;
    r.first = running;
    if (limit.of != Of::Init) { running += static_cast<std::size_t>(limit.count); }
  }
  return out;
}

std::size_t devicesOf(const std::vector<model::LimitRequest>& requests) {
  std::size_t most = 0;
  for (const auto& r : requests) { most = std::max(most, r.first + static_cast<std::size_t>(r.count)); }
  return most;
}

std::vector<model::AllocatedDevice> allocation(const std::vector<model::LimitRequest>& requests,
                                               const std::vector<model::DeviceName>& devices) {
  std::vector<model::AllocatedDevice> out;
  for (const auto& r : requests) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(r.count); ++i) {
      out.push_back({r.request, devices.at(r.first + i)});
    }
  }
  return out;
}

model::MappedLimits mappingOf(const std::vector<model::LimitRequest>& requests, const std::string& claim) {
  model::MappedLimits out;
  out.claim = claim;
  for (const auto& r : requests) { out.mappings.push_back({r.container, r.resource, r.request}); }
  std::sort(out.mappings.begin(), out.mappings.end());
  return out;
}

std::vector<model::DevicesRequest> claimRequests(const std::vector<model::LimitRequest>& requests) {
  std::vector<model::DevicesRequest> out;
  for (const auto& r : requests) {
    model::DeviceSubRequest way;
    way.device_class = r.device_class;
    way.count = r.count;
    out.push_back({r.request, {std::move(way)}});
  }
  return out;
}

}  // namespace gs::dra
