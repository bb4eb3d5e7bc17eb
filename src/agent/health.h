// What a driver reports of a GPU -> whether it may be given to a pod, and why not.
//
// Unhealthy is what no program can work on, or what may corrupt its results: never given. Unknown is what may
// work: given only when no Healthy GPU fits. Whatever is not known to be harmless counts against the GPU.
// XID errors are told once. They count until the node is booted again (the agent reads them out of the
// reason that it published, xidsIn()), or, where the driver says what is to be done about a GPU (its recovery
// action, drivers 565 and newer), until it says that nothing is.
// The groups of XIDs follow the vendor's catalogue for A100 to GB200, which xid_catalog_test.cc has row by
// row; docs/use/agent.md has the table.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "model/node.h"

namespace gs::agent {

/// What an XID error means for the GPU.
enum class XidClass : std::uint8_t {
  Lost,         // it is gone from the bus: the node has to be rebooted
  Reset,        // nothing runs on it before it was reset
  Application,  // a program's own fault
  Record,       // worth a note only
  Suspect,      // uncertain, or not in the catalogue
};
[[nodiscard]] XidClass classOf(std::uint64_t xid);

/// What the driver says is to be done about it.
enum class Recovery : std::uint8_t { None, Reset, Reboot, DrainPeers, DrainAndReset };

/// Of one GPU, as far as its driver says it.
struct Facts {
  bool lost = false;         // calls are answered "GPU is lost"
  bool needs_reset = false;  // calls are answered "reset required"
  std::optional<Recovery> recovery{};
  bool remap_failed = false;        // a memory row could not be replaced
  bool remap_pending = false;       // rows are replaced at the next reset
  bool remaps = false;              // the GPU replaces rows by itself
  std::int64_t uncorrected = 0;     // memory errors that ECC could not correct, since the driver was loaded
  bool split_into_nothing = false;  // MIG is on, and there is no partition
  bool split_unread = false;        // MIG is on, and its partitions cannot be read
  bool fabric_pending = false;      // NVSwitch fabric: not set up (yet)
  bool fabric_failed = false;       // it was set up, and that failed, or it is not well
  bool fabric_limited = false;      // it works, with less than it has
  std::set<std::uint64_t> xids{};
  std::string unreadable{};  // what could not be asked, and how it failed
};

/// Stands in the reason of each that is split and of which no partition is known: none of them is given, also
/// after a restart of the agent.
inline constexpr std::string_view kMigOn = "MIG is on";
inline constexpr const char* kMigUnsaid = "the driver no longer says that MIG splits it";

struct Verdict {
  model::Health health = model::Health::Healthy;
  std::string reason;  // "" of a Healthy one
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

/// The worst that holds.
[[nodiscard]] Verdict healthOf(const Facts& facts);
/// It answers to nobody: who counts GPUs may leave it out.
[[nodiscard]] bool isOut(const Facts& facts);
/// The XIDs that a reason of healthOf() gives; none: it speaks of something else.
[[nodiscard]] std::set<std::uint64_t> xidsIn(std::string_view reason);

}  // namespace gs::agent
