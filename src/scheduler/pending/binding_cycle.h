// A binding cycle: one decision of ours under way, from "these devices for this pod" to the pod being seen
// bound, or everything given back. (kube-scheduler calls by this name what it does after it chose a node.)
//
//   Leasing --all Held--> Volumes --> Allocating --> Binding --201--> Bound --pod seen bound--> (gone)
//      |                    |            | only where a DRA driver prepares the devices: the pod's limits are
//      |                    |            | mapped to its claim, the claim is allocated, and the watch brought
//      |                    |            | what stood before
//      |                    | only where one is not bound yet (scheduler/volumes/volume_desk.h)
//      |                    |
//      |                    | 409: Reading (live GET) -> Binding again, at most 3 times
//      |                    | a lease of it went meanwhile: Leasing
//      |                    | unknown: Fencing -> Releasing, or Bound when the fence's answer shows it bound
//      +--Lost, Refused, doomed--> Releasing --claim empty, all Gone--> (gone; the pod is queued again)
//
// What waits holds no slot (slots.h). Devices are given back, and the pod waits, when a Binding was refused,
// when the API took none for 10 s or says that it will not (429, no connection), when the leases were not
// there within 10 s, and when its volumes were not bound within 600 s. They are kept while an outcome is
// unknown, until the fence is answered; how many a namespace can hold that way is bounded (slots.h).
//
// Invariant (R26): Releasing is entered only when no Binding was sent, every Binding sent was refused, or
// after a fence whose answer shows the pod unbound (or the pod is gone).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/ids.h"
#include "sched/ledger/ledger.h"
#include "sched/placement/decider.h"
#include "scheduler/core/allocation.h"

namespace gs::scheduler {

enum class Stage : std::uint8_t { Leasing, Volumes, Allocating, Binding, Reading, Fencing, Releasing, Bound };

struct BindingCycle {
  model::ReservationId id;
  model::Uid uid;
  model::ObjectKey pod;
  model::NodeName node;
  std::vector<int> ids;               // ascending; empty: no exact devices
  std::vector<std::string> uuids;     // of those devices when this was decided, "" where the node did not say
  const sched::Door* door = nullptr;  // at which the pod asked
  bool shared = false;
  bool by_id = false;       // the pod names its devices by id (a map), and is told ids, whoever is told UUIDs
  std::string fence;        // the pod's fence value when this was decided
  std::string caches;       // what was said then of the pod's kernel caches on the node; "" nothing
  Allocations allocations;  // of the pod's ResourceClaims; none: it needs none there
  std::string map_fence;    // the fence value that its mapping brings; "": not sent yet
  bool mapped = false;      // the API server said so
  bool claimed = false;     // the claims may be allocated what was decided
  model::Revision allocated_at = 0;  // of the claims, since they are; 0: not
  Mono allocation_seen{};            // the watch has brought that, since then; Mono{}: not yet
  bool emptying = false;             // Releasing: its claims are emptied, and leases are given after that
  Mono allocating_since{};
  Mono volumes_since{};  // its claims of volumes are written and waited for
  sched::Reservation hold;
  Stage stage = Stage::Leasing;
  std::set<model::ObjectKey> open_leases;  // Leasing: not yet Held; Releasing: not yet Gone
  bool unknown_lease = false;  // some lease write was unknown: all are read back before the Binding
  int sends = 0;               // Bindings sent on 409s
  int rejections = 0;          // failures of the present stage that are tried again
  Mono not_before{};
  Mono leasing_since{};
  Mono binding_since{};
  Duration asked_for{};     // Releasing: how long the API server wants it to wait
  std::string fence_value;  // the fence in flight
  std::string why;          // Releasing: what went wrong, for the log
  bool in_vain = false;     // something of it was refused or had no answer: another node may do
  bool refused = false;     // Releasing: the API server did not take a write, say; the pod is told why
  const char* told_as = "WriteRefused";  // of what kind that is
  bool asked = false;                    // kube-scheduler asked for it (ExtenderPods), and waits
  bool adopted = false;   // its leases are an earlier leader's, who may have sent a Binding too
  bool rivalled = false;  // somebody else decided about this pod, and may have bound it

  [[nodiscard]] std::vector<model::ObjectKey> claims() const {
    std::vector<model::ObjectKey> out;
    for (const Allocation& one : allocations) { out.push_back(one.claim); }
    return out;
  }
  /// A Binding of it was sent and may have been applied, and takes devices.
  [[nodiscard]] bool boundPerhaps() const {
    return stage != Stage::Leasing && stage != Stage::Volumes && stage != Stage::Allocating &&
           stage != Stage::Releasing && !ids.empty();
  }
};

}  // namespace gs::scheduler
