// Spread for pods that say none of their own (kube-scheduler's defaultConstraints of PodTopologySpread), and
// the objects by which it is known whose like a pod is: Services, ReplicationControllers, ReplicaSets and
// StatefulSets.
#pragma once

#include <string>
#include <vector>

#include "model/ids.h"
#include "model/label_selector.h"
#include "model/pod_affinity.h"

namespace gs::model {

struct DefaultSpread {
  std::vector<SpreadConstraint> constraints{};
  /// kube-scheduler's own (defaultingType System): a node that lacks the label of one counts for the others.
  bool is_system = false;
  [[nodiscard]] bool on() const { return !constraints.empty(); }
  friend bool operator==(const DefaultSpread&, const DefaultSpread&) = default;
};

/// One of these objects: the pods of its namespace that it means.
struct PodOwner {
  ObjectKey key;
  Uid uid;
  Revision revision = 0;
  LabelSelector pods;  // without requirements: it does not say
  friend bool operator==(const PodOwner&, const PodOwner&) = default;
};

}  // namespace gs::model
