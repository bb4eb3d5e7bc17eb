// What a pod asks of one node, if other pods were there than are: for who asks whether others have to go for
// it. NodeWithout (sched/placement/what_if.h) knows what a node has and gives: GPUs, amounts, ports. Here is
// what pods say of each other, and what they mount together: affinity, anti-affinity of both sides, spread,
// volumes. Pods of that node go and come back, and pods that are nominated to it come.
// Of a pod that goes, what the others say of it goes too. Of a pod that comes, only what it and the one who
// asks say of each other; not what it mounts.
// Good until anything changes; of pods that ended and still have GPUs nothing is known here. One thread.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "model/pod.h"
#include "sched/ledger/anti_affinity.h"
#include "sched/ledger/node_state.h"
#include "sched/near/near.h"
#include "sched/request/request.h"

namespace gs::sched {

/// Who knows which pods are where. nullptr: nobody, and what pods say of each other stays as it is.
struct PodsThere {
  const AntiAffinity* anti_affinity = nullptr;
  const Near* near = nullptr;
};

class RequestIf {
 public:
  RequestIf(PodRequest request, const NodeState& node, PodsThere others);
  RequestIf(const RequestIf&) = delete;
  RequestIf& operator=(const RequestIf&) = delete;

  /// A pod of that node goes; after that it may come back.
  void go(const model::Pod& pod) { move(pod, true); }
  void comeBack(const model::Pod& pod) { move(pod, false); }
  /// It counts as being there.
  void come(const model::Pod& nominated, const model::Pod& asks);
  /// One that came wants no such pod near it.
  [[nodiscard]] bool isKeptAway() const { return is_kept_away_; }

  /// As it is to be asked now.
  [[nodiscard]] PodRequest& request() { return request_; }
  /// Rules and terms that were compared with pods since the last call.
  [[nodiscard]] std::size_t takeCost() { return std::exchange(cost_, 0); }

 private:
  class Volumes;
  void move(const model::Pod& pod, bool goes);

  const NodeState& node_;
  PodsThere others_;
  PodRequest request_;
  std::shared_ptr<NearStandingIf> near_;
  std::shared_ptr<Volumes> volumes_;
  std::map<model::TermId, int> closed_;  // of the terms that keep it away: by how many pods of its domain
  bool is_kept_away_ = false;
  std::size_t cost_ = 0;
};

}  // namespace gs::sched
