// What a pod mounts: its VolumeSelection is asked, filter by filter.
#include "sched/filters/rows.h"

namespace gs::sched {
namespace {

using VolumeFilter = VolumeSelection::Filter;

std::optional<Misfit> refuseVolumes(VolumeFilter filter, const NodeState& n, const PodRequest& r) {
  return r.volumes == nullptr ? std::nullopt : r.volumes->refuse(filter, n.node);
}

}  // namespace

std::optional<Misfit> refuseVolumeRestrictions(const NodeState& n, const PodRequest& r) {
  return refuseVolumes(VolumeFilter::Restrictions, n, r);
}
std::optional<Misfit> refuseVolumeLimits(const NodeState& n, const PodRequest& r) {
  return refuseVolumes(VolumeFilter::Limits, n, r);
}
std::optional<Misfit> refuseVolumeBinding(const NodeState& n, const PodRequest& r) {
  return refuseVolumes(VolumeFilter::Binding, n, r);
}
std::optional<Misfit> refuseVolumeZone(const NodeState& n, const PodRequest& r) {
  return refuseVolumes(VolumeFilter::Zone, n, r);
}

}  // namespace gs::sched
