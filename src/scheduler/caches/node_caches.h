// NodeCaches: which kernel caches are extracted on which nodes, and how much that counts when a node is
// chosen for a pod. It is the one part of the scheduler that knows what a kernel cache is. A pure machine.
//
// The allocator asks for one number for a pod and a node (sched::BonusOf), and takes it off the node's
// count of free GPUs. Of nodes with equally good GPUs it prefers the one with the lowest count. The number
// is Config::cache_weight where the node has all caches of the pod; where it has some of them, that
// fraction of the weight, rounded down. So better GPUs come before caches; and caches outweigh fullness by
// as many GPUs as the weight says.
// Weight 0 is off: nothing is watched, and nothing costs anything. With another weight, kinds that are not
// served or may not be read are asked for again every 10 s. Until then no node has any cache (what was
// known before they could not be read any more stays), and nothing else waits for that. A node whose object
// is not known yet has none.
// Its reflectors run as long as the process, also while it does not lead. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/readiness.h"
#include "controller/watches.h"
#include "kapi/call.h"
#include "model/ids.h"
#include "scheduler/caches/cache_index.h"

namespace gs::scheduler {

class NodeCaches {
 public:
  using Keys = std::vector<model::ObjectKey>;  // of caches

  /// `weight`: 0 off.
  NodeCaches(std::int32_t weight, Rng& rng, controller::Owners owners = {});

  [[nodiscard]] bool on() const { return weight_ > 0; }
  void start(Now now, kapi::Effects& out) { watches_.start(now, out); }
  /// False: it is no event of its watches.
  bool handle(const kapi::MachineEvent& event, Now now, kapi::Effects& out) {
    return parts_.handle(event, now, out);
  }
  void tick(Now now, kapi::Effects& out) { watches_.tick(now, out); }
  /// Node objects (namespace, node) of which bonus() and saidOf() say something else since this was last
  /// asked.
  [[nodiscard]] std::vector<model::ObjectKey> takeChanged() { return std::exchange(changed_, {}); }
  /// As that of engine::Informers.
  [[nodiscard]] const std::string& failure() const { return watches_.failure(); }
  /// As that of engine::Informers. Nothing of it is needed.
  void note(Readiness& out) const;

  /// sched::BonusOf, of the caches that a pod mounts.
  [[nodiscard]] std::int32_t bonus(const Keys& caches, const model::NodeName& node) const;
  /// Of a pod that goes to this node: "1 of 2 kernel caches extracted there"; "" it has none.
  [[nodiscard]] std::string saidThere(const Keys& caches, const model::NodeName& node) const;
  /// Of a pod that waits: "Kernel caches: ml/vectors on 3 node(s), weights on 0 node(s)."; "" it has none.
  [[nodiscard]] std::string saidOf(const Keys& caches) const;

  [[nodiscard]] const CacheIndex& index() const { return index_; }

 private:
  void apply(const controller::Change& change);
  [[nodiscard]] std::size_t extractedThere(const Keys& caches, const model::NodeName& node) const;

  const std::int32_t weight_;
  controller::Parts parts_;
  controller::Watches watches_;
  CacheIndex index_;
  std::vector<model::ObjectKey> changed_;
};

}  // namespace gs::scheduler
