// Where kube-scheduler's volume plugins differ from one version to another.
#pragma once

namespace gs::sched {

/// As newer ones have it.
struct VolumeRules {
  /// Volumes and claims may have a VolumeAttributesClass, and must have the same (1.34).
  bool attributes_classes = true;
  /// A node must have the driver of a volume, if the driver wants that (1.37: VolumeLimitScaling).
  bool installed_drivers = true;
  /// Portworx volumes count as its driver's only where the CSINode says so (until 1.35).
  bool portworx_by_node = false;
  /// The words for a claim with ReadWriteOncePod that is in use (until 1.33).
  bool old_words = false;
};

/// Of Kubernetes 1.`minor`.
[[nodiscard]] constexpr VolumeRules volumeRulesOf(int minor) {
  return {.attributes_classes = minor >= 34,
          .installed_drivers = minor >= 37,
          .portworx_by_node = minor < 36,
          .old_words = minor < 34};
}

}  // namespace gs::sched
