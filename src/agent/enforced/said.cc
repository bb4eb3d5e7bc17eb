#include "agent/enforced/said.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "enforce/holder.h"
#include "model/annotations.h"

namespace gs::agent {
namespace {

constexpr std::size_t kMostNamedDevices = model::kMaxDeviceId + 1;  // of one pod

std::string mistakeIn(const std::vector<model::DeviceId>& devices) {
  if (devices.size() > kMostNamedDevices) {
    return fmt::format("annotation {} names {} GPUs, more than {}", model::kAllocatedKey, devices.size(),
                       kMostNamedDevices);
  }
  const auto part = std::find_if(devices.begin(), devices.end(), [](auto id) { return !id.isWhole(); });
  if (part == devices.end()) { return ""; }
  return fmt::format("annotation {} names the partition {}, and there are no leases of partitions",
                     model::kAllocatedKey, model::print(*part));
}

}  // namespace

std::optional<Said> saidBy(const model::Pod& pod, const model::NodeName& node) {
  const std::string* allocated = pod.annotation(model::kAllocatedKey);
  const std::string* reservation = pod.annotation(model::kReservationKey);
  if (allocated == nullptr && reservation == nullptr) { return std::nullopt; }
  Said out;
  if (reservation != nullptr) { out.reservation = *reservation; }
  if (allocated == nullptr) { return out; }
  out.allocated = *allocated;
  auto devices = enforce::devicesSaid(*allocated, node.text);
  if (devices) {
    out.mistake = mistakeIn(*devices);
    out.devices = *std::move(devices);
  } else {
    out.mistake = fmt::format("annotation {}: {}", model::kAllocatedKey, devices.error().message);
  }
  if (!out.mistake.empty()) { out.devices.clear(); }
  return out;
}

}  // namespace gs::agent
