// Which devices of a node serve a pod that says more of them than a number: one with ResourceClaims, whose
// selectors and constraints somebody else reads (engine/device_claims.h). Pods whose claims ask for the same
// have one selection, so that they are of one class.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/ids.h"

namespace gs::sched {

class DeviceSelection {
 public:
  DeviceSelection() = default;
  DeviceSelection(const DeviceSelection&) = delete;
  DeviceSelection& operator=(const DeviceSelection&) = delete;
  virtual ~DeviceSelection() = default;

  struct Picked {
    std::vector<int> ids;  // ascending; empty: they cannot be served
    /// Then: what they lack, in words that are the same for all nodes, without a comma; and, where it is a
    /// number, how many are needed and free (Misfit). "request a of claim c needs 2 devices of class gpu", 2,
    /// 1.
    std::string lack{};
    std::int64_t need = 0;
    std::int64_t have = 0;
    std::uint64_t steps = 0;  // that it took (sched/policy/meter.h)
  };
  /// A device that other pods have, Shared.
  struct Joinable {
    int id = 0;
    std::vector<model::Uid> holders;
  };
  /// Out of the devices `free` of that node, ascending; or of `joinable`, ascending by id, where it is known
  /// that their holders share them with this pod. A function of its arguments and of what is published there;
  /// when that changes, Ledger::publishedAnew() is told at once. Whether somebody shares a device is asked
  /// again before the Binding.
  [[nodiscard]] virtual Picked pick(const model::NodeName& node, const std::vector<int>& free,
                                    const std::vector<Joinable>& joinable) const = 0;
  /// No node gives it more; 0: that depends on the node.
  [[nodiscard]] virtual std::int64_t most() const = 0;
};

}  // namespace gs::sched
