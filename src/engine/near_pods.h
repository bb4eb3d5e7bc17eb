// Which pods count as being where, for what pods say of each other: affinity, anti-affinity and spread.
//
// A pod is on a node when it is bound to it and has not ended, or while it is reserved there: so whoever is
// decided next knows of it. It tells both sides: sched::Near counts it for those who mean it, and
// sched::AntiAffinity closes nodes to those whom it means. When it is the first with such a term, the pods
// that wait and are meant are touched: they ask for something else from now on. So it is with what pods that
// are there would only like of those that come.
// Namespaces count by their labels; where these change, the pods that wait in them are touched: what a
// Namespace costs is these.
// One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "controller/reflector.h"
#include "engine/cache.h"
#include "engine/touched.h"
#include "model/pod.h"
#include "sched/doors/door.h"
#include "sched/ledger/anti_affinity.h"
#include "sched/near/near.h"
#include "sched/request/request.h"

namespace gs::engine {

class NearPods {
 public:
  NearPods(const Cache& cache, sched::Near& near, sched::AntiAffinity& anti_affinity, Touched& touched)
      : cache_{cache}, near_{near}, anti_affinity_{anti_affinity}, touched_{touched} {}

  /// Versions of one pod, after the cache knows; nullptr: there was none, or it is gone.
  void podChanged(const model::Pod* before, const model::Pod* after);
  /// See sched::Ledger::setReservedListener().
  void reserved(const model::NodeName& node, const model::Uid& uid, bool is);
  /// After the ledger knows.
  void nodeChanged(const model::NodeName& name);
  void namespaceChanged(const controller::Change& change);

  /// The pods that wait there ask for something else from now on.
  void touchWaitingIn(const std::string& ns);

  /// What the request has to know of other pods. Why it cannot be said yet, if so.
  [[nodiscard]] std::optional<sched::Blocked> ask(const model::Pod& pod, sched::PodRequest& request);
  /// Waiting pods that were passed, and anti-affinity terms that they were compared with, so far.
  [[nodiscard]] std::uint64_t compared() const { return compared_; }

 private:
  using There = std::optional<sched::NearPod>;
  [[nodiscard]] There thereNow(const model::Pod* pod) const;
  void move(const model::Uid& uid, const There& was, const There& is);
  void close(const model::Pod& pod, const model::NodeName& node);
  void askLikings(const model::Pod& pod, const model::Labels& labels, sched::PodRequest& request) const;
  void touchIn(const std::set<model::Uid>& uids);
  void touchMeantBy(const model::Pod& pod, const std::vector<model::AntiAffinityTerm>& terms);
  [[nodiscard]] const model::Labels& labelsOf(const std::string& ns) const;

  const Cache& cache_;
  sched::Near& near_;
  sched::AntiAffinity& anti_affinity_;
  Touched& touched_;
  std::unordered_map<model::Uid, model::NodeName> reserved_;
  std::unordered_map<model::Uid, sched::NearPod> by_reservation_;  // that count for it, not bound
  std::map<std::string, std::set<model::Uid>> unbound_;            // by namespace, pods that wait, anybody's
  std::set<std::string> namespaces_;                               // that are known
  std::uint64_t compared_ = 0;
};

}  // namespace gs::engine
