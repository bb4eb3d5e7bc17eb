#include "engine/device_index.h"

#include <algorithm>

#include "base/mutant.h"

namespace gs::engine {

DeviceIndex::DeviceIndex(const model::GpuNodeStatus& status) : status_{&status} {
  uuids_.reserve(status.devices.size());
  for (const auto& device : status.devices) {
    if (!device.uuid.empty()) { uuids_.emplace_back(device.uuid, device.id); }
    for (const auto& uid : device.in_use_by) { users_.emplace_back(uid.text, device.id); }
  }
  std::sort(uuids_.begin(), uuids_.end());
  std::sort(users_.begin(), users_.end());
}

std::vector<int> DeviceIndex::find(const std::vector<Entry>& in, std::string_view text) {
  std::vector<int> ids;
  const Entry first{text, -1};
  for (auto it = std::lower_bound(in.begin(), in.end(), first); it != in.end() && it->first == text; ++it) {
    ids.push_back(it->second);
  }
  return ids;
}

const model::Device* DeviceIndex::device(int id) const {
  const auto& devices = status_->devices;
  const auto it = std::lower_bound(devices.begin(), devices.end(), id,
                                   [](const model::Device& d, int wanted) { return d.id < wanted; });
  return it == devices.end() || it->id != id ? nullptr : &*it;
}

std::optional<int> DeviceIndex::idNow(const std::string& uuid, int likely) const {
  if (uuid.empty() || GS_MUTANT(IgnoresUuids)) { return std::nullopt; }
  const model::Device* known = device(likely);
  if (known != nullptr && known->uuid == uuid) { return likely; }
  const Entry first{uuid, -1};
  const auto it = std::lower_bound(uuids_.begin(), uuids_.end(), first);
  return it == uuids_.end() || it->first != uuid ? std::nullopt : std::optional{it->second};
}

std::vector<int> DeviceIndex::usedBy(const model::Uid& uid) const { return find(users_, uid.text); }
std::vector<int> DeviceIndex::idsOf(const std::string& uuid) const { return find(uuids_, uuid); }

}  // namespace gs::engine
