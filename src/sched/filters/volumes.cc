#include "sched/filters/volumes.h"

#include <fmt/format.h>

namespace gs::sched {
namespace {

using VolumeFilter = VolumeSelection::Filter;

std::optional<Misfit> refuseVolumes(VolumeFilter filter, const NodeState& n, const PodRequest& r) {
  return r.volumes == nullptr ? std::nullopt : r.volumes->refuse(filter, n.node);
}

constexpr Cures curedBy(Cure a) { return static_cast<Cures>(a); }
constexpr Cures curedBy(Cure a, Cure b) { return static_cast<Cures>(curedBy(a) | curedBy(b)); }
constexpr Cures curedBy(Cure a, Cure b, Cure c) { return static_cast<Cures>(curedBy(a, b) | curedBy(c)); }

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

/// kube-scheduler's words: for a user of both they are one reason.
const std::array<ReasonRow, 9>& volumeReasons() {
  using enum Reason;
  static const std::array<ReasonRow, 9> kRows{{
      {DiskInUse, "DiskInUse", [](const Misfit&) -> std::string { return "node(s) had no available disk"; },
       curedBy(Cure::PodGone, Cure::OtherNode)},
      {VolumeOfOnePod, "VolumeOfOnePod",
       [](const Misfit& m) -> std::string {
         return m.detail.empty() ? "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod "
                                   "access mode already in-use by another pod"
                                 : "node has pod using PersistentVolumeClaim with the same name and "
                                   "ReadWriteOncePod access mode";
       },
       curedBy(Cure::PodGone)},
      {NoSuchDriver, "NoSuchDriver",
       [](const Misfit& m) { return fmt::format("{} CSI driver is not installed on the node", m.detail); },
       curedBy(Cure::Volumes, Cure::OtherNode)},
      {TooManyVolumes, "TooManyVolumes",
       [](const Misfit&) -> std::string { return "node(s) exceed max volume count"; },
       curedBy(Cure::PodGone, Cure::Volumes, Cure::OtherNode)},
      {VolumeElsewhere, "VolumeElsewhere",
       [](const Misfit&) -> std::string { return "node(s) didn't match PersistentVolume's node affinity"; },
       curedBy(Cure::NodeFacts, Cure::Volumes, Cure::OtherNode)},
      {NoVolumeToBind, "NoVolumeToBind",
       [](const Misfit&) -> std::string {
         return "node(s) didn't find available persistent volumes to bind";
       },
       curedBy(Cure::NodeFacts, Cure::Volumes, Cure::OtherNode)},
      {TooLittleStorage, "TooLittleStorage",
       [](const Misfit&) -> std::string { return "node(s) did not have enough free storage"; },
       curedBy(Cure::NodeFacts, Cure::Volumes, Cure::OtherNode)},
      {VolumeMissing, "VolumeMissing",
       [](const Misfit&) -> std::string {
         return "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";
       },
       curedBy(Cure::Volumes)},
      {VolumeInOtherZone, "VolumeInOtherZone",
       [](const Misfit&) -> std::string { return "node(s) had no available volume zone"; },
       curedBy(Cure::NodeFacts, Cure::Volumes, Cure::OtherNode)},
  }};
  return kRows;
}

}  // namespace gs::sched
