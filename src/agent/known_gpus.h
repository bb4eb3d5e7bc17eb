// The GPUs of the node as they are to be published, from what the driver says at each look.
//
// A GPU that was seen stays listed for the life of the process: one that the driver lists no more is
// Unhealthy, and so are those above it, since CUDA counts without it. One whose place on the bus another one
// has is forgotten. While the driver does not answer, the GPUs that were known, from before a restart too,
// stay, Unknown (or Unhealthy, if they were). Errors (XIDs) of before a restart count on within one boot of
// the machine. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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
  /// A look came to its end, or is overdue.
  void looked(const LookPtr& look);
  /// What stood in the API before the process wrote anything. `is_this_boot`: of the machine, as far as is
  /// known to be the same.
  void published(const NodeView& view, bool is_this_boot);

  /// Nullptr: there was none.
  [[nodiscard]] const LookPtr& lastLook() const { return last_look_; }
  /// As they are published, without users.
  [[nodiscard]] std::vector<Device> shown() const;
  /// As the driver counts them: without those that it lists no more.
  [[nodiscard]] const std::vector<Device>& counted() const { return vanished_.empty() ? devices_ : counted_; }
  [[nodiscard]] const std::string& driverVersion() const { return driver_version_; }
  /// How many there are, by the name of their health.
  [[nodiscard]] std::map<std::string, double> byHealth() const;
  /// A line for each whose health changed.
  void sayHealth(kapi::Effects& out);

 private:
  void keep(const Hardware& hardware);
  /// devices_ of known_.
  void arrange();
  /// Errors of before a restart count on.
  void recall(Gpu& gpu);
  [[nodiscard]] std::pair<model::Health, const std::string*> healthOf(const Device& device) const;

  LookPtr last_look_;
  std::optional<Hardware> known_;   // of the last look that saw some, with those that were there before
  std::set<std::string> vanished_;  // UUIDs of the latter
  std::map<std::string, std::set<std::uint64_t>> xids_;  // of before the restart, by UUID
  std::vector<Device> devices_;
  std::vector<Device> counted_;  // while some are vanished
  std::string driver_version_;
  std::map<std::string, std::pair<model::Health, std::string>> said_;  // by name, as it was logged
};

}  // namespace gs::agent
