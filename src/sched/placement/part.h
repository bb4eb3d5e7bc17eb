// What a choice of devices reads of a node: what others have of each device, and the parts of a wide node.
//
// A mask has bits for kMaxDevices devices. A node with more ("wide") is looked at in parts: its lowest
// devices that may be given to the request, and those of each island. One walk over the devices finds all
// parts, and a part with too few devices costs nothing more, so a look at a node is linear in its devices and
// their links, but for the searches for a set. Each is bounded (sched/policy/best_set.h, first_set.h), and so
// is what those in the parts of one node take together (sched/policy/meter.h). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sched/ledger/node_state.h"
#include "sched/policy/meter.h"

namespace gs::sched {

/// Holders other than `self`.
[[nodiscard]] std::size_t othersOn(const DeviceState& d, const model::Uid& self);
/// May be given whole.
[[nodiscard]] bool isFree(const DeviceState& d, const model::Uid& self);

/// What others have of a device that somebody would share. Open: nothing, or they are sharers without
/// amounts and not too many, one of whom surely has it: else who joined would take a GPU that an anonymous
/// pod may use.
enum class Held : std::uint8_t { Open, Alone, InPart, Full, Unsure };
[[nodiscard]] Held heldFor(const DeviceState& d, const DeviceRequest& request, const model::Uid& self);
[[nodiscard]] bool isShareable(const DeviceState& d, const DeviceRequest& request, const model::Uid& self);

/// How many may be given at once. Anonymous pods use devices that nobody holds by id,
/// so that many fewer are free.
[[nodiscard]] std::int64_t availableFor(const NodeState& n, const DeviceRequest& r, const model::Uid& self);

/// Up to kMaxDevices devices of a node; bit i is the i-th of them. They must outlive it.
class Part {
 public:
  Part() = default;
  /// The whole devices of a node that is not wide.
  explicit Part(const NodeState& n);
  /// One more, that may be given; ignored when it is full. Ascending ids.
  void add(const DeviceState& d, bool untouched, bool agent_stale);
  /// So many of the untouched devices of the whole node are surely nobody's. As many of those here are
  /// anonymous pods' as leave no more than that.
  void leaveUntouched(std::int64_t most);

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(devices_.size()); }
  [[nodiscard]] const std::vector<const DeviceState*>& devices() const { return devices_; }
  [[nodiscard]] Mask healthy() const { return healthy_; }
  [[nodiscard]] Mask unknown() const { return unknown_; }
  [[nodiscard]] std::int64_t anonymous() const { return anonymous_; }
  [[nodiscard]] std::vector<int> ids(Mask set) const;
  /// Made when it is asked for the first time.
  [[nodiscard]] const Topology& topology(Meter* meter);

 private:
  std::vector<const DeviceState*> devices_;
  Mask healthy_ = 0;  // may be given
  Mask unknown_ = 0;  // only when nothing healthy fits
  std::int64_t untouched_ = 0;
  std::int64_t anonymous_ = 0;
  const Topology* topology_ = nullptr;
  std::optional<Topology> own_;
};

/// Of the devices of a wide node that may be given to a request. No parts when too few are available.
struct WideParts {
  std::int64_t available = 0;  // availableFor()
  Part lowest;
  std::vector<Part> islands;  // those with enough devices
};
[[nodiscard]] WideParts partsOf(const NodeState& n, const DeviceRequest& r, const model::Uid& self,
                                Meter* meter);

}  // namespace gs::sched
