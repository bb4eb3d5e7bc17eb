// What a pod mounts, as far as it decides where it may run: claims of persistent volumes, and disks that it
// names itself. (core/v1 Volume.)
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace gs::model {

/// A PersistentVolumeClaim of the pod's namespace.
struct VolumeClaim {
  std::string claim;
  /// A generic ephemeral volume: the claim is made for this pod, and must be its own.
  bool is_its = false;
  friend auto operator<=>(const VolumeClaim&, const VolumeClaim&) = default;
};

/// A disk of a type that Kubernetes once served itself, in spec.volumes. The first four cannot be had by any
/// two pods of a node, and all but Iscsi and Rbd count against what a node can attach. A pod's are sorted,
/// and differ in more than their monitors.
struct InlineDisk {
  enum class Kind : std::uint8_t {
    GcePersistentDisk,
    AwsElasticBlockStore,
    Iscsi,
    Rbd,
    AzureDisk,
    Cinder,
    Portworx,
  };
  Kind kind{};
  std::string name;  // of the disk; Iscsi: the IQN; Rbd: "pool/image"
  bool read_only = false;
  std::vector<std::string> monitors{};  // of Rbd; sorted, unique
  friend auto operator<=>(const InlineDisk&, const InlineDisk&) = default;
};

}  // namespace gs::model
