// Persistent volumes as values: PersistentVolume and its claim, StorageClass, and what CSI drivers say of
// nodes (core/v1, storage.k8s.io/v1). Only what decides where a pod may run.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/label_selector.h"
#include "model/node_affinity.h"
#include "model/quantity.h"

namespace gs::model {

// Annotations of claims and volumes.
inline constexpr const char* kSelectedNodeKey = "volume.kubernetes.io/selected-node";
inline constexpr const char* kBindCompletedKey = "pv.kubernetes.io/bind-completed";
inline constexpr const char* kBoundByControllerKey = "pv.kubernetes.io/bound-by-controller";
inline constexpr const char* kStorageProvisionerKey = "volume.kubernetes.io/storage-provisioner";
/// A class that makes no volumes: they are there, or not.
inline constexpr const char* kNoProvisioner = "kubernetes.io/no-provisioner";

/// Bits.
enum class AccessMode : std::uint8_t {
  ReadWriteOnce = 1,
  ReadOnlyMany = 2,
  ReadWriteMany = 4,
  ReadWriteOncePod = 8,  // one pod of the whole cluster
  Other = 128,           // of a claim: a mode that we do not know, which no volume has
};
using AccessModes = std::uint8_t;
[[nodiscard]] constexpr bool hasMode(AccessModes modes, AccessMode mode) {
  return (modes & static_cast<AccessModes>(mode)) != 0;
}

/// From which nodes a volume can be reached. Only labels count: a term's fields hold on every node.
struct VolumeAffinity {
  bool is_required = false;     // false: from all
  std::vector<NodeTerm> terms;  // one of them must match; none, though required: from nowhere
  friend auto operator<=>(const VolumeAffinity&, const VolumeAffinity&) = default;
};

/// A zone or region label of a volume: a node with such labels must have one of the values.
struct ZoneLabel {
  std::string key;
  std::vector<std::string> values;  // sorted, unique
  friend auto operator<=>(const ZoneLabel&, const ZoneLabel&) = default;
};

/// What a volume of a type that Kubernetes once served itself is to the CSI driver that serves it now
/// (model/in_tree_volumes.h).
struct Migrated {
  std::string plugin;  // "kubernetes.io/gce-pd"; "": the volume is of no such type
  std::string handle;
  VolumeAffinity affinity;
  std::string trouble;  // why it cannot be said; "": it can
  friend auto operator<=>(const Migrated&, const Migrated&) = default;
};

/// The claim that a volume is bound to, or meant for.
struct ClaimRef {
  ObjectKey key;
  Uid uid;  // "": any of that name
  friend auto operator<=>(const ClaimRef&, const ClaimRef&) = default;
};

struct PersistentVolume {
  ObjectKey key;
  Uid uid;
  Revision revision = 0;
  bool deleting = false;
  bool is_available = false;  // status.phase is Available
  bool is_block = false;      // volumeMode Block, else Filesystem
  bool by_controller = false;
  AccessModes modes = 0;
  std::string storage_class;
  std::string attributes_class;
  Quantity capacity;
  std::optional<ClaimRef> claim;
  VolumeAffinity affinity;
  std::vector<ZoneLabel> zones;
  Labels labels;
  std::string driver;  // of CSI; "": it is no such volume
  std::string handle;
  Migrated migrated;
  friend bool operator==(const PersistentVolume&, const PersistentVolume&) = default;
};

struct PersistentVolumeClaim {
  ObjectKey key;
  Uid uid;
  Revision revision = 0;
  bool deleting = false;
  bool is_lost = false;   // its volume is gone
  bool is_block = false;  // volumeMode Block, else Filesystem
  bool bind_completed = false;
  AccessModes modes = 0;
  Uid owner;  // its controller's
  std::string storage_class;
  std::string attributes_class;
  std::optional<Quantity> size;
  std::optional<LabelSelector> selector;
  std::string volume;                     // "" : none yet
  std::optional<NodeName> selected_node;  // where a pod of it is to run, and its volume is to be made
  std::string provisioner;                // who makes it; "": nobody was told to
  [[nodiscard]] bool isBound() const { return bind_completed && !volume.empty(); }
  friend bool operator==(const PersistentVolumeClaim&, const PersistentVolumeClaim&) = default;
};

struct StorageClass {
  ObjectKey key;
  Uid uid;
  Revision revision = 0;
  std::string provisioner;
  bool waits = false;  // volumeBindingMode WaitForFirstConsumer, else Immediate
  /// Where its volumes can be made: one of them must match, and one without requirements matches nothing.
  /// None: anywhere.
  std::vector<LabelSelector> topologies;
  friend bool operator==(const StorageClass&, const StorageClass&) = default;
};

/// What a node's kubelet says of its CSI drivers. It has the name of the node.
struct CsiNode {
  struct Driver {
    std::string name;
    std::optional<std::int64_t> most;  // volumes that it attaches there; nullopt: any number
    friend auto operator<=>(const Driver&, const Driver&) = default;
  };
  ObjectKey key;
  Uid uid;
  Revision revision = 0;
  std::vector<Driver> drivers;
  std::vector<std::string> migrated;  // in-tree plugins that their drivers serve there; sorted
  [[nodiscard]] const Driver* find(const std::string& name) const {
    for (const Driver& driver : drivers) {
      if (driver.name == name) { return &driver; }
    }
    return nullptr;
  }
  friend bool operator==(const CsiNode&, const CsiNode&) = default;
};

struct CsiDriver {
  ObjectKey key;
  Uid uid;
  Revision revision = 0;
  bool tells_capacity = false;     // spec.storageCapacity: a volume is made only where some is left
  bool must_be_installed = false;  // spec.preventPodSchedulingIfMissing
  friend bool operator==(const CsiDriver&, const CsiDriver&) = default;
};

/// How large a volume of a class can be made on some nodes.
struct CsiStorageCapacity {
  ObjectKey key;
  Uid uid;
  Revision revision = 0;
  std::string storage_class;
  std::optional<LabelSelector> nodes;  // nullopt: none
  std::optional<std::int64_t> most;    // in bytes; nullopt: it does not say, which is nothing
  friend bool operator==(const CsiStorageCapacity&, const CsiStorageCapacity&) = default;
};

struct VolumeAttachment {
  ObjectKey key;
  Uid uid;
  Revision revision = 0;
  std::string attacher;
  NodeName node;
  std::string volume;  // a PersistentVolume; "": an inline one
  friend bool operator==(const VolumeAttachment&, const VolumeAttachment&) = default;
};

}  // namespace gs::model
