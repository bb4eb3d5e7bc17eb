// One decision: which node and which devices, or why none. Pure over the ledger; incremental.
//
// Equal requests form a class. A class keeps, for every node, whether it fits and with what score, ordered by
// (score descending, fewer free devices, name); between decisions only nodes that the ledger's change log
// names are looked at again, and of those only what is used there, unless the node's facts changed. A
// decision costs O(changed nodes * log nodes), not O(nodes). Device choices are remembered by (devices'
// topology, free devices, what is asked), so nodes of one make share them.
// Rules: what refuses a node is sched/fit.h; score and device choice are sched/placement.h. Ties across
// nodes: best score, then fewer free devices, then name. One answer for one state, whatever order led to it.
// The node orders of at most kMaxOrders classes are kept, fewer when there are very many nodes
// (kMaxOrderedNodes in all, but never fewer than 8 classes); the least recently used goes (it is rebuilt by a
// full scan when it comes back). Requests themselves are kept until retire().
// One thread. The Ledger must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sched/explain.h"
#include "sched/fit.h"
#include "sched/ledger.h"
#include "sched/reason.h"
#include "sched/request.h"

namespace gs::sched {

using ClassId = std::uint32_t;
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
  explicit Decider(const Ledger& ledger);
  ~Decider();

  /// The class of `request`; the same id for equal requests until it is retired. Ids are never used again.
  ClassId classOf(const PodRequest& request);
  [[nodiscard]] const PodRequest& request(ClassId id) const;
  /// No pod has this class any more: what is known of it is forgotten. An unknown id: no effect.
  void retire(ClassId id);

  [[nodiscard]] std::size_t classes() const;
  void retireAllBut(const std::function<bool(ClassId)>& wanted);

  /// Quotas changed, or what is used of them: classes that are bound by one go by `bound(ns, milli)` from now on. True: some
  /// class stands otherwise.
  using BoundOf = std::function<std::optional<QuotaBound>(const std::string& ns, std::int64_t milli)>;
  bool followQuotas(const BoundOf& bound);

  /// nullopt: fits nowhere now; refusal() says why.
  [[nodiscard]] std::optional<Placed> decide(ClassId id);
  /// Would decide() place it? Cheap when nothing changed.
  [[nodiscard]] bool fits(ClassId id);
  /// Why it fits nowhere (sched/explain.h). Asking again costs a look at the nodes that changed since, and a
  /// pass over the numbers of all nodes.
  [[nodiscard]] Refusal refusal(ClassId id);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gs::sched
