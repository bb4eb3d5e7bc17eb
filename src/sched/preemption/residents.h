// The pods of each node that use something there: bound, and not finished. For whoever looks for room, who
// asks about all pods of a node at once. Level-triggered: put() says how a pod is now. Which nodes' pods
// changed is noted. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>

#include "model/pod.h"
#include "sched/ledger/change_log.h"

namespace gs::sched {

class Residents {
 public:
  using Pods = std::map<model::Uid, model::PodPtr>;

  /// How that pod is now; one that is unbound or finished is nowhere.
  void put(const model::PodPtr& pod);
  /// It is gone.
  void remove(const model::Uid& uid);

  [[nodiscard]] const Pods& on(const model::NodeName& node) const;
  [[nodiscard]] std::size_t size() const { return node_of_.size(); }
  /// Some pod has a lower priority.
  [[nodiscard]] bool anyBelow(std::int32_t priority) const {
    return !priorities_.empty() && priorities_.begin()->first < priority;
  }
  /// Nodes whose pods changed, in order.
  [[nodiscard]] const ChangeLog<model::NodeName>& changes() const { return changes_; }

 private:
  void remove(const model::Uid& uid, const model::NodeName& next);

  static constexpr std::size_t kMostChanges = 1U << 15;

  std::unordered_map<model::NodeName, Pods> on_;  // none is empty
  std::unordered_map<model::Uid, model::NodeName> node_of_;
  std::map<std::int32_t, std::size_t> priorities_;  // of how many pods; none is of nobody
  ChangeLog<model::NodeName> changes_;
};

}  // namespace gs::sched
