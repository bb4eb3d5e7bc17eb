// PodDisruptionBudgets (policy/v1) as kube-scheduler's preemption reads them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/label_selector.h"
#include "model/pod.h"

namespace gs::model {

/// Of the condition DisruptionTarget of a pod that has to go for one of higher priority.
inline constexpr const char* kPreemptionReason = "PreemptionByScheduler";

struct DisruptionBudget {
  ObjectKey key;
  Uid uid;
  Revision revision = 0;
  /// Which pods of its namespace it protects; with no requirement: all. nullopt: none. (A selector that is
  /// absent or empty selects none for kube-scheduler, though it selects all for the API server's evictions.)
  std::optional<LabelSelector> pods;
  std::int64_t allowed = 0;            // so many more may go now: status.disruptionsAllowed
  std::vector<std::string> disrupted;  // names of pods that are counted as gone already; sorted
  friend bool operator==(const DisruptionBudget&, const DisruptionBudget&) = default;

  /// A pod without labels is protected by none.
  [[nodiscard]] bool protects(const Pod& pod) const {
    return pods && pod.key.ns == key.ns && !pod.labels.empty() && pods->matches(pod.labels);
  }
  [[nodiscard]] bool countsAsGone(const Pod& pod) const {
    return std::binary_search(disrupted.begin(), disrupted.end(), pod.key.name);
  }
};

}  // namespace gs::model
