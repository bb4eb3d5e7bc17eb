// The GPUs of the node as they are to be published, from what the driver says at each look.
//
// A GPU that was seen stays listed until the machine is booted, over restarts of the process: one that the
// driver lists no more is Unhealthy. One whose place on the bus another one has is forgotten, and so are
// those that went once it is safe to number without them (countAnew()). Where containers are told numbers,
// a GPU is Unhealthy while its number may reach another one (numbers.h); UUIDs mean what they mean.
// While the driver does not answer, the GPUs that were known, from before a restart too, stay, Unknown (or
// Unhealthy, if they were). Errors (XIDs) of before a restart count on within one boot of the machine, and so
// does what was known of a GPU that cannot be read now. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/hardware.h"
#include "agent/status.h"
#include "kapi/call.h"

namespace gs::agent {

class KnownGpus {
 public:
  /// `told_uuids`: containers are told their GPUs by UUID.
  explicit KnownGpus(bool told_uuids = false) : told_uuids_{told_uuids} {}

  /// A look came to its end, or is overdue.
  void looked(const LookPtr& look);
  /// What stood in the API before the process wrote anything. `is_this_boot`: of the machine, as far as is
  /// known to be the same.
  void published(const NodeView& view, bool is_this_boot);

  /// Nullptr: there was none.
  [[nodiscard]] const LookPtr& lastLook() const { return last_look_; }
  /// As they are published, without users.
  [[nodiscard]] std::vector<Device> shown() const;
  /// All that are known, in the order of their ids.
  [[nodiscard]] const std::vector<Device>& devices() const { return devices_; }
  /// Counts what devices() may say otherwise.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  /// The lowest of those that the driver lists no more; nullptr: there are none.
  [[nodiscard]] const Device* vanished() const;
  /// Those are forgotten, and the others numbered without them.
  void countAnew();
  [[nodiscard]] const std::string& driverVersion() const { return driver_version_; }
  /// How many there are, by the name of their health.
  [[nodiscard]] std::map<std::string, double> byHealth() const;
  /// A line for each whose health changed.
  void sayHealth(kapi::Effects& out);

 private:
  /// What the last look that saw some says, and those that were known before.
  void keep();
  /// devices_ of known_.
  void arrange();
  /// Those that are missing now, as they were: of the looks before, and of before a restart.
  [[nodiscard]] std::vector<Gpu> missingIn(const std::vector<Gpu>& listed) const;
  /// What is not said of those that are listed is as it was; who cannot be named is one that is missing.
  void recognize(std::vector<Gpu>& listed) const;
  /// Errors of before a restart count on.
  void recall(Gpu& gpu);
  [[nodiscard]] std::pair<model::Health, const std::string*> healthOf(const Device& device) const;

  bool told_uuids_;
  LookPtr last_look_;
  LookPtr last_seen_;            // the last look that saw some
  std::vector<Gpu> known_;       // of that look, with those that were there before
  std::vector<Gpu> remembered_;  // what was published before a restart, within this boot
  std::map<std::string, std::set<std::uint64_t>> xids_;  // of before the restart, by UUID
  std::vector<Device> devices_;
  std::uint64_t changes_ = 0;
  std::string driver_version_;
  std::map<std::string, std::pair<model::Health, std::string>> said_;  // by name, as it was logged
};

}  // namespace gs::agent
