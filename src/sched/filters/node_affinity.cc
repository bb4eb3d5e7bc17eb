// What a pod, or its claim, asks of the node's labels.
#include <algorithm>
#include <map>
#include <string>

#include "sched/filters/rows.h"

namespace gs::sched {
namespace {

/// The first of them that the node does not have; nullptr: it has all.
const std::pair<const std::string, std::string>* missingLabel(
    const model::Node& node, const std::map<std::string, std::string>& wanted) {
  const auto it = std::find_if(wanted.begin(), wanted.end(), [&](const auto& want) {
    const auto label = node.labels.find(want.first);
    return label == node.labels.end() || label->second != want.second;
  });
  return it == wanted.end() ? nullptr : &*it;
}

}  // namespace

std::optional<Misfit> refuseLabels(const NodeState& n, const PodRequest& r) {
  const model::NodeAffinity& affinity = r.node_affinity;
  const bool is_meant =
      missingLabel(n.node, r.node_selector) == nullptr &&
      (!affinity.is_required || model::matchesAny(affinity.required, n.node.labels, n.node.name.text));
  return is_meant ? std::nullopt : std::optional{Misfit{Reason::SelectorMismatch, "", 0, 0}};
}

std::optional<Misfit> refuseClaimSelector(const NodeState& n, const PodRequest& r) {
  const auto* label = missingLabel(n.node, r.match_labels);
  if (label == nullptr) { return std::nullopt; }
  return Misfit{Reason::ClaimSelectorMismatch, label->first + "=" + label->second, 0, 0};
}

}  // namespace gs::sched
