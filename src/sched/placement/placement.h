// Which devices of one node a request gets (R32). Pure over the node's state; the policies are in
// sched/policy/.
//
// What may be given: devices that the status lists, not Unhealthy, not cut up by MIG, and not held
// (Exclusive) or held only by sharers without amounts, fewer than the request allows (Shared). Devices of
// Unknown health (all, when the agent is stale) are looked at only when the Healthy ones do not suffice or
// allow no set.
// Anonymous devices (NodeState::anonymous) are some of the free ones: that many fewer may be given, whichever
// they are. Shared requests may still join devices that have sharers, which anonymous pods cannot be on.
//
// Who names its devices (DeviceRequest::exact) gets these or none, Healthy or Unknown, whatever the others
// are; where no status lists devices, they are there. The score says nothing then.
//
// topology: Required refuses; Preferred and absent are scored, also a minimum bandwidth; Ignore is as if
// nothing were known of islands and bandwidth, but for the policy spread, which is made of them.
// Score, compared across nodes, the first that differs: all Healthy; minimum bandwidth reached; how many
// listed ids (preferIds) or islands (spread); layout (consecutive in one island, one island, neither); worst
// pair; mean pair. The last three not for spread. One device: only the first and whether it is listed.
// Equal within a node: lowest ids; highest where a DRA driver gives the devices (NodeState::topology).
//
// Bounded time: see sched/policy/best_set.h and first_set.h. A node with more than kMaxDevices devices is
// looked at through its kMaxDevices lowest free ids and those of each island; more than kMaxDevices devices
// for one pod are refused as too many. nvidia.com/gpu, the counted resource, is not looked at here: see
// sched/placement/fit.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sched/ledger/node_state.h"
#include "sched/policy/meter.h"
#include "sched/request/reason.h"

namespace gs::sched {

struct Placement {
  std::vector<int> ids;  // ascending
  std::int64_t score = 0;
  friend bool operator==(const Placement&, const Placement&) = default;
};

/// `self`: holdings of this uid do not count.
[[nodiscard]] Verdict<Placement> place(const NodeState& node, const DeviceRequest& request,
                                       const model::Uid& self = model::Uid{}, Meter* meter = nullptr);
/// The same without the reason, which costs more than the choice.
[[nodiscard]] std::optional<Placement> tryPlace(const NodeState& node, const DeviceRequest& request,
                                                const model::Uid& self = model::Uid{},
                                                Meter* meter = nullptr);
/// Could it get exactly these (Unknown ones too)? nullopt: yes.
[[nodiscard]] std::optional<Misfit> refuseExact(const NodeState& node, const DeviceRequest& request,
                                                const std::vector<int>& ids,
                                                const model::Uid& self = model::Uid{});

/// Of the devices that the request names (DeviceRequest::exact) those that others hold so that it may not
/// have them.
[[nodiscard]] std::vector<const DeviceState*> inItsWay(const NodeState& node, const DeviceRequest& request);

// The parts of place() for whole devices of a node that is not wide, for a caller that remembers choices.

/// A set of bits of the node's topology, and its score. From chooseWhole(): less kHealthyScore.
struct Choice {
  Mask set = 0;
  std::int64_t score = 0;
};
/// The policy's choice out of `free`: a function of its arguments only.
[[nodiscard]] std::optional<Choice> chooseWhole(const Topology& t, Mask free, const DeviceRequest& request,
                                                Meter* meter = nullptr);
/// Added to a choice without Unknown devices.
inline constexpr std::int64_t kHealthyScore = 1'000'000'000'000'000'000;

/// What may be given of a node or a part of one, whole.
struct Offered {
  Mask healthy = 0;
  Mask unknown = 0;
  std::int64_t anonymous = 0;
};

/// place() for whole devices without the reason: `choose(free)` stands for chooseWhole().
template <class Choose>
[[nodiscard]] std::optional<Choice> offerWhole(const Offered& n, std::int64_t count, const Choose& choose) {
  const Mask any = n.healthy | n.unknown;
  if (countOf(any) - n.anonymous < count) { return std::nullopt; }
  std::optional<Choice> choice;
  if (countOf(n.healthy) - n.anonymous >= count) { choice = choose(n.healthy); }
  if (!choice && any != n.healthy) { choice = choose(any); }
  if (choice && (choice->set & n.unknown) == 0) { choice->score += kHealthyScore; }
  return choice;
}
/// `choose(topology, free)`, of a node that is not wide.
template <class Choose>
[[nodiscard]] std::optional<Choice> offerWhole(const NodeState& node, Mask held, std::int64_t count,
                                               const Choose& choose) {
  if (node.topology == nullptr) { return std::nullopt; }
  const Offered whole{node.healthy & ~held, node.unknown & ~held, node.anonymous};
  return offerWhole(whole, count, [&](Mask free) { return choose(*node.topology, free); });
}

}  // namespace gs::sched
