// Which devices does a pod have, by which source, and how much of each? A pure function of what stands in the
// cache, and of what leases said that are gone (LeaseMemory). The kubelet's device manager has the like under
// the same name (podDevices).
//
// A pod has what its leases are for; what ResourceClaims give it, which hold as leases do, until they are
// emptied or gone, and for a bound pod until it ends (ClaimMemory); what its object says, by the doors that
// read it (sched::Holdings), under the ids that these devices have now (held_devices.h); and what its agent
// sees it use, whatever is written. Its end frees the latter two, and its leases hold until they go:
// devices() says what counts now, ofEnded() what its containers may still have.
// `said`: what the doors read of the pod as it is given. Reading a pod takes long beside the rest here, so
// whoever has read it hands that on.
// Ids are ascending, where nothing else is said. Cache and memory must outlive it. One thread.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "engine/allocated_claims.h"
#include "engine/cache.h"
#include "engine/claim_memory.h"
#include "engine/lease_memory.h"
#include "sched/doors/door.h"
#include "sched/ledger/ledger.h"

namespace gs::engine {

class PodDevices {
 public:
  struct Hold {
    model::NodeName node;
    int id = 0;
    sched::Source source{};
    friend auto operator<=>(const Hold&, const Hold&) = default;
  };
  using Holds = std::map<Hold, sched::Amount>;

  PodDevices(const Cache& cache, const LeaseMemory& leases, const AllocatedClaims& claims,
             const ClaimMemory& taken, sched::Doors doors)
      : cache_{cache}, leases_{leases}, claims_{claims}, taken_{taken}, doors_{doors} {}

  /// What the doors read of it.
  [[nodiscard]] sched::Holdings read(const model::Pod& pod) const { return sched::holdingsOf(pod, doors_); }

  /// All that it holds. `said`: of its pod as the cache has it; nullptr: not read yet.
  [[nodiscard]] Holds devices(const model::Uid& uid, const sched::Holdings* said) const;
  /// The ids on its node under which this bound pod, which was given these, has devices now.
  [[nodiscard]] std::vector<int> heldIds(const model::Pod& pod, const std::vector<int>& given,
                                         const sched::Holdings& said) const;
  [[nodiscard]] std::vector<int> heldIds(const model::Pod& pod, const std::vector<int>& given) const {
    return heldIds(pod, given, read(pod));
  }
  /// The devices that the agent sees this bound pod use, if it asked for some. A pod without an allocation
  /// has anonymous devices: these are the ones that have a name by now. A pod of ours may use others than it
  /// names, since its node was renumbered or its annotations were edited: it holds them too.
  [[nodiscard]] std::vector<int> seenInUse(const model::Pod& pod, const sched::Holdings& said) const;
  [[nodiscard]] std::vector<int> seenInUse(const model::Pod& pod) const { return seenInUse(pod, read(pod)); }
  /// The devices of its node that an ended pod held.
  [[nodiscard]] std::vector<int> ofEnded(const model::Pod& pod, const sched::Holdings& said) const;
  /// The devices that ResourceClaims gave it and give it no more; whether they were all for many.
  [[nodiscard]] std::map<AllocatedClaims::Device, bool> takenFrom(const model::Uid& uid) const;
  /// The ids that its leases stand for, on whatever nodes; neither ascending nor unique.
  [[nodiscard]] std::map<model::NodeName, std::vector<int>> leasedIds(const model::Uid& uid) const;
  /// How many whole devices a bound pod counts for its quota. Somebody may have edited its annotation, so
  /// what its leases say, and what its agent sees, counts too. Not what is seen Unhealthy: one id may be
  /// either of two GPUs then (R78), and what it was given of those its annotation or its leases say.
  [[nodiscard]] std::size_t chargedCount(const model::Pod& pod, const sched::Holdings& said) const;

 private:
  using Amounts = std::map<LeaseMemory::Device, sched::Amount>;

  void addLease(const model::Uid& uid, const model::Lease& lease, Holds& holds) const;
  void addGiven(const model::Pod& pod, const sched::Holdings& said, Holds& holds) const;
  [[nodiscard]] Amounts leasedAmounts(const model::Uid& uid) const;
  [[nodiscard]] std::size_t leasedCount(const model::Pod& pod) const;
  [[nodiscard]] std::vector<int> idsOf(const model::Lease& lease) const;

  const Cache& cache_;
  const LeaseMemory& leases_;
  const AllocatedClaims& claims_;
  const ClaimMemory& taken_;
  sched::Doors doors_;
};

}  // namespace gs::engine
