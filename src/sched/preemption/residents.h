// The pods of each node that use something there: bound, and not finished. For whoever looks for room, who
// asks about all pods of a node at once. Level-triggered: put() says how a pod is now. Which nodes' pods
// changed is noted. Memory: two references of some 50 bytes each for a pod, no copies. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "model/pod.h"
#include "sched/ledger/change_log.h"

namespace gs::sched {

class Residents {
 public:
  /// By uid, of which a pod is found too.
  struct ByUid {
    using is_transparent = void;
    static const model::Uid& uidOf(const model::PodPtr& pod) { return pod->uid; }
    static const model::Uid& uidOf(const model::Uid& uid) { return uid; }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return uidOf(a) < uidOf(b);
    }
  };
  using Pods = std::set<model::PodPtr, ByUid>;

  /// How that pod is now; one that is unbound or finished is nowhere.
  void put(const model::PodPtr& pod);
  /// It is gone.
  void remove(const model::Uid& uid);

  [[nodiscard]] const Pods& on(const model::NodeName& node) const;
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  /// Some pod has a lower priority.
  [[nodiscard]] bool anyBelow(std::int32_t priority) const {
    return !priorities_.empty() && priorities_.begin()->first < priority;
  }
  /// Nodes whose pods changed, in order.
  [[nodiscard]] const ChangeLog<model::NodeName>& changes() const { return changes_; }

 private:
  struct Hash {
    using is_transparent = void;
    template <class T>
    std::size_t operator()(const T& one) const {
      return std::hash<model::Uid>{}(ByUid::uidOf(one));
    }
  };
  struct Same {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return ByUid::uidOf(a) == ByUid::uidOf(b);
    }
  };
  void remove(const model::Uid& uid, const model::NodeName& next);

  static constexpr std::size_t kMostChanges = 1U << 15;

  std::unordered_map<model::NodeName, Pods> on_;  // none is empty
  std::unordered_set<model::PodPtr, Hash, Same> all_;
  std::map<std::int32_t, std::size_t> priorities_;  // of how many pods; none is of nobody
  ChangeLog<model::NodeName> changes_;
};

}  // namespace gs::sched
