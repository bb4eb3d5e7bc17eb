#include <array>
#include <cstddef>

#include "sched/filters/filter.h"
#include "sched/filters/rows.h"

namespace gs::sched {
namespace {

using Kept = Filter::Kept;
using Needs = Filter::Needs;

constexpr std::array kFilters{
    Filter{"MapNodeName", Kept::Facts, refuseOtherName, Needs::OnNode},
    Filter{"NodeAffinity", Kept::Facts, refuseUnnamed,
           Needs::NodeAffinity},  // kube-scheduler's PreFilter: before all others
    Filter{"NodeUnschedulable", Kept::Facts, refuseUnschedulable},
    Filter{"TaintToleration", Kept::Facts, refuseTaints},
    Filter{"NodeAffinity", Kept::Facts, refuseLabels, Needs::NodeAffinity | Needs::NodeSelector},
    Filter{"NodeReady", Kept::Facts, refuseNotReady},
    Filter{"ClaimSelector", Kept::Facts, refuseClaimSelector, Needs::MatchLabels},
    Filter{"GpuEnforcer", Kept::Facts, refuseEnforcer},
    Filter{"DraGpus", Kept::Facts, refuseDra, Needs::Door},
    Filter{"TriedInVain", Kept::Facts, refuseTriedInVain, Needs::NotOn},
    Filter{"RoomKept", Kept::Facts, refuseKeptRoom, Needs::KeptOff},
    Filter{"GpuQuota", Kept::Facts, refuseQuota, Needs::Quota},
    Filter{"NodePorts", Kept::Use, refuseHostPorts, Needs::HostPorts},
    Filter{"NodeResourcesFit", Kept::Use, refuseResources},
    Filter{"VolumeRestrictions", Kept::Use, refuseVolumeRestrictions, Needs::Volumes},
    Filter{"NodeVolumeLimits", Kept::Use, refuseVolumeLimits, Needs::Volumes},
    Filter{"VolumeBinding", Kept::Facts, refuseVolumeBinding, Needs::Volumes},
    Filter{"VolumeZone", Kept::Facts, refuseVolumeZone, Needs::Volumes},
    Filter{"PodTopologySpread", Kept::Use, refuseSpread, Needs::Near},
    Filter{"InterPodAffinity", Kept::Use, refuseNear, Needs::Near},
    Filter{"InterPodAffinity", Kept::Use, refuseExistingAntiAffinity, Needs::KeptAway},
    Filter{"NodeDeclaredFeatures", Kept::Facts, refuseMissingFeatures, Needs::Features},
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

constexpr bool concerns(const Filter& filter, Needs parts) {
  const auto needs = static_cast<unsigned>(filter.needs);
  return needs == 0 || (needs & static_cast<unsigned>(parts)) != 0;
}

std::optional<Misfit> firstOfRows(std::span<const Filter> rows, const NodeState& n, const PodRequest& r,
                                  Needs parts) {
  for (const Filter& filter : rows) {
    if (!concerns(filter, parts)) { continue; }
    if (auto misfit = filter.check(n, r)) { return misfit; }
  }
  return std::nullopt;
}

}  // namespace

Needs partsOf(const PodRequest& r) {
  unsigned out = 0;
  const auto add = [&](bool has, Needs part) { out |= has ? static_cast<unsigned>(part) : 0; };
  add(!r.on_node.empty(), Needs::OnNode);
  add(r.node_affinity.is_required || !r.node_affinity.required.empty(), Needs::NodeAffinity);
  add(!r.node_selector.empty(), Needs::NodeSelector);
  add(!r.match_labels.empty(), Needs::MatchLabels);
  add(r.door != nullptr, Needs::Door);
  add(!r.not_on.empty(), Needs::NotOn);
  add(!r.kept_off.empty(), Needs::KeptOff);
  add(r.quota.has_value(), Needs::Quota);
  add(!r.host_ports.empty(), Needs::HostPorts);
  add(r.volumes != nullptr, Needs::Volumes);
  add(static_cast<bool>(r.near), Needs::Near);
  add(!r.kept_away_by.empty(), Needs::KeptAway);
  add(!r.node_features.empty(), Needs::Features);
  return static_cast<Needs>(out);
}

std::span<const Filter> filters() { return kFilters; }

std::optional<Misfit> refusalOf(const NodeState& n, const PodRequest& r) {
  if (!n.exists) { return Misfit{Reason::NotReady, "", 0, 0}; }
  return firstOfRows(kFilters, n, r, partsOf(r));
}

std::optional<Misfit> refusalOf(const NodeState& n, const PodRequest& r, Kept kept, Needs parts) {
  if (kept == Kept::Use) { return firstOfRows(kUse, n, r, parts); }
  if (!n.exists) { return Misfit{Reason::NotReady, "", 0, 0}; }
  return firstOfRows(kFacts, n, r, parts);
}

}  // namespace gs::sched
