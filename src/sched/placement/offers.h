// What nodes offer a pod that another scheduler places. kube-scheduler asks about many nodes at once, and has
// looked at the rest of the pod (doors/door.h, Filters::Theirs): which can give it its GPUs, why others can
// not, which is best, and which could when some pods went. Pure over the nodes' states; nothing is reserved.
//
// One text for each reason, with the largest numbers of all nodes that say it, as in
// sched/placement/explain.h: whoever asked counts equal texts. Scores: the best set first, then fewer free
// devices less the node's bonus (BonusOf); 10 for the best, one less for each kind of node that is worse, 0
// at least. Equal nodes have equal scores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "sched/ledger/node_state.h"
#include "sched/request/reason.h"
#include "sched/request/request.h"

namespace gs::sched {

/// By position; nullptr: nothing is known of that node.
using OfferedNodes = std::vector<const NodeState*>;

struct Offers {
  struct Rejection {
    std::string text;
    bool never = false;  // no pod that goes would change it
    friend bool operator==(const Rejection&, const Rejection&) = default;
  };
  static constexpr std::uint32_t kFits = ~std::uint32_t{0};
  std::vector<Rejection> rejections;  // each once
  std::vector<std::uint32_t> of;      // by position: kFits, or which of them
  [[nodiscard]] const Rejection* rejectionOf(std::size_t position) const {
    return of[position] == kFits ? nullptr : &rejections[of[position]];
  }
  [[nodiscard]] bool anyFits() const { return std::find(of.begin(), of.end(), kFits) != of.end(); }
};

/// Would it stay as it is, whatever pods went?
[[nodiscard]] bool isNever(Reason reason);
/// `self`: what this pod holds by id counts as free for it.
[[nodiscard]] Offers offersFor(const OfferedNodes& nodes, const PodRequest& request, const model::Uid& self);
/// Of those that do not fit 0.
[[nodiscard]] std::vector<int> scoresFor(const OfferedNodes& nodes, const PodRequest& request,
                                         const model::Uid& self, const BonusOf& bonus_of = {});
/// All nodes, for the same reason.
[[nodiscard]] Offers refusedBy(std::size_t nodes, std::string text, bool never);

}  // namespace gs::sched
