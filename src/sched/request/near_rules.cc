#include "sched/request/near_rules.h"

#include <algorithm>
#include <utility>

#include "base/mix.h"
#include "base/mutant.h"
#include "sched/request/mix_nodes.h"

namespace gs::sched {
namespace {

using Op = model::LabelRequirement::Op;

/// What it selects, and for each of these keys that the pod has: those with the same value.
std::optional<model::LabelSelector> withKeys(const model::SpreadConstraint& constraint,
                                             const model::PodLabels& labels) {
  auto selector = constraint.pods;
  if (!selector || GS_MUTANT(ForgetsLabelKeys)) { return selector; }
  auto& all = selector->requirements;
  for (const auto& key : constraint.match_label_keys) {
    if (const auto value = labels.find(key)) { all.push_back({key, Op::In, {std::string{*value}}}); }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return selector;
}

SpreadRule spreadRule(const model::SpreadConstraint& constraint, const model::PodLabels& labels) {
  SpreadRule rule;
  rule.topology_key = constraint.topology_key;
  rule.max_skew = constraint.max_skew;
  rule.min_domains = GS_MUTANT(IgnoresMinDomains) ? 1 : std::max(1, constraint.min_domains.value_or(1));
  rule.honors_affinity = constraint.honors_affinity;
  rule.honors_taints = constraint.honors_taints;
  rule.pods = withKeys(constraint, labels);
  rule.counts_itself = rule.pods && rule.pods->matches(labels);
  return rule;
}

void addNodesAsked(const model::Pod& pod, NearRules& rules) {
  const auto any = [&](bool SpreadRule::*policy) {
    const auto says = [&](const SpreadRule& r) { return r.*policy; };
    return std::any_of(rules.spread.begin(), rules.spread.end(), says) ||
           std::any_of(rules.spread_anyway.begin(), rules.spread_anyway.end(), says);
  };
  if (any(&SpreadRule::honors_affinity)) {
    rules.node_selector = pod.node_selector;
    rules.has_node_terms = pod.node_affinity->is_required;
    rules.node_terms = pod.node_affinity->required;
  }
  if (any(&SpreadRule::honors_taints)) {
    rules.tolerations = pod.tolerations;
    std::sort(rules.tolerations.begin(), rules.tolerations.end());
  }
}

std::size_t hashWith(std::size_t h, const model::LabelSelector& selector) {
  for (const auto& r : selector.requirements) {
    h = mix(mix(h, r.key), static_cast<std::size_t>(r.op));
    for (const auto& value : r.values) { h = mix(h, value); }
  }
  return mix(h, selector.requirements.size());
}

std::size_t hashWith(std::size_t h, const model::PodTerm& term) {
  h = mix(h, term.topology_key);
  for (const auto& ns : term.namespaces) { h = mix(h, ns); }
  if (term.namespace_selector) { h = hashWith(h, *term.namespace_selector); }
  return term.pods ? hashWith(h, *term.pods) : h;
}

std::size_t hashWith(std::size_t h, const std::vector<model::PodTerm>& terms) {
  for (const auto& term : terms) { h = hashWith(h, term); }
  return mix(h, terms.size());
}

std::size_t hashWith(std::size_t h, const std::vector<SpreadRule>& spread) {
  for (const auto& r : spread) {
    h = mix(mix(h, r.topology_key), static_cast<std::size_t>(r.max_skew));
    h = mix(mix(h, static_cast<std::size_t>(r.min_domains)), r.counts_itself ? 1 : 0);
    h = mix(h, (r.honors_affinity ? 2U : 0U) + (r.honors_taints ? 1U : 0U));
    if (r.pods) { h = hashWith(h, *r.pods); }
  }
  return h;
}

}  // namespace

std::shared_ptr<const NearRules> nearRulesOf(const model::Pod& pod, const model::DefaultSpread* spread) {
  NearRules rules;
  rules.near = pod.affinity->near;
  rules.apart = pod.affinity->apart;
  const bool defaults = pod.spread.empty() && spread != nullptr;
  rules.needs_all_labels = !defaults || !spread->is_system;
  for (const auto& constraint : defaults ? spread->constraints : *pod.spread) {
    auto& of_its_kind = constraint.is_required ? rules.spread : rules.spread_anyway;
    of_its_kind.push_back(spreadRule(constraint, pod.labels));
  }
  rules.preferred = pod.affinity->preferred;
  if (!rules.requiresSome() && !rules.wishesSome()) { return nullptr; }
  rules.ns = pod.key.ns;
  rules.means_itself = std::all_of(rules.near.begin(), rules.near.end(), [&](const model::PodTerm& term) {
    return term.pods && term.pods->matches(pod.labels);
  });
  addNodesAsked(pod, rules);
  return std::make_shared<const NearRules>(std::move(rules));
}

std::size_t hashOf(const NearRules& rules) {
  std::size_t h = hashWith(hashWith(mix(std::size_t{1}, rules.ns), rules.near), rules.apart);
  h = mix(h, rules.means_itself ? 1 : 0);
  h = hashWith(mix(hashWith(h, rules.spread), rules.spread.size()), rules.spread_anyway);
  h = mix(h, rules.needs_all_labels ? 1 : 0);
  for (const auto& [weight, term] : rules.preferred) {
    h = hashWith(mix(h, static_cast<std::size_t>(weight)), term);
  }
  for (const auto id : rules.liked_by) { h = mix(h, static_cast<std::size_t>(id)); }
  for (const auto& [key, value] : rules.node_selector) { h = mix(mix(h, key), value); }
  h = mix(h, rules.has_node_terms ? 1 : 0);
  for (const auto& term : rules.node_terms) { h = mixTerm(h, term); }
  return mixTolerations(h, rules.tolerations);
}

}  // namespace gs::sched
