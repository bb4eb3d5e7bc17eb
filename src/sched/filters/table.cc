#include <array>
#include <cstddef>

#include "sched/filters/filter.h"
#include "sched/filters/rows.h"

namespace gs::sched {
namespace {

using Kept = Filter::Kept;

constexpr std::array kFilters{
    Filter{"MapNodeName", Kept::Facts, refuseOtherName},
    Filter{"NodeAffinity", Kept::Facts, refuseUnnamed},  // kube-scheduler's PreFilter: before all others
    Filter{"NodeUnschedulable", Kept::Facts, refuseUnschedulable},
    Filter{"TaintToleration", Kept::Facts, refuseTaints},
    Filter{"NodeAffinity", Kept::Facts, refuseLabels},
    Filter{"NodeReady", Kept::Facts, refuseNotReady},
    Filter{"ClaimSelector", Kept::Facts, refuseClaimSelector},
    Filter{"GpuEnforcer", Kept::Facts, refuseEnforcer},
    Filter{"DraGpus", Kept::Facts, refuseDra},
    Filter{"TriedInVain", Kept::Facts, refuseTriedInVain},
    Filter{"RoomKept", Kept::Facts, refuseKeptRoom},
    Filter{"GpuQuota", Kept::Facts, refuseQuota},
    Filter{"NodePorts", Kept::Use, refuseHostPorts},
    Filter{"NodeResourcesFit", Kept::Use, refuseResources},
    Filter{"VolumeRestrictions", Kept::Use, refuseVolumeRestrictions},
    Filter{"NodeVolumeLimits", Kept::Use, refuseVolumeLimits},
    Filter{"VolumeBinding", Kept::Facts, refuseVolumeBinding},
    Filter{"VolumeZone", Kept::Facts, refuseVolumeZone},
    Filter{"PodTopologySpread", Kept::Use, refuseSpread},
    Filter{"InterPodAffinity", Kept::Use, refuseNear},
    Filter{"InterPodAffinity", Kept::Use, refuseExistingAntiAffinity},
    Filter{"NodeDeclaredFeatures", Kept::Facts, refuseMissingFeatures},
};

template <Kept kKept>
constexpr std::size_t countKept() {
  std::size_t count = 0;
  for (const Filter& filter : kFilters) { count += filter.kept == kKept ? 1 : 0; }
  return count;
}

/// The decider asks often: it is not to pass the rows that it does not ask.
template <Kept kKept>
constexpr auto rowsKept() {
  std::array<Filter, countKept<kKept>()> rows{};
  std::size_t next = 0;
  for (const Filter& filter : kFilters) {
    if (filter.kept == kKept) { rows[next++] = filter; }
  }
  return rows;
}
constexpr auto kFacts = rowsKept<Kept::Facts>();
constexpr auto kUse = rowsKept<Kept::Use>();

std::optional<Misfit> firstOfRows(std::span<const Filter> rows, const NodeState& n, const PodRequest& r) {
  for (const Filter& filter : rows) {
    if (auto misfit = filter.check(n, r)) { return misfit; }
  }
  return std::nullopt;
}

}  // namespace

std::span<const Filter> filters() { return kFilters; }

std::optional<Misfit> refusalOf(const NodeState& n, const PodRequest& r) {
  if (!n.exists) { return Misfit{Reason::NotReady, "", 0, 0}; }
  return firstOfRows(kFilters, n, r);
}

std::optional<Misfit> refusalOf(const NodeState& n, const PodRequest& r, Kept kept) {
  if (kept == Kept::Use) { return firstOfRows(kUse, n, r); }
  if (!n.exists) { return Misfit{Reason::NotReady, "", 0, 0}; }
  return firstOfRows(kFacts, n, r);
}

}  // namespace gs::sched
