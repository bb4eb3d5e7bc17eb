// Front doors: the conventions by which pods ask for GPUs. Ledger, placement, queue, leases and quotas behind
// them know none: each door says in one place how a pod asks, what a bound pod holds, what is written on a
// pod that was placed, and what a node has. The table (kDoors) is the one list of them; a new one is a file
// and an entry (docs/inside/front-doors.md). Pure.
//
// An Engine is given a table, so that a test may add a door to it. Doors are told apart by their address.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "model/claim.h"
#include "model/default_spread.h"
#include "model/node.h"
#include "model/pod.h"
#include "sched/request/request.h"

namespace gs::sched {

/// The pod cannot be tried until it, or an object it names, changes. `kind` is stable across numbers and
/// names (it decides when a condition is written again), `text` is the sentence for condition and event.
struct Blocked {
  std::string kind;
  std::string text;
  friend bool operator==(const Blocked&, const Blocked&) = default;
};

using DoorResult = std::variant<PodRequest, Blocked>;

/// What a pod names in its own namespace; nullptr: there is none (yet).
struct Objects {
  const model::GpuClaim* claim = nullptr;
  /// What its ResourceClaims ask for; nullptr: that cannot be said, and `no_selection` says why.
  std::shared_ptr<const DeviceSelection> selection{};
  Blocked no_selection{};
  /// What its volumes ask for; nullptr: nothing, or that cannot be said, and `no_volumes` says why.
  std::shared_ptr<const VolumeSelection> volumes{};
  Blocked no_volumes{};
  /// Of a pod without spread of its own, with its selector; nullptr: none.
  std::shared_ptr<const model::DefaultSpread> default_spread{};
};

/// How a pod says that it asks at a door: "annotation" or "resource", and its name.
struct AskedBy {
  const char* what;
  const char* name;
};

/// What a pod's object says that it has of the node that it is bound to. Its leases may say more,
/// which the engine knows.
struct Holdings {
  // Whole devices or Shared ones, by id.
  std::optional<std::vector<int>> ids;  // ascending; nullopt: it names none, or those of another node
  std::vector<std::string> uuids;       // what its containers were told, in the order of ids; empty: no UUIDs
  std::string reservation;              // whose leases were written for it; "": it does not say
  bool shared = false;                  // they are Shared ones by its door, where no lease and no claim says
  /// Devices that the kubelet counts: so many, nobody says which. Those of `ids` are among them.
  std::int64_t counted = 0;
  // Shares, by container; their ids are empty where nothing is said.
  SharePicks shares;
  std::int64_t milli = 0;  // that count against a quota for its shares, bound or not
  /// The kubelet has not taken it: its node may yet choose other devices (sched/ledger/shares.h).
  bool on_the_way = false;
};

/// What was decided for a pod.
struct Decision {
  model::NodeName node;
  std::vector<int> ids;              // whole devices or Shared ones
  std::vector<std::string> uuids{};  // of these, where its containers are to be told UUIDs
  std::string reservation{};
  SharePicks shares{};
  std::uint64_t time_ns = 0;  // since 1970; no two decisions have the same
};
using Annotations = std::map<std::string, std::string>;

/// A node whose devices are given by shares, as its object says it.
struct ShareNode {
  Enforcer enforcer{};
  std::int64_t devices = 0;  // their ids begin with 0
  std::int64_t mib = 0;      // of each
};

/// One convention. A null function: it has nothing to say of that.
struct Door {
  const char* name;
  /// Its pods are those of our schedulerName. Else they are other schedulers', and come through an extender.
  bool own = true;
  /// Only where we see to the rest of the pod too: a kube-scheduler that asks us answers such pods itself.
  bool ours_alone = false;
  /// A pod may say so and ask at another door besides, which then reads both.
  bool yields = false;
  /// Nothing but devices by id will do: not a node that only counts nvidia.com/gpu.
  bool by_id = false;
  Enforcers kept_by = 0;  // on whose nodes its decisions are kept (R4)
  /// Annotations that only we may write: on a pod that is given nothing by id they are emptied.
  std::span<const char* const> written{};

  std::optional<AskedBy> (*asked)(const model::Pod&) = nullptr;
  /// `base`: what every pod asks for, and this door. Null: nobody serves it yet.
  DoorResult (*request)(const model::Pod&, const Objects&, PodRequest base) = nullptr;
  /// Adds what the pod holds by this convention, however it asked.
  void (*holdings)(const model::Pod&, Holdings&) = nullptr;
  Annotations (*annotations)(const Decision&) = nullptr;
  std::optional<ShareNode> (*node)(const model::Node&) = nullptr;
};
using Doors = std::span<const Door* const>;

extern const Door kClaimDoor;
extern const Door kMapDoor;
extern const Door kVcudaDoor;
extern const Door kDraDoor;
extern const Door kPlainDoor;

/// The table. A pod that asks at two doors is told both in this order.
inline constexpr std::array<const Door*, 5> kDoors{&kClaimDoor, &kMapDoor, &kVcudaDoor, &kDraDoor,
                                                   &kPlainDoor};

/// Who sees to the rest of the pod: selectors, taints, volumes, affinity ...
enum class Filters : std::uint8_t {
  Ours,
  Theirs,  // the scheduler that places it, and asks us about GPUs (sched/placement/offers.h)
};

/// What a pod of our scheduler asks for. Order of checks: scheduling gates (Blocked kind "SchedulingGated":
/// no condition is written, as in kube-scheduler), two doors at once, fields that are not counted yet, then
/// the door itself. With Filters::Theirs only doors and the door's own, and the request tolerates and selects
/// everything.
[[nodiscard]] DoorResult readPod(const model::Pod& pod, const Objects& named, Doors doors = kDoors,
                                 Filters filters = Filters::Ours);
/// It asks for GPUs at a door of ours.
[[nodiscard]] bool asksAtOwnDoor(const model::Pod& pod, Doors doors = kDoors);
/// It asks at a door whose pods are given devices by id, and are to be told which.
[[nodiscard]] bool asksById(const model::Pod& pod, Doors doors = kDoors);
[[nodiscard]] Holdings holdingsOf(const model::Pod& pod, Doors doors = kDoors);
/// What the first door says that has anything to say of this node.
[[nodiscard]] std::optional<ShareNode> shareNodeOf(const model::Node& node, Doors doors = kDoors);
/// Of a pod that is given no devices by id: empties what somebody else wrote in our annotations.
[[nodiscard]] Annotations disowned(const model::Pod& pod, Doors doors = kDoors);
/// Whether that enforcer keeps what this door decides. nullptr: the pod asks for no GPU, and runs anywhere.
[[nodiscard]] inline bool isKeptBy(const Door* door, Enforcer enforcer) {
  return door == nullptr || (door->kept_by & bitOf(enforcer)) != 0;
}

/// The GpuClaim of its namespace that the pod names, "" for none: a relation of two kinds of objects,
/// which caches index.
[[nodiscard]] std::string claimName(const model::Pod& pod);

}  // namespace gs::sched
