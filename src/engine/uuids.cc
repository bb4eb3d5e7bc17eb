#include "engine/uuids.h"

#include <algorithm>
#include <functional>

namespace gs::engine {
namespace {

std::uint64_t hashOf(const std::string& uuid) { return std::hash<std::string>{}(uuid); }

}  // namespace

void Uuids::mark(const std::string& uuid, const Place& place, Touched& touched) {
  twice_[uuid].insert(place);
  marked_[place.first].insert(place.second);
  touched.insert(place.first);
  changed_.insert(uuid);
}

void Uuids::unmark(const std::string& uuid, const Place& place, Touched& touched) {
  const auto it = marked_.find(place.first);
  it->second.erase(place.second);
  if (it->second.empty()) { marked_.erase(it); }
  touched.insert(place.first);
  changed_.insert(uuid);
}

void Uuids::add(const model::NodeName& node, const model::Device& device, Touched& touched) {
  const std::string& uuid = device.uuid;
  const auto index = ledger_.indexOf(node);
  if (uuid.empty() || !index) { return; }
  const auto [first, last] = once_.equal_range(hashOf(uuid));
  const auto other = std::find_if(first, last, [&](const auto& entry) {
    const sched::DeviceState* there = ledger_.at(entry.second.first).device(entry.second.second);
    return there != nullptr && there->facts.uuid == uuid;  // else another one with this hash
  });
  if (other != last) {
    mark(uuid, {ledger_.at(other->second.first).node.name, other->second.second}, touched);
    once_.erase(other);
  } else if (!twice_.contains(uuid)) {
    once_.emplace(hashOf(uuid), std::pair{*index, static_cast<std::int32_t>(device.id)});
    return;
  }
  mark(uuid, {node, device.id}, touched);
}

void Uuids::remove(const model::NodeName& node, const model::Device& device, Touched& touched) {
  const std::string& uuid = device.uuid;
  const auto index = ledger_.indexOf(node);
  if (uuid.empty() || !index) { return; }
  const auto known = twice_.find(uuid);
  if (known == twice_.end()) {
    const auto [first, last] = once_.equal_range(hashOf(uuid));
    const auto mine = std::find_if(first, last, [&](const auto& entry) {
      return entry.second == std::pair{*index, static_cast<std::int32_t>(device.id)};
    });
    if (mine != last) { once_.erase(mine); }
    return;
  }
  known->second.erase({node, device.id});
  unmark(uuid, {node, device.id}, touched);
  if (known->second.size() > 1) { return; }
  const Place left = *known->second.begin();
  unmark(uuid, left, touched);
  once_.emplace(hashOf(uuid),
                std::pair{*ledger_.indexOf(left.first), static_cast<std::int32_t>(left.second)});
  twice_.erase(known);
}

void Uuids::changed(const model::NodeName& node, const model::GpuNodeStatus* before,
                    const model::GpuNodeStatus* after) {
  static const std::vector<model::Device> kNone;
  const auto& were = before == nullptr ? kNone : before->devices;
  const auto& are = after == nullptr ? kNone : after->devices;
  const auto isIn = [](const std::vector<model::Device>& devices, const model::Device& wanted) {
    const auto it = std::lower_bound(devices.begin(), devices.end(), wanted.id,
                                     [](const model::Device& d, int id) { return d.id < id; });
    return it != devices.end() && it->id == wanted.id && it->uuid == wanted.uuid;
  };
  Touched touched;
  for (const auto& device : were) {
    if (!isIn(are, device)) { remove(node, device, touched); }
  }
  for (const auto& device : are) {
    if (!isIn(were, device)) { add(node, device, touched); }
  }
  static const std::set<int> kNoIds;
  for (const auto& name : touched) {
    const auto marked = marked_.find(name);
    ledger_.setTwice(name, marked == marked_.end() ? kNoIds : marked->second);
  }
}

}  // namespace gs::engine
