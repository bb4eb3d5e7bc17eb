// Types of volumes that Kubernetes once served itself, and CSI drivers serve now, as kube-scheduler
// translates them (k8s.io/csi-translation-lib; nothing of it differs between 1.33 and 1.37).
//
// Two of them (azure-file, vsphere-volume) are known to be of that kind, but their volumes are neither
// translated nor counted by the scheduler. All other types (nfs, iscsi, rbd, local, hostPath ...) have no CSI
// driver in their place.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/volumes.h"

namespace gs::model {

struct InTreePlugin {
  const char* name;      // "kubernetes.io/gce-pd", as classes call it
  const char* field;     // "gcePersistentDisk", as volumes call it
  const char* driver;    // "pd.csi.storage.gke.io"
  const char* zone_key;  // the driver's label of nodes; "": it has none
  bool is_counted;
};
/// nullptr: none.
[[nodiscard]] const InTreePlugin* inTreePlugin(std::string_view name);
/// The same by the field of a volume.
[[nodiscard]] const InTreePlugin* inTreePluginOf(std::string_view field);

/// "aws://us-east-1a/vol-1" or "vol-1" -> "vol-1". nullopt: it is no volume of EBS.
[[nodiscard]] std::optional<std::string> ebsHandle(std::string_view id);
/// Of a disk of which nobody says where it is.
[[nodiscard]] std::string gceHandle(std::string_view disk);
/// By the labels of its PersistentVolume. nullopt: its zones are of no region.
[[nodiscard]] std::optional<std::string> gceHandle(std::string_view disk, const Labels& labels);
/// Zones by the driver's own key.
[[nodiscard]] VolumeAffinity migratedAffinity(const InTreePlugin& plugin, const VolumeAffinity& affinity,
                                              const Labels& labels);

// Well-known labels, and what they were called before.
inline constexpr const char* kZoneLabel = "topology.kubernetes.io/zone";
inline constexpr const char* kRegionLabel = "topology.kubernetes.io/region";
inline constexpr const char* kBetaZoneLabel = "failure-domain.beta.kubernetes.io/zone";
inline constexpr const char* kBetaRegionLabel = "failure-domain.beta.kubernetes.io/region";
/// The zones of such a label of a volume ("a__b"), sorted, unique; none: one of them is empty, and then the
/// label says nothing.
[[nodiscard]] std::vector<std::string> labelZones(std::string_view label);

}  // namespace gs::model
