// What the volumes of a pod ask of a node, as a value: what decides the answer and nothing else, so that
// pods of one set mostly ask for the same. A claim by its name is in it only where another pod uses it, or a
// volume is meant for it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "model/pod_volumes.h"
#include "model/volumes.h"
#include "sched/request/pod_reason.h"

namespace gs::sched {

/// A volume that counts against what its driver attaches to a node.
struct Attach {
  std::string driver;
  std::string plugin;  // of an in-tree volume: it counts where the node's driver serves it; "": everywhere
  std::string handle;  // "": one that surely no pod of any node has
  friend auto operator<=>(const Attach&, const Attach&) = default;
};

/// The volume of a claim that is bound.
struct BoundVolume {
  bool is_there = false;
  model::VolumeAffinity affinity;
  model::Migrated migrated;  // without the handle
  friend bool operator==(const BoundVolume&, const BoundVolume&) = default;
};

/// A claim whose volume is chosen or made once a node is.
struct LateClaim {
  std::string storage_class;
  std::string attributes_class;
  model::AccessModes modes = 0;
  bool is_block = false;
  std::optional<model::Quantity> size;
  std::optional<model::LabelSelector> selector;
  std::optional<model::NodeName> selected_node;
  model::ObjectKey key;  // "": no volume is meant for it
  model::Uid uid;        // with `key`
  friend bool operator==(const LateClaim&, const LateClaim&) = default;
};

struct VolumeAsk {
  std::vector<BoundVolume> bound;        // in the pod's order
  std::vector<LateClaim> late;           // in the pod's order
  std::vector<model::ZoneLabel> zones;   // of bound volumes
  std::vector<Attach> attaches;          // sorted; each volume once
  std::vector<model::InlineDisk> disks;  // sorted
  std::vector<model::ObjectKey> in_use;  // claims for one pod only that another one uses; sorted
  bool has_gate = false;                 // which the node's agent must serve (model/gate.h)
  friend bool operator==(const VolumeAsk&, const VolumeAsk&) = default;
  [[nodiscard]] bool empty() const {
    return bound.empty() && late.empty() && zones.empty() && attaches.empty() && disks.empty() &&
           in_use.empty() && !has_gate;
  }
  [[nodiscard]] std::size_t hash() const;
};
/// Why no node that is yet to come can mount them; nullopt: one may.
[[nodiscard]] std::optional<PodReason> keptFromNewNodes(const VolumeAsk& ask);

/// What is to be done for a pod that comes to a node, so that its claims are bound there.
struct VolumeChoices {
  struct Match {
    model::ObjectKey claim;
    model::Uid uid;      // of the claim
    std::string volume;  // that is to be bound to it
    friend bool operator==(const Match&, const Match&) = default;
  };
  std::vector<Match> matches;
  /// Claims that are to be told the node (model::kSelectedNodeKey), so that their volumes are made there.
  std::vector<model::ObjectKey> to_make;
  [[nodiscard]] bool empty() const { return matches.empty() && to_make.empty(); }
  friend bool operator==(const VolumeChoices&, const VolumeChoices&) = default;
};

}  // namespace gs::sched
