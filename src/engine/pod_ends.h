// Pods that ended: of which we know how, and what of theirs drains (DeviceReclaim says until when).
//
// Problem: a pod may be gone without its end being seen, with leases that name its devices. Whether it ran is
// then not known, so all that was known to be its is drained as after an unclean end, once. And a GPU may be
// in use by a pod that is not among the pods at all: that one ended before anybody looked.
// The same goes for a pod that nobody ever saw and that a ResourceClaim was reserved for.
// An end is known (isKnown()) when we saw it, with all that the pod held or that it held nothing, or when we
// assumed it. It is remembered for some minutes (Tombstones).
// Calls come after the cache knows the change. What it refers to must outlive it. One thread.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/cache.h"
#include "engine/device_reclaim.h"
#include "engine/pod_devices.h"
#include "engine/touched.h"

namespace gs::engine {

class PodEnds {
 public:
  PodEnds(const Cache& cache, const PodDevices& devices, const ClaimMemory& taken, DeviceReclaim& reclaim,
          Touched& touched)
      : cache_{cache}, devices_{devices}, taken_{taken}, reclaim_{reclaim}, touched_{touched} {}

  /// A bound pod ended. `clean`: all its containers are reported terminated.
  void ended(const model::Pod& pod, const sched::Holdings& said, bool clean, Mono now);
  /// More is known of what it held.
  void drain(const model::Pod& pod, const sched::Holdings& said, bool clean, Mono now);
  /// It is gone, and was not bound.
  void neverRan(const model::Uid& uid) { orderly_.add(uid); }
  /// It is gone. If nobody knows how it ended, and it has leases, it may have been bound and have run, and
  /// ended uncleanly for all we know.
  void gone(const model::Uid& uid, Mono now);
  /// See Engine::mayHaveRun().
  void mayHaveRun(const model::Uid& uid, const model::NodeName& node, const std::vector<int>& ids,
                  const std::vector<std::string>& uuids, Mono now);
  /// ResourceClaims took something from a pod that is not known (ClaimMemory).
  void tookFromUnknown(const model::Uid& uid, Mono now);
  /// Its end was seen, or assumed, not long ago.
  [[nodiscard]] bool isKnown(const model::Uid& uid) const;
  /// From now on who uses a GPU and is not among the pods has ended.
  void allListed(Mono now);
  /// What the agent of that node sees in use.
  void seen(const model::GpuNodeStatus& status, Mono now);
  /// Touches those whose devices became free since the last call.
  void noteFreed();
  /// From time to time.
  void forgetOld(Mono now);

 private:
  const Cache& cache_;
  const PodDevices& devices_;
  const ClaimMemory& taken_;
  DeviceReclaim& reclaim_;
  Touched& touched_;
  Tombstones orderly_;  // pods whose end we saw, with all that they held, or that they held nothing
  Tombstones assumed_;  // others that are gone: all that was known to be theirs drains, or has drained
  bool all_listed_ = false;
};

}  // namespace gs::engine
