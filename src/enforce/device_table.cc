#include "enforce/device_table.h"

#include <algorithm>
#include <charconv>

namespace gs::enforce {
namespace {

std::optional<int> idIn(std::string_view name) {
  constexpr std::size_t kMostDigits = 4;
  if (name.empty() || name.size() > kMostDigits || name.front() == '-') { return std::nullopt; }
  int out = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), out);
  const bool is_number = error == std::errc{} && end == name.data() + name.size();
  return is_number ? std::optional{out} : std::nullopt;
}

}  // namespace

DeviceTable::DeviceTable(const NodeRecord& record) : record_{record} {
  for (const NodeDevice& device : record.devices) {
    by_id_.emplace(device.id, &device);
    if (!device.uuid.empty()) { by_uuid_.emplace(device.uuid, &device); }
  }
  for (const NodeDevice& device : record.devices) {
    if (device.id.isWhole() && isSplit(device.id.gpu)) { continue; }  // its node is its partitions'
    const auto own = ownNode(device);
    const auto render = renderNode(device);
    if (own) { by_node_[*own].push_back(&device); }
    if (render && render != own) { by_node_[*render].push_back(&device); }
  }
}

const NodeDevice* DeviceTable::byId(model::DeviceId id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : it->second;
}

const NodeDevice* DeviceTable::byName(std::string_view name) const {
  if (const auto it = by_uuid_.find(name); it != by_uuid_.end()) { return it->second; }
  const auto id = idIn(name);
  return id ? byId({*id, model::DeviceId::kWhole}) : nullptr;
}

std::string DeviceTable::nameOf(model::DeviceId id) const {
  const NodeDevice* device = byId(id);
  return device == nullptr || device->uuid.empty() ? model::print(id) : device->uuid;
}

const std::vector<const NodeDevice*>& DeviceTable::byNode(GpuNode node) const {
  static const std::vector<const NodeDevice*> none;
  const auto it = by_node_.find(node);
  return it == by_node_.end() ? none : it->second;
}

bool DeviceTable::isSplit(int gpu) const {
  const auto next = by_id_.upper_bound({gpu, model::DeviceId::kWhole});
  return next != by_id_.end() && next->first.gpu == gpu;
}

std::optional<Holder> heldByOther(const NodeRecord& record, model::DeviceId id, const model::Uid& but) {
  for (auto it = record.held.lower_bound(id.parent()); it != record.held.end(); ++it) {
    if (it->first.gpu != id.gpu) { break; }
    if (overlap(it->first, id) && (it->second.empty() || it->second != but)) {
      return Holder{it->first, it->second};
    }
  }
  return std::nullopt;
}

std::string listed(const std::vector<model::DeviceId>& ids) {
  if (ids.empty()) { return "no GPU"; }
  std::string out;
  for (const model::DeviceId id : ids) {
    if (!out.empty()) { out += ','; }
    out += model::print(id);
  }
  return out;
}

}  // namespace gs::enforce
