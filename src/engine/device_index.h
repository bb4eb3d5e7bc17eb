// The devices of one GpuNodeStatus by UUID, and by the pods that use them. A status may have a thousand
// devices and as many users, and everybody who holds one of them asks. The status must outlive it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/node.h"

namespace gs::engine {

class DeviceIndex {
 public:
  explicit DeviceIndex(const model::GpuNodeStatus& status);

  /// The device of this UUID, the lowest id if there are several; `likely` is looked at first. nullopt: it is
  /// not there, or `uuid` is "".
  [[nodiscard]] std::optional<int> idNow(const std::string& uuid, int likely) const;
  /// The devices that the agent sees this pod use, ascending.
  [[nodiscard]] std::vector<int> usedBy(const model::Uid& uid) const;
  /// All devices that have this UUID, ascending.
  [[nodiscard]] std::vector<int> idsOf(const std::string& uuid) const;
  /// What stands in the status.
  [[nodiscard]] const model::Device* device(int id) const;

 private:
  using Entry = std::pair<std::string_view, int>;  // a text of the status, and an id
  [[nodiscard]] static std::vector<int> find(const std::vector<Entry>& in, std::string_view text);

  const model::GpuNodeStatus* status_;
  std::vector<Entry> uuids_;  // sorted
  std::vector<Entry> users_;  // sorted
};

}  // namespace gs::engine
