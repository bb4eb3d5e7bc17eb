#include "sched/near/eligible.h"

#include <algorithm>

#include "model/taints.h"
#include "sched/near/topology_keys.h"

namespace gs::sched {
namespace {

/// As kube-scheduler reads nodeSelector and required node affinity together.
bool isSelected(const model::Node& node, const NearRules& rules) {
  const auto has = [&](const auto& want) {
    const std::string* value = labelOf(&node, want.first);
    return value != nullptr && *value == want.second;
  };
  if (!std::all_of(rules.node_selector.begin(), rules.node_selector.end(), has)) { return false; }
  return !rules.has_node_terms || model::matchesAny(rules.node_terms, node.labels, node.name.text);
}

}  // namespace

EligibleFor eligibleFor(const std::vector<SpreadRule>& spread, bool needs_all_labels, const NearRules& rules,
                        const model::Node* facts) {
  if (facts == nullptr || spread.empty()) { return 0; }
  const auto has_label = [&](const SpreadRule& rule) { return labelOf(facts, rule.topology_key) != nullptr; };
  if (needs_all_labels && !std::all_of(spread.begin(), spread.end(), has_label)) { return 0; }
  const bool is_selected = isSelected(*facts, rules);
  const bool is_tolerated = model::untoleratedOf(facts->taints, rules.tolerations) == nullptr;
  EligibleFor eligible = 0;
  for (std::size_t i = 0; i < spread.size(); ++i) {
    const SpreadRule& rule = spread[i];
    const bool is = (is_selected || !rule.honors_affinity) && (is_tolerated || !rule.honors_taints);
    eligible |= (is ? EligibleFor{1} : EligibleFor{0}) << i;
  }
  return eligible;
}

}  // namespace gs::sched
