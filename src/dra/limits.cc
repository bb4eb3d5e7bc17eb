#include "dra/limits.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "model/gpu_limits.h"

namespace gs::dra {

std::vector<model::LimitRequest> limitRequests(const model::Pod& pod, const Driver& driver) {
  const auto ranges = model::rangesOf(pod.gpu_limits);
  std::vector<model::LimitRequest> out;
  std::size_t requests = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    model::LimitRequest& r = out.emplace_back();
    r.container = pod.gpu_limits[i].container;
    r.resource = driver.resource;
    r.request = ranges[i].by == i ? fmt::format("limit-{}", requests++) : out[ranges[i].by].request;
    r.device_class = driver.device_class;
    r.count = pod.gpu_limits[i].count;
    r.first = ranges[i].first;
  }
  return out;
}

std::vector<model::LimitRequest> withoutSharers(const std::vector<model::LimitRequest>& requests) {
  std::vector<model::LimitRequest> out;
  std::set<std::string_view> known;
  for (const auto& r : requests) {
    if (known.insert(r.request).second) { out.push_back(r); }
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
  for (const auto& r : withoutSharers(requests)) {
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
  for (const auto& r : withoutSharers(requests)) {
    model::DeviceSubRequest way;
    way.device_class = r.device_class;
    way.count = r.count;
    out.push_back({r.request, {std::move(way)}});
  }
  return out;
}

}  // namespace gs::dra
