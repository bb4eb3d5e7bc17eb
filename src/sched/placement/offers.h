// What we tell another scheduler about a pod that it places: kube-scheduler, which asks us as its extender.
// It judges the rest of the pod itself (cpu, taints, volumes ...; Filters::Theirs in sched/doors/door.h),
// and asks about many nodes at once. The answers: which nodes have GPUs for the pod, why the others have
// not, how good each one is, and which could take it if some pods ended there. Pure over the nodes' states;
// nothing is reserved.
//
// All nodes that refuse for one reason get one text, with the largest numbers of all of them (as in
// sched/placement/explain.h), since kube-scheduler counts equal texts. Scores: nodes are compared by the
// devices that they would give, then by free devices less the node's bonus (fewer is better; see
// sched/placement/decider.h). The best kind of node gets 10, each kind that is worse one less, and none
// less than 0. Equal nodes have equal scores.
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
