// DeviceTable: the devices of a NodeRecord, found by what containers and files call them. Pure; keeps a
// reference to the record, which must outlive it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "enforce/gpu_node.h"
#include "enforce/node_record.h"

namespace gs::enforce {

class DeviceTable {
 public:
  explicit DeviceTable(const NodeRecord& record);

  /// nullptr: the record has no such device.
  [[nodiscard]] const NodeDevice* byId(model::DeviceId id) const;
  /// As NVIDIA_VISIBLE_DEVICES and CDI devices name one: by UUID, or a whole GPU by its number. (A driver's
  /// number may be another than ours for a while; so nobody is left with a number, only with UUIDs.)
  [[nodiscard]] const NodeDevice* byName(std::string_view name) const;
  /// Its UUID, by which it is found whatever number it has later; its id, where that is not known.
  [[nodiscard]] std::string nameOf(model::DeviceId id) const;
  /// Those that are reached by that node: a GPU, or all partitions of one; empty: none of the record.
  [[nodiscard]] const std::vector<const NodeDevice*>& byNode(GpuNode node) const;
  /// It has partitions, so that it is not given as a whole.
  [[nodiscard]] bool isSplit(int gpu) const;
  [[nodiscard]] const NodeRecord& record() const { return record_; }

 private:
  const NodeRecord& record_;
  std::map<model::DeviceId, const NodeDevice*> by_id_;
  std::unordered_map<std::string_view, const NodeDevice*> by_uuid_;
  std::map<GpuNode, std::vector<const NodeDevice*>> by_node_;
};

/// Whoever has one has something of the other: they are the same, or one is a partition of the other.
[[nodiscard]] constexpr bool overlap(model::DeviceId a, model::DeviceId b) {
  return a == b || (a.gpu == b.gpu && (a.isWhole() || b.isWhole()));
}

/// A lease that holds some of a device.
struct Holder {
  model::DeviceId device;
  model::Uid pod;  // "" nobody here knows it
};
/// The first one of another pod than `but`. O(log n + partitions of the GPU).
[[nodiscard]] std::optional<Holder> heldByOther(const NodeRecord& record, model::DeviceId id,
                                                const model::Uid& but);

/// "0,3/1"; "no GPU" where there is none.
[[nodiscard]] std::string listed(const std::vector<model::DeviceId>& ids);

}  // namespace gs::enforce
