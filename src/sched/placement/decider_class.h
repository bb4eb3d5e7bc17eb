// What the Decider keeps of a class of pods, and of the nodes for it (sched/placement/decider.h). Included by
// decider.cc only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sched/filters/filter.h"
#include "sched/ledger/recent_changes.h"
#include "sched/placement/choice_memo.h"
#include "sched/placement/decider.h"
#include "sched/placement/near_look.h"
#include "sched/placement/node_ranking.h"

namespace gs::sched::decider {

using NodeIndex = Ledger::NodeIndex;

inline constexpr std::size_t kNumbersPerLook = 16;  // that are passed in the time of one look at a node

/// Which node was chosen by the class's wishes, and from which state.
struct MostWished {
  std::uint64_t edits = 0;
  std::uint64_t version = 0;  // NearStanding::wishesVersion
  NearCellSet open = 0;
  std::optional<NodeIndex> node;
};

/// How all nodes stand for one class.
struct Order {
  NodeRanking ranking;
  std::vector<std::uint64_t> seen;     // NodeState::versionFor that the key is from; 0: never
  std::vector<std::uint8_t> facts_ok;  // refuseFacts() had nothing to say at that version
  RecentChanges::Moment moment = 0;    // that it is from
  RecentChanges::Moment bonuses = 0;   // the same, of the log of bonuses
  std::uint64_t epoch = 0;             // of the ranks
  std::uint64_t near_epoch = 0;        // NearStanding::epoch
  /// The quota allows more now, or less: nodes of these models are to be looked at again.
  std::set<std::string> models;
  bool all_anew = false;  // all are, whatever their model
  RejectionBoard board;
  /// Of a class with wishes: what the node is worth by the pod's preferred node affinity.
  std::vector<std::int32_t> liked;
  std::uint64_t edits = 0;  // of the ranking
  MostWished wished;
  bool refused = false;  // the board was asked
  bool unbuilt = false;  // keys were prepared; the ranking is of before that
};

/// How far the best of a few changed nodes is known, of a class without an order. Good while the best node
/// and the bonuses are as they were.
struct Few {
  RecentChanges::Moment reached = 0;
  RecentChanges::Moment nowhere = 0;  // before the first of them that fits
  RecentChanges::Moment bonuses = 0;
  std::optional<NodeIndex> best;
  NodeRanking::Key key;
  std::uint64_t version = 0;  // of the best, NodeState::versionFor
};

/// The best node, if one fits. Not done: `end` looks were reached before that was known.
struct Found {
  bool done = false;
  std::optional<NodeIndex> best;
};

struct Class {
  PodRequest request;
  Filter::Needs parts{};  // of the request
  ChoiceMemo::ShapeId shape = 0;
  std::unique_ptr<Order> order;
  std::unique_ptr<Few> few;
  std::list<EquivalenceClass>::iterator place{};  // among those with an order
  /// Nodes that did not change after that moment do not take it,
  /// as long as the quota allows no other models than `allowed`.
  RecentChanges::Moment nowhere = 0;
  NearLook near;  // when other pods let it into none of near.held, either
  std::vector<std::string> allowed;
  std::uint64_t volumes_moment = 0;  // VolumeSelection::moment() that all of this is from
  /// Of a class that one node may take: the NodeState::versionFor() at which that one refused; 0: never.
  std::uint64_t refused_at = 0;
  std::size_t looks = 0;  // that an order would have saved, about
};

[[nodiscard]] inline const NearStanding* standingOf(const Class& c) { return c.request.near.standing.get(); }
[[nodiscard]] inline std::uint64_t nearEpochOf(const Class& c) {
  return standingOf(c) == nullptr ? 0 : standingOf(c)->epoch();
}

/// Its best node is not that of a ranking: what is wished is compared among the nodes that fit.
[[nodiscard]] inline bool hasWishes(const Class& c) {
  return !c.request.node_affinity.preferred.empty() ||
         (standingOf(c) != nullptr && standingOf(c)->hasWishes());
}

/// What is known of nodes counts while cells are the same ones and those that hold it back are closed.
inline void followNear(Class& c) {
  if (standingOf(c) == nullptr) { return; }
  const std::uint64_t epoch = nearEpochOf(c);
  const bool is_new = std::exchange(c.near.epoch, epoch) != epoch;
  if (!is_new && (c.near.held & standingOf(c)->openCells()) == 0) { return; }
  c.nowhere = 0;
  c.near.held = 0;
}

/// What was found of nodes counts no more: all are to be looked at.
inline void forgetFound(Class& c) {
  if (c.order) { c.order->all_anew = true; }
  c.nowhere = 0;
  c.few.reset();
  c.refused_at = 0;
}

/// It is not true any more where volumes changed that are not of single nodes.
inline void followVolumes(Class& c) {
  if (c.request.volumes == nullptr) { return; }
  const std::uint64_t moment = c.request.volumes->moment();
  if (std::exchange(c.volumes_moment, moment) != moment) { forgetFound(c); }
}

/// From now on the quota leaves the class these terms. True: that may change where it fits.
inline bool bindTo(Class& c, const QuotaTerms& now) {
  QuotaTerms& terms = c.request.quota->terms;
  if (terms == now) { return false; }
  const bool alike = terms.model_label == now.model_label && terms.pool_label == now.pool_label &&
                     terms.pools == now.pools;  // but for the models that may be used
  if (c.order) {
    std::set_symmetric_difference(terms.models.begin(), terms.models.end(), now.models.begin(),
                                  now.models.end(), std::inserter(c.order->models, c.order->models.end()));
    c.order->all_anew |= !alike;
  }
  const bool tried = std::includes(c.allowed.begin(), c.allowed.end(), now.models.begin(), now.models.end());
  if (!alike || !tried) { c.nowhere = 0; }
  c.few.reset();
  c.refused_at = 0;
  terms = now;
  return true;
}

}  // namespace gs::sched::decider
