#include "sched/near/near.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "base/mix.h"

namespace gs::sched {
namespace {

/// What rules look at, of a node that exists.
std::size_t factsOf(const model::Node& node) {
  std::size_t h = mix(std::size_t{0}, node.labels.size());
  for (const auto& [key, value] : node.labels) { h = mix(mix(h, key), value); }
  for (const auto& t : node.taints) { h = mix(mix(mix(h, t.key), t.value), t.effect); }
  return h;
}

std::size_t namesOf(const std::optional<model::LabelSelector>& selector) {
  std::size_t names = 0;
  if (!selector) { return names; }
  for (const auto& r : selector->requirements) { names += 1 + r.values.size(); }
  return names;
}

std::size_t namesOf(const model::PodTerm& term) {
  return 1 + term.namespaces.size() + namesOf(term.namespace_selector) + namesOf(term.pods);
}

/// All that is read of rules to know whether they are known.
std::size_t namesOf(const NearRules& rules) {
  std::size_t names = rules.liked_by.size() + rules.node_selector.size() + rules.tolerations.size();
  for (const auto* terms : {&rules.near, &rules.apart}) {
    for (const auto& term : *terms) { names += namesOf(term); }
  }
  for (const auto& preferred : rules.preferred) { names += namesOf(preferred.term); }
  for (const auto* spread : {&rules.spread, &rules.spread_anyway}) {
    for (const auto& rule : *spread) { names += 1 + namesOf(rule.pods); }
  }
  return names;
}

}  // namespace

// ---- Pods

void Near::put(const NearPod& pod) {
  const NearNode node = nodes_.of(pod.node);
  const PodGroups::Added added = groups_.add(pod.ns, pod.labels, node, pod.leaving);
  if (added.is_new) { match(*added.group); }
  if (added.is_new_there) { nodes_[node].groups.push_back(added.group); }
  change(*added.group, node, 1, pod.leaving ? 0 : 1);
}

void Near::take(const NearPod& pod) {
  const NearNode node = nodes_.find(pod.node);
  PodGroup* group = groups_.find(pod.ns, pod.labels);
  if (node == NearNodes::kNone || group == nullptr || group->at(node).all == 0) { return; }
  change(*group, node, -1, pod.leaving ? 0 : -1);
  if (!groups_.take(*group, node, pod.leaving)) { return; }
  auto& there = nodes_[node].groups;
  *std::find(there.begin(), there.end(), group) = there.back();
  there.pop_back();
  if (group->on.empty()) { groups_.drop(*group); }
  nodes_.forgetIfNothing(node);
}

/// What is on a node that does not exist counts for nobody.
void Near::change(PodGroup& group, NearNode node, int all, int staying) {
  if (!nodes_[node].exists) { return; }
  for (const MatcherRef& ref : group.matched) {
    if (Standing* standing = find(ref.standing)) { standing->count(ref.matcher, node, all, staying); }
  }
}

/// Forgets those who are gone, now and then.
void Near::tidy(PodGroup& group) const {
  constexpr std::size_t kLeast = 16;
  if (group.matched.size() < group.tidy_at) { return; }
  std::erase_if(group.matched, [&](const MatcherRef& ref) { return find(ref.standing) == nullptr; });
  group.tidy_at = std::max(kLeast, 2 * group.matched.size());
}

/// A new one finds who means it.
void Near::match(PodGroup& group) {
  const model::Labels* ns_labels = labelsOf(*group.ns);
  index_.each(*group.ns, group.labels, [&](const MatcherRef& ref, const Matcher& matcher) {
    ++looks_;
    if (matcher.means(*group.ns, ns_labels) && matcher.means(group)) { group.matched.push_back(ref); }
  });
}

// ---- Nodes

/// How many pods there each matcher means, of those that mean some.
Near::Tallies Near::talliesOf(NearNode node) const {
  Tallies out;
  for (const PodGroup* group : nodes_[node].groups) {
    const NearPods there = group->at(node);
    for (const MatcherRef& ref : group->matched) {
      const Standing* standing = find(ref.standing);
      if (standing == nullptr) { continue; }
      Standing::Tally& tally = out[ref.standing];
      tally.resize(standing->matchers().size());
      tally[ref.matcher].all += there.all;
      tally[ref.matcher].leaving += there.leaving;
    }
  }
  return out;
}

/// A key that became wide, or is so no more, concerns everybody who names it. Those that `changed` settle
/// too.
void Near::settleOthers(const std::vector<Standing*>& changed) {
  if (!keys_.decideWidths()) {
    for (Standing* standing : changed) { standing->settle(); }
    return;
  }
  for (const auto& [number, standing] : standings_) { standing->settle(); }
}

void Near::nodeChanged(const model::NodeName& name) {
  const NodeState* state = ledger_.find(name);
  const bool exists = state != nullptr && state->exists;
  if (!exists && nodes_.find(name) == NearNodes::kNone) { return; }
  const NearNode node = nodes_.of(name);
  const std::size_t facts = exists ? factsOf(state->node) : 0;
  const NearNodes::Node& n = nodes_[node];
  if (n.exists == exists && n.facts == facts && (!exists || n.index == state->index)) { return; }
  if (exists) {
    nodes_.came(node, state->index, facts);
  } else {
    nodes_.went(node);
  }
  const model::Node* now = exists ? &state->node : nullptr;
  Tallies tallies = talliesOf(node);
  std::vector<Standing*> changed;
  for (const auto& [number, standing] : standings_) {
    ++looks_;
    if (!standing->isOtherAt(node, now)) { continue; }
    changed.push_back(standing);
    Standing::Tally& tally = tallies[number];
    tally.resize(standing->matchers().size());
    standing->leave(node, tally);
  }
  likings_.leave(name);
  keys_.nodeChanged(node, now);
  likings_.enter(name);
  for (Standing* standing : changed) { standing->enter(node, now, tallies[standing->number()]); }
  settleOthers(changed);
  nodes_.forgetIfNothing(node);
}

// ---- Namespaces

const model::Labels* Near::labelsOf(const std::string& ns) const {
  const auto it = namespaces_.find(ns);
  return it == namespaces_.end() ? nullptr : &it->second;
}

void Near::namespaceChanged(const std::string& ns, const model::Labels* labels) {
  const model::Labels* before = labelsOf(ns);
  const bool same = before == nullptr || labels == nullptr ? before == labels : *before == *labels;
  if (same) { return; }
  const auto there = groups_.namespaces().find(ns);
  for (const auto& [number, standing] : standings_) {
    for (std::size_t i = 0; i < standing->matchers().size(); ++i) {
      const Matcher& matcher = standing->matchers()[i];
      if (!matcher.selectsNamespaces()) { continue; }
      const bool means = matcher.means(ns, labels);
      if (matcher.means(ns, before) == means) { continue; }
      if (there != groups_.namespaces().end()) { meet(*standing, i, there->second, means); }
      if (i == 0 && ns == standing->rules().ns) { standing->meansOwnNamespace(means); }
    }
  }
  if (labels == nullptr) {
    namespaces_.erase(ns);
  } else {
    namespaces_.insert_or_assign(ns, *labels);
  }
}

// ---- Standings

void Near::count(Standing& standing, std::size_t matcher, const PodGroup& group, int sign) {
  for (const PodGroup::OnNode& on : group.on) {
    if (!nodes_[on.node].exists) { continue; }
    standing.count(matcher, on.node, sign * std::int64_t{on.pods.all},
                   sign * std::int64_t{on.pods.staying()});
  }
}

/// From now on it means the groups of that namespace that are such; or (`more` false) none of them.
void Near::meet(Standing& standing, std::size_t matcher, const PodGroups::Namespace& there, bool more) {
  const Matcher& by = standing.matchers()[matcher];
  const MatcherRef ref{standing.number(), static_cast<std::uint32_t>(matcher)};
  looks_ += there.groups.size();
  for (const PodGroups::Entry& entry : there.groups) {
    PodGroup& group = *entry.group;
    if (!by.mayMean(entry.bits) || !by.means(group)) { continue; }
    count(standing, matcher, group, more ? 1 : -1);
    if (more) {
      group.matched.push_back(ref);
      tidy(group);
    } else {
      std::erase(group.matched, ref);
    }
  }
}

/// The pods and nodes that are there.
void Near::meet(Standing& standing) {
  for (NearNode node = 0; standing.spreads() && node < nodes_.size(); ++node) {
    if (!nodes_[node].exists) { continue; }
    ++looks_;
    const model::Node& facts = ledger_.at(nodes_[node].index).node;
    standing.enter(node, &facts, Standing::Tally(standing.matchers().size()));
  }
  for (std::size_t i = 0; i < standing.matchers().size(); ++i) {
    const Matcher& matcher = standing.matchers()[i];
    if (matcher.meansNobody()) { continue; }
    const auto meet_those_of = [&](const PodGroups::Namespaces::value_type& there) {
      if (matcher.means(there.first, labelsOf(there.first))) { meet(standing, i, there.second, true); }
    };
    if (matcher.selectsNamespaces()) {
      for (const auto& there : groups_.namespaces()) { meet_those_of(there); }
      continue;
    }
    for (const auto& ns : matcher.named()) {
      const auto there = groups_.namespaces().find(ns);
      if (there != groups_.namespaces().end()) { meet_those_of(*there); }
    }
  }
  if (!standing.rules().near.empty()) {
    const std::string& own = standing.rules().ns;
    standing.meansOwnNamespace(standing.matchers().front().means(own, labelsOf(own)));
  }
}

Standing* Near::known(const NearRules& rules, std::size_t hash) const {
  const auto [begin, end] = by_hash_.equal_range(hash);
  const auto it = std::find_if(begin, end, [&](const auto& entry) { return entry.second->rules() == rules; });
  return it == end ? nullptr : it->second;
}

std::shared_ptr<Standing> Near::make(const std::shared_ptr<const NearRules>& rules, std::size_t hash) {
  for (const auto& name : Standing::keysOf(*rules)) { (void)keys_.learn(name); }
  const Number number = next_++;
  const auto end = [near = std::weak_ptr<Near*>{self_}](const Standing* standing) {
    const std::unique_ptr<const Standing> gone{standing};
    if (const auto there = near.lock()) { (*there)->drop(*gone); }
  };
  std::shared_ptr<Standing> standing{
      new Standing{number, rules, ledger_, nodes_, namespaces_, keys_, likings_}, end};
  standings_.emplace(number, standing.get());
  by_hash_.emplace(hash, standing.get());
  of_namespace_[rules->ns].add(standing->matchers().size());
  all_.add(standing->matchers().size());
  standing->settle();
  meet(*standing);
  for (std::uint32_t i = 0; i < standing->matchers().size(); ++i) {
    index_.add(standing->matchers()[i], {number, i});
  }
  standing->built();
  return standing;
}

void Near::drop(const Standing& standing) {
  standings_.erase(standing.number());
  const auto [begin, end] = by_hash_.equal_range(hashOf(standing.rules()));
  by_hash_.erase(std::find_if(begin, end, [&](const auto& entry) { return entry.second == &standing; }));
  const auto of = of_namespace_.find(standing.rules().ns);
  of->second.remove(standing.matchers().size());
  if (of->second.rules == 0) { of_namespace_.erase(of); }
  all_.remove(standing.matchers().size());
  for (std::uint32_t i = 0; i < standing.matchers().size(); ++i) {
    index_.remove(standing.matchers()[i], {standing.number(), i});
  }
  for (const auto& name : Standing::keysOf(standing.rules())) { keys_.forget(name); }
}

std::shared_ptr<const NearStanding> Near::standingOf(const std::shared_ptr<const NearRules>& rules) {
  looks_ += namesOf(*rules);
  const std::size_t hash = hashOf(*rules);
  if (Standing* standing = known(*rules, hash)) { return standing->shared_from_this(); }
  const auto of = of_namespace_.find(rules->ns);
  const std::size_t room = rules->requiresSome() ? 1 : 2;
  const std::size_t more = Standing::countMatchers(*rules);
  const bool fits = all_.hasRoom(more, kMost / room) &&
                    (of == of_namespace_.end() || of->second.hasRoom(more, kMostOfOneNamespace / room));
  return fits ? make(rules, hash) : nullptr;
}

bool Near::isCrowded() const {
  constexpr std::size_t kPart = 4;
  return !all_.hasRoom(0, kMost / kPart) ||
         std::any_of(of_namespace_.begin(), of_namespace_.end(),
                     [](const auto& of) { return !of.second.hasRoom(0, kMostOfOneNamespace / kPart); });
}

bool Near::bind(NearAsked& asked) {
  if (asked) { asked.standing = standingOf(asked.rules); }
  const bool does_without = asked && asked.standing == nullptr && !asked.rules->requiresSome();
  if (does_without) { asked = {}; }
  return !asked || asked.standing != nullptr;
}

}  // namespace gs::sched
