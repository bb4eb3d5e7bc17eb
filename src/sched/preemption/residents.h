// The pods of each node that use something there: bound, and not finished. For whoever looks for room, who
// asks about all pods of a node at once. Its owner keeps the pods, and says of each what it was and what it
// is. Which nodes' pods changed is noted. Memory: a reference for a pod, no copies. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "model/pod.h"
#include "sched/ledger/change_log.h"

namespace gs::sched {

class Residents {
 public:
  /// Of one node, by uid.
  class Pods {
   public:
    [[nodiscard]] auto begin() const { return pods_.begin(); }
    [[nodiscard]] auto end() const { return pods_.end(); }
    [[nodiscard]] bool empty() const { return pods_.empty(); }
    [[nodiscard]] std::size_t size() const { return pods_.size(); }
    /// end(): it is not there.
    [[nodiscard]] std::vector<model::PodPtr>::const_iterator find(const model::Uid& uid) const;
    [[nodiscard]] bool contains(const model::Uid& uid) const { return find(uid) != end(); }

   private:
    friend class Residents;
    void put(const model::PodPtr& pod);
    void remove(const model::PodPtr& pod);
    void sort();
    std::vector<model::PodPtr> pods_;
    bool is_sorted_ = true;  // else when somebody asks: 100,000 pods are told at once, and few are asked for
  };

  /// A pod was `before`, the very value that was told of it last, and is `after`; nullptr: it was not known,
  /// or is gone. One that is unbound or finished is nowhere.
  void changed(const model::PodPtr& before, const model::PodPtr& after);

  /// Until the next change.
  [[nodiscard]] const Pods& on(const model::NodeName& node) const;
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Some pod has a lower priority.
  [[nodiscard]] bool anyBelow(std::int32_t priority) const {
    return !priorities_.empty() && priorities_.begin()->first < priority;
  }
  /// Nodes whose pods changed, in order.
  [[nodiscard]] const ChangeLog<model::NodeName>& changes() const { return changes_; }

 private:
  void put(const model::PodPtr& pod);
  void remove(const model::PodPtr& pod);

  static constexpr std::size_t kMostChanges = 1U << 15;

  mutable std::unordered_map<model::NodeName, Pods> on_;  // none is empty; on() sorts
  std::size_t size_ = 0;
  std::map<std::int32_t, std::size_t> priorities_;  // of how many pods; none is of nobody
  ChangeLog<model::NodeName> changes_;
};

}  // namespace gs::sched
