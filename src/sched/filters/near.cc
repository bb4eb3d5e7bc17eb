// What a pod's own rules about other pods say of a node (sched/request/near_rules.h). A pod whose rules have
// no standing is refused by every node.
#include "sched/filters/rows.h"

namespace gs::sched {
namespace {

std::optional<Misfit> misfitFor(std::optional<Reason> reason) {
  return reason ? std::optional{Misfit{*reason, "", 0, 0}} : std::nullopt;
}

}  // namespace

std::optional<Misfit> refuseSpread(const NodeState& n, const PodRequest& r) {
  if (!r.near || r.near.rules->spread.empty()) { return std::nullopt; }
  if (r.near.standing == nullptr) { return misfitFor(Reason::SpreadUnmet); }
  return misfitFor(r.near.standing->spreadAt(n.index, r.near.part));
}

std::optional<Misfit> refuseNear(const NodeState& n, const PodRequest& r) {
  if (!r.near || (r.near.rules->near.empty() && r.near.rules->apart.empty())) { return std::nullopt; }
  if (r.near.standing == nullptr) { return misfitFor(Reason::PodAffinity); }
  return misfitFor(r.near.standing->nearAt(n.index, r.near.part));
}

}  // namespace gs::sched
