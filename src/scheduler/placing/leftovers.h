// Leases of an unbound pod that no binding cycle of ours explains: an earlier leader's. A complete set that
// fits is adopted (R26, R38). Anything else is fenced and then deleted, on a node with a DRA driver after the
// pod's ResourceClaim was emptied, and the pod is looked at again; only
// leases that were there when the fence was sent: another leader may have decided after it, and then its
// Binding can land. A part of the scheduler's; one thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/keyed_calls.h"
#include "scheduler/core/context.h"
#include "scheduler/leases/gone_proofs.h"
#include "scheduler/leases/lease_desk.h"
#include "scheduler/pending/pending_pods.h"
#include "scheduler/placing/binder.h"
#include "scheduler/term/lease_record.h"

namespace gs::scheduler {

class Leftovers : public controller::Part {
 public:
  Leftovers(Context& context, LeaseDesk& desk, AllocationDesk& allocations, const LeaseRecord& record,
            PendingPods& pending, Binder& binder, GoneProofs& proofs)
      : c_{context},
        desk_{desk},
        allocations_{allocations},
        record_{record},
        pending_{pending},
        binder_{binder},
        proofs_{proofs},
        calls_{c_.parts.add(*this)} {}

  /// True: the binder has them now. `on`: only where they are of this node.
  [[nodiscard]] bool adopt(const model::Pod& pod, const model::NodeName* on = nullptr);
  /// Leases name it, or its ResourceClaims are allocated something.
  [[nodiscard]] bool has(const model::Pod& pod) const {
    return !c_.cache().leasesOf(pod.uid).empty() || !allocations_.withDevices(pod, c_.places(pod)).empty();
  }
  /// Its ResourceClaim is empty. False: nobody waited for that here.
  bool noticed(const AllocationNotice& notice);
  /// The next step of deleting them.
  void remove(const model::Pod& pod);
  /// They are being deleted.
  [[nodiscard]] bool removing(const model::Uid& uid) const { return pods_.contains(uid); }
  [[nodiscard]] bool writes(const model::Uid& uid) const { return calls_.open(uid); }
  void podEnded(const model::Uid& uid) override { forget(uid); }
  void podBound(const model::Pod& pod) override { forget(pod.uid); }

  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  void tick(Now now, kapi::Effects& out) override;
  [[nodiscard]] std::optional<Mono> nextDue() const override { return calls_.nextDue(); }
  void reset() override;
  [[nodiscard]] std::size_t callsUnderWay() const { return calls_.underWay(); }
  [[nodiscard]] std::size_t size() const override { return pods_.size(); }

 private:
  void forget(const model::Uid& uid);
  using Reservations = std::set<std::pair<model::ObjectKey, model::ReservationId>>;
  struct OfPod {
    Reservations leases;  // known when the fence was sent
    std::string fence_value;
    bool fenced = false;
    bool emptying = false;  // of its ResourceClaims, which comes before its leases
  };
  /// Devices that a complete set of leases of one reservation names.
  struct Whole {
    model::NodeName node;
    std::vector<int> ids;
    bool shared = false;
  };
  [[nodiscard]] std::optional<Whole> wholeSet(const model::Pod& pod) const;
  [[nodiscard]] bool isByDra(const model::Uid& uid) const;
  [[nodiscard]] std::vector<model::ObjectKey> perhapsAllocated(const model::Pod& pod) const;
  [[nodiscard]] Reservations reservationsOf(const model::Uid& uid) const;
  void deleteFenced(const model::Pod& pod, OfPod& of_pod);
  void stays(const model::Pod& pod, const std::string& why);

  Context& c_;
  LeaseDesk& desk_;
  AllocationDesk& allocations_;
  const LeaseRecord& record_;
  PendingPods& pending_;
  Binder& binder_;
  GoneProofs& proofs_;
  controller::KeyedCalls<model::Uid> calls_;
  std::map<model::Uid, OfPod> pods_;
};

}  // namespace gs::scheduler
