// Devices that are given to nobody, because something stands under the name of their lease that cannot be
// joined: not ours, unreadable, or of another version.
//
// Who finds such a lease says so (block()). The device counts as held in the ledger, by nobody, until the
// lease goes, or comes to name a pod, which holds the device then, or whoever looked finds that it is gone
// (unblock() each time). A second block() of the same device does nothing. The ledger must outlive it. One
// thread.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "sched/ledger/ledger.h"

namespace gs::engine {

class DeviceBlocks {
 public:
  using Device = std::pair<model::NodeName, int>;

  explicit DeviceBlocks(sched::Ledger& ledger) : ledger_{ledger} {}

  void block(const model::NodeName& node, int gpu);
  void unblock(const Device& device);
  void unblockAll();
  [[nodiscard]] const std::set<Device>& blocked() const { return blocked_; }
  /// Those that were blocked since this was last asked.
  [[nodiscard]] std::vector<Device> takeNew() { return std::exchange(new_, {}); }

 private:
  sched::Ledger& ledger_;
  std::set<Device> blocked_;
  std::vector<Device> new_;
};

}  // namespace gs::engine
