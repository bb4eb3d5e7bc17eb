// Unschedulable: the pods that fit no node now, in classes of equal requests. They wait until something
// changes that may let one of them in. A part of the scheduler's; one thread.
//
// There may be thousands of classes. So each of three jobs goes through them in turn and does a bounded
// part of its work at each event:
//   - activateFitting(): puts a class back into the queue once a node may take one of its pods. Of each
//     class it looks only at the nodes that changed since its last turn, and may stop among them: `c`
//     classes and `n` changed nodes take at most 1 + c / kClassesPerTurn + c * n / kLooksPerTurn events. A
//     class that only one node can take (each pod with a map is such a class) has a turn when that node
//     changed, and costs nothing else;
//   - refresh(): brings the messages of waiting pods up to date. Soon, when the kind of reason changed;
//     with the sweep, when only numbers in the text did. It works out the text again only where something
//     changed for the class: a node that may take it, its quota, or how many nodes there are;
//   - tellSome(): gives the message to pods that have none yet.
// And whatever was noted of changes, lookAgainAtSome() has every class looked at by all nodes within
// some minutes, as kube-scheduler does.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/caches/fetch_first.h"
#include "scheduler/caches/node_caches.h"
#include "scheduler/pending/pending_pods.h"

namespace gs::scheduler {

class Unschedulable : public controller::Part {
 public:
  /// At nodes (Decider::looks, which is what they cost): after so many for unschedulable pods, and again for
  /// ready ones, another event has its turn.
  static constexpr std::uint64_t kLooksPerTurn = 8'192;

  Unschedulable(Context& context, PendingPods& pending, const NodeCaches& node_caches,
                FetchFirst& fetch_first)
      : c_{context}, pending_{pending}, node_caches_{node_caches}, fetch_first_{fetch_first} {
    c_.parts.add(*this);
  }

  /// Nothing fits a pod of that class: all of them wait, and for the same reason.
  void reject(sched::EquivalenceClass pod_class);
  /// It joins a class, and is told what the class is: nothing fits but where it was tried in vain.
  void joined(const model::Pod& pod, sched::EquivalenceClass pod_class);
  /// Pods whose backoff is over wait in these classes again: they are told, and the classes are looked at.
  void rejoined(const std::vector<sched::EquivalenceClass>& classes);
  /// Hears of each pod that was told that it fits nowhere.
  void alsoHears(std::function<void(const model::Pod&)> hears) { hears_ = std::move(hears); }
  void activateFitting();
  /// A part of all classes, in turn: with each sweep, of which kSweepsForAll come to all. Where there are
  /// very many, on many nodes, it takes longer: kMostLooksAgain at nodes come of it.
  void lookAgainAtSome();
  static constexpr std::size_t kSweepsForAll = 8;
  static constexpr std::size_t kMostLooksAgain = 1U << 20;
  /// Something changed that may let these in.
  void lookAt(const std::vector<sched::EquivalenceClass>& classes);
  void refresh(bool numbers_too);
  /// Kernel caches of this namespace are on other nodes than they were: by the sweep, who waits with them is
  /// told.
  void cachesChanged(const std::string& ns) { caches_changed_.insert(ns); }
  /// Something else is to be said of this class, soon.
  void readSoon(sched::EquivalenceClass pod_class);
  void tellSome();
  /// Requests that no pod makes any more are forgotten, when there are many.
  void retireClasses();
  /// Some were not looked at yet that may fit.
  [[nodiscard]] bool mayFit() const { return unchecked_ > 0 || !woken_.empty(); }
  [[nodiscard]] bool hasUntold() const { return !untold_.empty(); }

  void tick(Now now, kapi::Effects& out) override;
  [[nodiscard]] std::optional<Mono> nextDue() const override { return refresh_at_; }
  void reset() override;

 private:
  std::vector<model::Uid> markUnschedulable(sched::EquivalenceClass pod_class);
  void reject(sched::EquivalenceClass pod_class, sched::Rejection now);
  [[nodiscard]] bool knowsHolders(const sched::Rejection& rejection) const;
  [[nodiscard]] std::string textOf(sched::EquivalenceClass pod_class, sched::Rejection rejection) const;
  void tellSoon(sched::EquivalenceClass pod_class, std::vector<model::Uid> pods);
  void refreshSoon();
  void beginRound(bool numbers_too);
  void addThoseWithCaches();
  bool readAnew(sched::EquivalenceClass pod_class);
  void readAnew(sched::EquivalenceClass pod_class, sched::Rejection now);
  void lookAtAll();
  void noteChanges();
  void wake(const sched::NodeState& node);
  void lookAtWoken(std::uint64_t until);
  bool look(sched::EquivalenceClass pod_class, std::uint64_t until);

  Context& c_;
  PendingPods& pending_;
  const NodeCaches& node_caches_;
  FetchFirst& fetch_first_;
  std::function<void(const model::Pod&)> hears_;
  std::map<sched::EquivalenceClass, Rejection>
      words_;  // what pods of a class are told while it is unschedulable; kept longer
  std::map<sched::EquivalenceClass, std::vector<model::Uid>>
      untold_;  // of those, who is to be told; no list is empty
  // Changes of the ledger up to which unschedulable classes were looked at.
  std::uint64_t checked_changes_ = 0;
  std::uint64_t checked_closings_ = 0;
  std::uint64_t checked_comings_ = 0;
  std::uint64_t checked_wide_ = 0;
  std::size_t unchecked_ = 0;  // of those that any node may take, how many were not looked at since
  std::set<sched::EquivalenceClass> woken_;  // others that are to be looked at, mostly of one node
  sched::EquivalenceClass last_woken_ = 0;
  sched::EquivalenceClass last_again_ = 0;
  std::size_t activated_ = 0;  // in this turn
  sched::EquivalenceClass last_checked_ = 0;
  // Classes of which something else may be said now. Of any class that is not unschedulable they mean
  // nothing: it is rejected anew before it is again.
  std::set<sched::EquivalenceClass> stale_;  // to be read in the next round
  bool all_stale_ = false;
  std::set<sched::EquivalenceClass> round_;                              // in this one
  bool round_tells_numbers_ = false;                                     // as well as kinds
  std::pair<sched::EquivalenceClass, sched::RejectionBoard> half_read_;  // the one that is being read
  std::set<sched::EquivalenceClass> other_numbers_;  // they were read: to be told by the sweep
  std::set<std::string> caches_changed_;             // namespaces
  std::optional<Mono> refresh_at_;
};

}  // namespace gs::scheduler
