// Decider: for a pod, which node and which of its devices, or why no node takes it. Pure: it reads the
// ledger and changes nothing. Between two decisions it looks only at nodes that changed.
//
// Which node: of those that the request fits (sched/placement/fit.h), the one
//   1. with the best score for the devices that it would give (sched/placement/placement.h);
//   2. of these, the one that has most of what the pod would like and does without: preferred affinity,
//      spread with ScheduleAnyway, no taint with PreferNoSchedule (sched/placement/wishes.h);
//   3. of these, the fullest: the one with the fewest free devices. A node may have something else that the
//      pod would like, such as its kernel caches. It then counts as having some free devices fewer than it
//      has; that number is the node's bonus (BonusOf in sched/request/request.h), and 0 for most pods;
//   4. of these, the first by name.
// One state of the ledger gives one answer, whatever order of events led to it.
//
// Pods with equal requests form a class and share all work. What is kept of a class:
//   - An order of all nodes, by the points above; of 2 only the taints are in it. Only nodes that changed are
//     looked at again, and of those only what is in use there, unless the node's facts (labels, taints ...)
//     changed. So a decision costs O(changed nodes * log nodes), not O(nodes). Only for a class that wishes
//     for more than 2's taints the nodes whose devices are equally good are compared at each decision:
//     O(nodes that fit), and a few ns for each. At most kMaxOrders classes have an order, fewer where there
//     are very many nodes (kMaxOrderedNodes in all, but never fewer than 8 classes). When there is no room,
//     the order that was not used for longest is dropped, for the sake of a class that fits somewhere.
//   - Without an order, one number: the last moment at which the class fitted no node. Only nodes that
//     changed since can take it. So a class that waits costs a look at those, and no memory for each node.
//   - Of a class that names its one node (PodRequest::on_node), neither: that node is found by its name.
// Which devices of a node are best depends only on its topology, on its free devices and on what is asked.
// That choice is remembered, so nodes of one make share it.
// Requests are kept until retire(). One thread. The Ledger must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sched/ledger/ledger.h"
#include "sched/ledger/quota_index.h"
#include "sched/placement/explain.h"
#include "sched/placement/fit.h"
#include "sched/request/reason.h"
#include "sched/request/request.h"

namespace gs::sched {

using EquivalenceClass = std::uint32_t;
inline constexpr std::size_t kMaxOrders = 256;
inline constexpr std::size_t kMaxOrderedNodes = 1U << 21;

struct Placed {
  model::NodeName node;
  std::vector<int> ids;  // ascending; empty when no exact devices are chosen
  std::int64_t score = 0;
  friend bool operator==(const Placed&, const Placed&) = default;
};

class Decider {
 public:
  explicit Decider(const Ledger& ledger, std::size_t most_orders = kMaxOrders);
  ~Decider();
  /// Before the first request. Without it no node has a bonus.
  void setBonus(BonusOf bonus_of);
  /// It says something else of that node now. That is no change for who waits: a bonus lets nobody in. One
  /// that nothing is known of: no effect.
  void bonusChanged(const model::NodeName& node);

  /// The class of `request`; the same id for equal requests until it is retired. Ids are never used again.
  EquivalenceClass classOf(const PodRequest& request);
  [[nodiscard]] const PodRequest& request(EquivalenceClass id) const;
  /// No pod has this class any more: what is known of it is forgotten. An unknown id: no effect.
  void retire(EquivalenceClass id);

  [[nodiscard]] std::size_t classes() const;
  /// Retires classes that `wanted` is false for, `most` of them in one call.
  void retireAllBut(const std::function<bool(EquivalenceClass)>& wanted, std::size_t most);

  /// What is used of the quotas changed, or (`all`) the quotas themselves. Classes that a quota binds go by
  /// it from now on. Returns those for which that changes where they may be placed.
  std::vector<EquivalenceClass> followQuotas(const QuotaIndex::RoomOf& room_of, bool all);

  /// nullopt: fits nowhere now; rejection() says why.
  [[nodiscard]] std::optional<Placed> decide(EquivalenceClass id);
  /// Does some of what decide() takes, about so many looks of it. True: no more than a look or two is left.
  /// False: it goes on there when it is asked again.
  [[nodiscard]] bool prepare(EquivalenceClass id, std::uint64_t most_looks);
  /// Would decide() place it? Cheap when nothing changed.
  [[nodiscard]] bool fits(EquivalenceClass id) { return look(id, kAnyNumber) == Standing::Fits; }
  /// As fits(), in parts: after about so many looks it stops with Unknown,
  /// and goes on there when it is asked again.
  enum class Standing : std::uint8_t { Fits, Nowhere, Unknown };
  [[nodiscard]] Standing look(EquivalenceClass id, std::uint64_t most_looks);
  /// The next answer about it is from a look at all nodes, whatever was said of changes: for whoever does not
  /// want to rely on that.
  void lookAnew(EquivalenceClass id);
  /// Why it fits nowhere (sched/placement/explain.h). Asking again costs a look at the nodes that changed
  /// since, and a pass over the numbers of all nodes; of a class without an order a look at all nodes.
  [[nodiscard]] Rejection rejection(EquivalenceClass id);
  /// The same in parts (RejectionBoard::catchUp). nullopt: it is not done, and goes on there when it is asked
  /// again. `so_far` keeps what is known of a class without an order until then: nothing of another class.
  [[nodiscard]] std::optional<Rejection> rejection(EquivalenceClass id, std::uint64_t most_looks,
                                                   RejectionBoard& so_far);
  /// The rejection of this class is remembered by node, or is one node's.
  [[nodiscard]] bool remembersRejection(EquivalenceClass id) const;

  /// What all of this has cost so far, in looks at nodes with a few devices; a look at one with very many,
  /// or a search for a set among them, and other work count as the looks that take as long, about.
  [[nodiscard]] std::uint64_t looks() const;

 private:
  static constexpr std::uint64_t kAnyNumber = ~std::uint64_t{0};
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gs::sched
