// Pods that have GPUs by their number, and of which the agent has yet to say which those are: it tells
// AwaitedLooks when one came, began to run, was named or went.
//
// Only pods on nodes on which an agent looks count, and only from allListed() on. Of those that are there by
// then, the ones that changed since their node's status was written.
// Calls come after cache and ledger know the change. What it refers to must outlive it. One thread.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "engine/awaited_looks.h"
#include "engine/cache.h"
#include "engine/device_reclaim.h"
#include "engine/pod_devices.h"
#include "sched/ledger/ledger.h"

namespace gs::engine {

class UnnamedGpus {
 public:
  UnnamedGpus(const Cache& cache, const PodDevices& devices, const DeviceReclaim& reclaim,
              sched::Ledger& ledger)
      : cache_{cache}, devices_{devices}, reclaim_{reclaim}, ledger_{ledger}, looks_{ledger} {}

  void allListed(Mono now);
  /// The pod came to its node, or began to run there; or (nullptr, or ended) it is there no more.
  void podChanged(const model::PodPtr& before, const model::Pod* after, Mono now);
  /// A pod was decided to come to that node and to have GPUs by their number: until it is there, and the
  /// agent has named them, none is given by its id there.
  void expects(const model::NodeName& node, const model::Uid& pod, Mono now);
  /// It came, or will not come; or its leases name what it has by now.
  void expectsNoMore(const model::NodeName& node, const model::Uid& pod);
  /// The agent sees this pod use other GPUs than before.
  void seenWith(const model::Pod& pod);
  /// Pods of an agent changed there.
  void agentChanged(const model::NodeName& node);
  /// The node went, or its status.
  void nodeGone(const model::NodeName& node) { looks_.forget(node); }
  void tick(Mono now) { looks_.tick(now); }
  [[nodiscard]] std::optional<Mono> nextDue() const { return looks_.nextDue(); }

 private:
  [[nodiscard]] bool agentLooks(const model::NodeName& node) const;
  [[nodiscard]] std::int64_t unnamedOf(const model::NodeName& node, const model::Uid& pod) const;

  const Cache& cache_;
  const PodDevices& devices_;
  const DeviceReclaim& reclaim_;
  const sched::Ledger& ledger_;
  AwaitedLooks looks_;
  bool all_listed_ = false;
};

}  // namespace gs::engine
