// One decision: which node and which devices, or why none. Pure over the ledger; incremental.
//
// Equal requests form a class. A class keeps, for every node, whether it fits and with what score, ordered by
// (score descending, fewer free devices, name); between decisions only nodes that the ledger's change log names are
// looked at again. A decision costs O(changed nodes * devices + log nodes), not O(nodes).
// Rules: what refuses a node is in reason order (sched/reason.h); score and device choice are sched/placement.h. Ties across nodes:
// best score, then fewer free devices, then name. One answer for one state, whatever order led to it.
// At most kMaxClasses classes are remembered; the least recently used goes (it is rebuilt by a full scan when it comes back).
// One thread. The Ledger must outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sched/ledger.h"
#include "sched/reason.h"
#include "sched/request.h"

namespace gs::sched {

using ClassId = std::uint32_t;

struct Placed {
  model::NodeName node;
  std::vector<int> ids;  // ascending; empty when no exact devices are chosen
  std::int64_t score = 0;
};

class Decider {
 public:
  explicit Decider(const Ledger& ledger);
  ~Decider();

  /// The class of `request`; the same id for equal requests for the Decider's life.
  ClassId classOf(const PodRequest& request);
  [[nodiscard]] const PodRequest& request(ClassId id) const;

  /// nullopt: fits nowhere now; explain() says why.
  [[nodiscard]] std::optional<Placed> decide(ClassId id);
  /// Would decide() place it? Cheap when nothing changed.
  [[nodiscard]] bool fits(ClassId id);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Does this request fit that node now, and with which ids? (adoption, design 3.4; also the reference for tests). `self`: holdings of this
/// uid do not count against it. With `exact`, the ids must be exactly those.
[[nodiscard]] std::optional<Misfit> misfitOn(const NodeState& node, const PodRequest& request, const model::Uid& self = model::Uid{},
                                             const std::vector<int>* exact = nullptr);

/// Why it fits nowhere: one entry per node that exists, in the ledger's index order.
[[nodiscard]] std::vector<Misfit> misfits(const Ledger& ledger, const PodRequest& request);
/// "0/5 nodes are available: 3 node(s) had too few free GPUs: need 4 and most free is 2, 2 node(s) had untolerated taint {k: v}."
/// One aggregated text per reason, most nodes first then by text, no comma inside a reason; with no nodes "no nodes available to schedule pods".
[[nodiscard]] std::string refusalText(const Ledger& ledger, const PodRequest& request);
/// Which kinds of reasons apply, without numbers: changes only when the kind of refusal changes (design 3.10).
[[nodiscard]] std::string refusalKind(const Ledger& ledger, const PodRequest& request);

}  // namespace gs::sched
