// What the pods hold and use, as the ledger has it.
//
// Level-triggered: after any change the pods concerned are derived anew (PodDevices), and only the difference
// to the last time is applied. So the ledger is a function of the cache, whatever order the changes came in.
// derive() keeps the devices under Source::Lease, Source::Claim and Source::BoundPod; use() keeps, of a bound
// pod that has not ended, the ordinary resources, the devices that are counted only, the shares in flight and
// what is charged to quotas, until unuse(). Calling one of them again with nothing changed changes nothing.
// The ledger and the devices must outlive it. One thread.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/pod_devices.h"
#include "sched/ledger/ledger.h"

namespace gs::engine {

class DerivedHolds {
 public:
  DerivedHolds(const PodDevices& devices, sched::Ledger& ledger) : devices_{devices}, ledger_{ledger} {}

  /// `said`: of its pod as the cache has it; nullptr: not read yet.
  void derive(const model::Uid& uid, const sched::Holdings* said = nullptr);
  /// What pods that are being resized ask counts as until Kubernetes 1.36. Before the first of them.
  void countAsUntil36(bool on) { counts_until_36_ = on; }
  void use(const model::Pod& pod, const sched::Holdings& said);
  void unuse(const model::NodeName& node, const model::Uid& uid);

  /// The devices of its node that this pod holds, by what is written and by what its agent sees; ascending.
  [[nodiscard]] std::vector<int> heldBy(const model::Pod& pod) const;
  /// Pods that were derived so far: what all of this has cost.
  [[nodiscard]] std::uint64_t derived() const { return derived_; }

 private:
  const PodDevices& devices_;
  sched::Ledger& ledger_;
  std::unordered_map<model::Uid, PodDevices::Holds> holds_;  // what the ledger has; none empty
  std::uint64_t derived_ = 0;
  bool counts_until_36_ = false;
};

}  // namespace gs::engine
