// Whose going breaks a PodDisruptionBudget, as kube-scheduler's preemption counts it: of the pods that may
// have to go, the most important first, each takes one off every budget that protects it; those for which
// one of their budgets has none left would break it. Who is counted as gone by the budget already takes none.
//
// A pod that several budgets protect takes one off each of them, as in kube-scheduler 1.33. Since 1.37 that
// one stops at the first budget that is broken, in an order that changes from one time to the next: it says
// the same of every pod that one budget protects, which the eviction API asks for.
//
// Which budgets protect a pod is remembered until the pod, or the selector of a budget of its namespace,
// changes: what a pod costs is its namespace's budgets, once. So much is remembered at most, however many
// budgets somebody makes for however many pods. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/disruption.h"
#include "model/object.h"
#include "model/pod.h"

namespace gs::sched {

class Budgets {
 public:
  void put(model::Ptr<model::DisruptionBudget> budget);
  void remove(const model::ObjectKey& key);

  /// By position of `pods`, which are the most important first.
  [[nodiscard]] std::vector<bool> broken(const std::vector<const model::Pod*>& pods);

  [[nodiscard]] std::size_t size() const { return size_; }
  /// Selectors that were compared with pods since the last call, or as much of other work.
  [[nodiscard]] std::size_t takeCost() { return std::exchange(cost_, 0); }
  /// Pods, and for each the budgets that protect it.
  [[nodiscard]] std::size_t remembered() const { return remembered_; }
  static constexpr std::size_t kMostRemembered = 1U << 18;

 private:
  static constexpr std::size_t kProtectorsPerCost = 16;  // to go through those that are known
  using Slot = model::Ptr<model::DisruptionBudget>;
  struct OfNamespace {
    std::map<std::string, Slot> by_name;
    std::uint64_t epoch = 0;  // of who protects whom
  };
  struct Known {
    model::Revision revision = 0;
    std::uint64_t epoch = 0;
    std::vector<const Slot*> protectors;
  };
  [[nodiscard]] const std::vector<const Slot*>& protectorsOf(const model::Pod& pod, const OfNamespace& of);

  std::map<std::string, OfNamespace> namespaces_;
  std::unordered_map<model::Uid, Known> known_;
  std::uint64_t epochs_ = 0;
  std::size_t size_ = 0;
  std::size_t cost_ = 0;
  std::size_t remembered_ = 0;
};

}  // namespace gs::sched
