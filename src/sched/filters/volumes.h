// The filters of a pod's volumes, and what is said of their reasons, as rows of the table (filter.h). They
// ask the request's VolumeSelection.
#pragma once

#include <array>
#include <optional>

#include "sched/filters/filter.h"

namespace gs::sched {

// In kube-scheduler's order, between NodeResourcesFit and PodTopologySpread.
[[nodiscard]] std::optional<Misfit> refuseVolumeRestrictions(const NodeState& n, const PodRequest& r);
[[nodiscard]] std::optional<Misfit> refuseVolumeLimits(const NodeState& n, const PodRequest& r);
[[nodiscard]] std::optional<Misfit> refuseVolumeBinding(const NodeState& n, const PodRequest& r);
[[nodiscard]] std::optional<Misfit> refuseVolumeZone(const NodeState& n, const PodRequest& r);

/// What pods of the node use changes the first two. What changes the others is told to the ledger as facts of
/// the node (Ledger::volumesChanged()).
inline constexpr std::array<Filter, 4> kVolumeFilters{{
    {"VolumeRestrictions", Filter::Kept::Use, refuseVolumeRestrictions},
    {"NodeVolumeLimits", Filter::Kept::Use, refuseVolumeLimits},
    {"VolumeBinding", Filter::Kept::Facts, refuseVolumeBinding},
    {"VolumeZone", Filter::Kept::Facts, refuseVolumeZone},
}};

/// The reasons from DiskInUse to VolumeInOtherZone.
[[nodiscard]] const std::array<ReasonRow, 9>& volumeReasons();

}  // namespace gs::sched
