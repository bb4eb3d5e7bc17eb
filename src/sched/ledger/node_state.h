// One node as policies read it: its facts, its devices and who holds them, and what is used there. Made and
// changed only by the Ledger (sched/ledger/ledger.h), which also keeps the derived part, so that a policy
// need not walk the devices.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/node.h"
#include "sched/policy/topology.h"
#include "sched/request/request.h"

namespace gs::sched {

/// Who says that a pod holds a device. Bits.
/// Claim: a ResourceClaim that is allocated it.
enum class Source : std::uint8_t { Reservation = 1, Lease = 2, BoundPod = 4, Draining = 8, Claim = 16 };

/// How much of a device a holder takes. Exclusive: all of it.
struct Amount {
  bool shared = false;
  std::int64_t milli = 0;
  std::int64_t mib = 0;
  friend auto operator<=>(const Amount&, const Amount&) = default;
};

struct Holder {
  model::Uid uid;
  std::uint8_t sources = 0;  // bits of Source
  /// What counts: the word of the Lease, else of the BoundPod, the Reservation, Draining, the Claim.
  Amount amount;
  std::array<Amount, 5> said{};  // by source (its bit's position); zero for a source that is not set
  /// It surely has the device. An annotation that its author edited names what it does not have.
  [[nodiscard]] bool isSure() const {
    constexpr auto kSure = static_cast<unsigned>(Source::Lease) | static_cast<unsigned>(Source::Reservation) |
                           static_cast<unsigned>(Source::Claim);
    return (sources & kSure) != 0;
  }
  friend bool operator==(const Holder&, const Holder&) = default;
};

enum class DeviceUse : std::uint8_t { Free, Held, Draining };  // Draining: only Source::Draining holds it

struct DeviceState {
  model::Device facts;
  bool listed = false;          // in the node's GpuNodeStatus now; holdings may name devices that are not
  bool twice = false;           // its UUID stands at another GPU too: both may be one (R79)
  std::int16_t bit = -1;        // in NodeState::topology; -1: not there
  std::int16_t island = 0;      // of a listed device of a wide node: the number of its island
  std::vector<Holder> holders;  // sorted by uid
  [[nodiscard]] DeviceUse use() const;
  /// Could it ever be given: listed, not cut up by MIG, not Unhealthy, and known to be one GPU.
  [[nodiscard]] bool givable() const {
    return listed && !twice && !facts.partitioned && facts.health != model::Health::Unhealthy;
  }
};

/// A pod that was placed here by shares and that the kubelet has not taken yet (sched/ledger/shares.h),
/// and who says so.
struct InFlight {
  model::Uid uid;
  Source source{};  // Reservation or BoundPod; of a pod with both the latter counts
  SharePicks picks;
  std::string gang{};  // as in PodRequest; of a Reservation
  friend bool operator==(const InFlight&, const InFlight&) = default;
};

/// A pod that has GPUs of this node by their number (nvidia.com/gpu): the kubelet chose which. Those that are
/// surely its own are `named`:
///   - what its agent sees it use;
///   - what a lease or a ResourceClaim of it names: users do not write these, and none is written for what an
///     edited annotation names and could not be given;
///   - what it alone holds of the devices that could be given.
/// Whatever else its annotation names takes nothing off the number: whoever may edit the annotation would
/// free a GPU that the pod's containers have.
struct Counted {
  model::Uid uid;
  std::int64_t devices = 0;
  std::int64_t named = 0;
  [[nodiscard]] std::int64_t anonymous() const { return std::max<std::int64_t>(0, devices - named); }
  friend bool operator==(const Counted&, const Counted&) = default;
};

/// The terms that close the nodes with one value of a topology key, and how many pods say each
/// (sched/ledger/anti_affinity.h). One for all those nodes.
using ClosedTerms = std::map<model::TermId, int>;

struct NodeState {
  std::uint32_t index = 0;  // by which the ledger has it
  bool exists = false;      // a Node object is there
  bool has_status = false;
  /// Of one without a status: an agent is to say, perhaps, which devices there are. Until then ids mean
  /// nothing there.
  bool awaits_status = false;
  /// Pods there have GPUs that nobody has named yet, and its agent is about to (engine/awaited_looks.h).
  bool awaits_look = false;
  bool enforces = false;  // its agent gives containers the devices that are chosen, and no others
  /// What limits of containers call GPUs that a DRA driver prepares there: "nvidia.com/gpu"; "": none does.
  std::string dra_resource;
  bool agent_stale = false;  // R6: agent not Ready for 60 s, every device counts as Unknown
  Enforcer enforcer = Enforcer::Kubelet;
  model::Node node;                  // name always set
  std::vector<DeviceState> devices;  // sorted by facts.id
  model::Resources used;
  std::int64_t used_pods = 0;
  std::map<model::HostPort, int> ports;                       // that pods there take, and how many take each
  std::vector<Counted> counted;                               // sorted by uid
  std::vector<std::shared_ptr<const ClosedTerms>> closed_to;  // pods that these mean may not come
  std::vector<InFlight> in_flight;                            // sorted by uid, source
  // By which names maps mean it (Ledger::named()).
  bool by_label = false;
  bool by_own_name = false;

  // Derived.
  std::int64_t whole = 0;  // devices listed and not cut up by MIG
  TopologyPtr topology;    // of those; null when there are none or more than kMaxDevices ("wide")
  Mask healthy = 0;        // of those: may be given
  Mask unknown = 0;        // of those: only when nothing healthy fits
  Mask held = 0;           // of those: somebody holds it
  // Of all devices, kept as holders come and go: counting them would take as long as there are devices.
  std::int64_t with_holders = 0;
  std::int64_t untouched = 0;  // may be given, and nobody holds them
  std::size_t islands = 0;     // of a wide node: how many its listed devices name
  /// Of the counted devices those that are not named. They count against the devices that may be given (R13:
  /// held by id + anonymous <= healthy).
  std::int64_t anonymous = 0;
  /// Not held, not Unhealthy, less the anonymous. Without a status: see sched/placement/fit.h.
  std::int64_t free_devices = 0;
  /// Fewer are left than anonymous pods have: some GPU that is held by id is theirs too.
  bool overcommitted = false;
  /// Devices that gpu-manager gives by shares, ids 0 to share_devices - 1;
  /// not those that a GpuNodeStatus lists.
  std::int64_t share_devices = 0;
  std::int64_t share_mib = 0;   // of each
  std::int64_t free_milli = 0;  // of all
  std::int64_t free_mib = 0;
  std::uint64_t version = 0;  // of the last change that may alter a decision; grows over the whole ledger
  std::uint64_t facts_version = 0;  // of the last one of what is not use: labels, taints, status, health ...

  /// Of the last change of `closed_to`, or of what a NearStanding says of the node; that is none of
  /// `version`.
  std::uint64_t closed_version = 0;

  [[nodiscard]] const DeviceState* device(int id) const;
  [[nodiscard]] bool closedTo(model::TermId term) const;
  /// A pod there takes that port: on that address, or one of them takes it on all.
  [[nodiscard]] bool takesPort(const model::HostPort& port) const;
  /// Maps that say this name mean this node.
  [[nodiscard]] bool answersTo(const std::string& name) const;
  /// What decides about this request changed last.
  [[nodiscard]] std::uint64_t versionFor(const PodRequest& request) const {
    if (request.near) { return versionNear(request.near); }
    return request.kept_away_by.empty() ? version : std::max(version, closed_version);
  }
  [[nodiscard]] std::uint64_t versionNear(const NearAsked& near) const;
  [[nodiscard]] bool isWide() const { return whole > kMaxDevices; }
};

/// Of a node without a status, whose object says how many GPUs there are: those that nobody, but for `self`,
/// holds by id. Below 0: more are named than there are.
[[nodiscard]] std::int64_t unheldOf(const NodeState& n, const model::Uid& self = model::Uid{});

}  // namespace gs::sched
