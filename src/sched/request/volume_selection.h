// Which nodes can mount what a pod mounts. Who knows the cluster's volumes answers (sched/volumes/); pods
// whose volumes ask for the same of every node have one selection, so that they are of one class.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "model/ids.h"
#include "model/node.h"
#include "sched/request/pod_reason.h"
#include "sched/request/reason.h"

namespace gs::sched {

class VolumeSelection {
 public:
  VolumeSelection() = default;
  VolumeSelection(const VolumeSelection&) = delete;
  VolumeSelection& operator=(const VolumeSelection&) = delete;
  virtual ~VolumeSelection() = default;

  /// What is asked, as kube-scheduler's plugins share it out.
  enum class Filter : std::uint8_t { Restrictions, Limits, Binding, Zone };

  /// Why that node cannot; nullopt: it can. A function of the node's name and labels, and of the volumes.
  /// What of these concerns single nodes is told to the ledger (Ledger::volumesChanged()); of Restrictions
  /// and Limits, also which pods are there.
  [[nodiscard]] virtual std::optional<Misfit> refuse(Filter filter, const model::Node& node) const = 0;
  /// The same if these pods, which are there, were not. Who does not know what they use answers as if they
  /// stayed.
  [[nodiscard]] virtual std::optional<Misfit> refuseWithout(const std::set<model::Uid>& /*gone*/,
                                                            Filter filter, const model::Node& node) const {
    return refuse(filter, node);
  }
  /// Grows when the answers of all nodes may have changed without that: all are to be looked at again. (Then
  /// Ledger::wideChanges() grows, for those who wait.)
  [[nodiscard]] virtual std::uint64_t moment() const = 0;
  /// Why no node that is yet to come can; nullopt: one may.
  [[nodiscard]] virtual std::optional<PodReason> keptFromNewNodes() const { return std::nullopt; }
};

}  // namespace gs::sched
