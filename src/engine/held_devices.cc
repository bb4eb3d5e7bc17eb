#include "engine/held_devices.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

namespace gs::engine {
namespace {

const model::Device* deviceIn(const model::GpuNodeStatus* status, int id) {
  if (status == nullptr) { return nullptr; }
  const auto it = std::lower_bound(status->devices.begin(), status->devices.end(), id,
                                   [](const model::Device& d, int wanted) { return d.id < wanted; });
  return it == status->devices.end() || it->id != id ? nullptr : &*it;
}

/// A user, what it uses, and whether that is Unhealthy.
using Used = std::tuple<model::Uid, int, bool>;

std::set<Used> usersOf(const model::GpuNodeStatus* status) {
  std::set<Used> users;
  if (status == nullptr) { return users; }
  for (const auto& device : status->devices) {
    const bool is_unhealthy = device.health == model::Health::Unhealthy;
    for (const auto& uid : device.in_use_by) { users.emplace(uid, device.id, is_unhealthy); }
  }
  return users;
}

/// Whether every UUID that the leases name is one that the pod was told.
bool agree(const std::vector<std::string>& leased, const std::vector<std::string>& told) {
  return std::all_of(leased.begin(), leased.end(), [&](const std::string& uuid) {
    return uuid.empty() || std::find(told.begin(), told.end(), uuid) != told.end();
  });
}

}  // namespace

bool isShared(const model::GpuClaim* claim) {
  return claim != nullptr && claim->exclusivity == model::Exclusivity::Shared;
}

bool isAnother(const DeviceIndex* devices, int id, const std::string& uuid) {
  if (devices == nullptr) { return false; }
  const model::Device* device = devices->device(id);
  if (device == nullptr) { return devices->idNow(uuid, id).has_value(); }
  return !uuid.empty() && !device->uuid.empty() && device->uuid != uuid;
}

std::string uuidOf(const model::GpuNodeStatus* status, int id) {
  const model::Device* device = deviceIn(status, id);
  return device == nullptr ? std::string{} : device->uuid;
}

std::vector<int> heldNow(const std::vector<std::string>& told, const std::vector<int>& given,
                         const std::vector<std::string>& leased, const DeviceIndex& devices) {
  std::set<int> held;
  const bool told_uuids = !told.empty() && told.size() == given.size();
  for (std::size_t i = 0; told_uuids && i < told.size(); ++i) {
    held.insert(devices.idNow(told[i], given[i]).value_or(given[i]));
  }
  if (told_uuids && agree(leased, told)) { return {held.begin(), held.end()}; }
  held.insert(given.begin(), given.end());
  for (std::size_t i = 0; i < leased.size(); ++i) {
    const int likely = i < given.size() ? given[i] : 0;
    if (const auto id = devices.idNow(leased[i], likely)) { held.insert(*id); }
  }
  return {held.begin(), held.end()};
}

bool isRenumbered(const model::GpuNodeStatus* before, const model::GpuNodeStatus* after) {
  if (before == nullptr || after == nullptr) { return before != after; }
  return !std::equal(before->devices.begin(), before->devices.end(), after->devices.begin(),
                     after->devices.end(),
                     [](const auto& a, const auto& b) { return a.id == b.id && a.uuid == b.uuid; });
}

std::vector<int> changedHealth(const model::GpuNodeStatus* before, const model::GpuNodeStatus& after) {
  std::vector<int> ids;
  for (const auto& device : after.devices) {
    const model::Device* known = deviceIn(before, device.id);
    if (known != nullptr && known->health != device.health) { ids.push_back(device.id); }
  }
  return ids;
}

std::vector<int> changedUse(const model::GpuNodeStatus* before, const model::GpuNodeStatus& after) {
  std::vector<int> ids;
  for (const auto& device : after.devices) {
    const model::Device* known = deviceIn(before, device.id);
    const bool same = known != nullptr ? known->in_use_by == device.in_use_by : device.in_use_by.empty();
    if (!same) { ids.push_back(device.id); }
  }
  return ids;
}

std::set<model::Uid> changedUsers(const model::GpuNodeStatus* before, const model::GpuNodeStatus* after) {
  const auto were = usersOf(before);
  const auto are = usersOf(after);
  std::vector<Used> changed;
  std::set_symmetric_difference(were.begin(), were.end(), are.begin(), are.end(),
                                std::back_inserter(changed));
  std::set<model::Uid> uids;
  for (const auto& [uid, id, is_unhealthy] : changed) { uids.insert(uid); }
  return uids;
}

}  // namespace gs::engine
