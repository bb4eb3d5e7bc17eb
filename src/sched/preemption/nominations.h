// Nominated pods: each waits for one node, from which others went for it, or which another scheduler named
// (status.nominatedNodeName). Whoever is less important may not take that room: a pod fits there only if it
// fits beside those of its own priority and higher ones that are nominated there (kube-scheduler counts them
// so). That keeps victims that are made again from coming back into the room, and evicted again, for ever.
// Pure; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/ids.h"
#include "model/pod.h"
#include "sched/ledger/node_state.h"
#include "sched/request/request.h"

namespace gs::sched {

struct Nomination {
  model::Uid uid;
  model::NodeName node;
  std::int32_t priority = 0;
  PodRequest request;
  std::int64_t milli = 0;  // that it counts of its namespace's quota
  /// What it says of other pods counts too, and what they say of it; nullptr: nothing of that.
  model::PodPtr pod{};
  std::uint64_t turn = 0;  // set by put(): smaller for those that were nominated to the node before
  friend bool operator==(const Nomination&, const Nomination&) = default;
};

class Ledger;

class Nominations {
 public:
  /// One for each pod: a new one replaces the old one.
  void put(Nomination nomination);
  void remove(const model::Uid& uid);
  void clear();
  [[nodiscard]] const Nomination* of(const model::Uid& uid) const;
  [[nodiscard]] std::size_t size() const { return place_of_.size(); }
  /// Nodes with some, each once: those from that name on, after the last one the first; so many at most.
  [[nodiscard]] std::vector<model::NodeName> nodesFrom(const model::NodeName& name, std::size_t most) const;
  /// Grows with each change.
  [[nodiscard]] std::uint64_t version() const { return version_; }

  /// Those that count for a pod of that priority on that node: not itself, and none of lower priority. Of its
  /// own priority, if it is nominated there itself, only those that were nominated before it: else two could
  /// wait for each other for ever. The most important first, then by uid. However many of lower priority
  /// there are, they cost nothing.
  [[nodiscard]] std::vector<const Nomination*> before(const model::NodeName& node, const model::Uid& self,
                                                      std::int32_t priority) const;
  [[nodiscard]] bool anyBefore(const model::NodeName& node, const model::Uid& self,
                               std::int32_t priority) const;
  /// Those of lower priority there, the least important first. They may not fit any more when this one comes.
  [[nodiscard]] std::vector<model::Uid> below(const model::NodeName& node, std::int32_t priority) const;

 private:
  using Rank = std::pair<std::int64_t, model::Uid>;  // the most important first, then by uid
  [[nodiscard]] static Rank rankOf(const Nomination& one) { return {-std::int64_t{one.priority}, one.uid}; }
  template <class Visit>
  void visitBefore(const model::NodeName& node, const model::Uid& self, std::int32_t priority,
                   const Visit& visit) const;

  std::map<model::NodeName, std::map<Rank, Nomination>> on_;  // none is empty
  std::unordered_map<model::Uid, std::pair<model::NodeName, Rank>> place_of_;
  std::uint64_t version_ = 0;
};

/// Of those before(), the ones that are yet to come: what is reserved there for a pod stands in the ledger.
[[nodiscard]] std::vector<const Nomination*> awaitedBefore(const Nominations& nominations,
                                                           const Ledger& ledger, const model::NodeName& node,
                                                           const model::Uid& self, std::int32_t priority);

/// As far as the node itself counts it: see RequestIf for what pods say of each other.
/// The node as it would be with them there, each with devices that it would get. One that finds none counts
/// by its number of devices.
[[nodiscard]] NodeState withNominated(NodeState node, const std::vector<const Nomination*>& nominated);

}  // namespace gs::sched
