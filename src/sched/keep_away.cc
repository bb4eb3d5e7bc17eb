#include "sched/keep_away.h"

#include <algorithm>

namespace gs::sched {
namespace {

constexpr const char* kEveryNamespace = "";

/// Under which names it stands in meant_. A term that lists very many is looked at for every pod rather than noted for each.
std::vector<std::string> namespacesOf(const model::AntiAffinityTerm& term) {
  constexpr std::size_t kMany = 64;
  const bool many = term.namespaces.empty() || term.namespaces.size() > kMany;
  return many ? std::vector<std::string>{kEveryNamespace} : term.namespaces;
}

}  // namespace

KeepAway::Domain* KeepAway::domainOf(const model::NodeName& node, const std::string& key) {
  const auto known = known_.find(node);
  if (known == known_.end()) { return nullptr; }
  const Key* wanted = &keys_.at(key);
  for (const Place& place : known->second.places) {
    if (place.key == wanted) { return place.domain; }
  }
  return nullptr;
}

void KeepAway::enter(Node& node, Key& key, const std::string& value) {
  const auto at = key.domains.try_emplace(value).first;
  at->second.value = &at->first;
  at->second.nodes.push_back(node.index);
  node.places.push_back({&key, &at->second});
}

void KeepAway::leave(Ledger::NodeIndex index, const Place& place) {
  auto& nodes = place.domain->nodes;
  *std::find(nodes.begin(), nodes.end(), index) = nodes.back();
  nodes.pop_back();
  if (nodes.empty()) { place.key->domains.erase(*place.domain->value); }
}

/// The ledger's node refers to what closes its domains.
void KeepAway::refer(Ledger::NodeIndex i, const Node& node) {
  std::vector<std::shared_ptr<const ClosedTerms>> closed;
  closed.reserve(node.places.size());
  for (const Place& place : node.places) { closed.push_back(place.domain->closed); }
  ledger_.setClosedTo(i, std::move(closed));
}

/// One pod more says it; true when it is the first.
bool KeepAway::intern(const model::AntiAffinityTerm& term) {
  const auto [it, fresh] = terms_.try_emplace(term);
  ++it->second.pods;
  if (!fresh) { return false; }
  it->second.id = model::idOf(term);
  for (const auto& ns : namespacesOf(term)) { meant_[ns][it->second.id] = &it->first; }
  ++keys_[term.topology_key].terms;
  return true;
}

void KeepAway::forget(const model::AntiAffinityTerm& term) {
  const auto it = terms_.find(term);
  if (--it->second.pods > 0) { return; }
  for (const auto& ns : namespacesOf(term)) {
    const auto meant = meant_.find(ns);
    meant->second.erase(it->second.id);
    if (meant->second.empty()) { meant_.erase(meant); }
  }
  const auto key = keys_.find(term.topology_key);
  if (--key->second.terms == 0) { forgetKey(key->first); }
  terms_.erase(it);
}

/// From now on the nodes' values of these keys are kept.
void KeepAway::learnKeys(const std::set<std::string>& keys) {
  if (keys.empty()) { return; }
  known_.reserve(ledger_.size());
  for (Ledger::NodeIndex i = 0; i < ledger_.size(); ++i) {
    const NodeState& state = ledger_.at(i);
    if (!state.exists) { continue; }
    Node* node = nullptr;
    for (const auto& key : keys) {
      const auto label = state.node.labels.find(key);
      if (label == state.node.labels.end()) { continue; }
      if (node == nullptr) { node = &known_[state.node.name]; }
      node->index = i;
      enter(*node, keys_.at(key), label->second);
    }
    if (node != nullptr) { refer(i, *node); }
  }
}

/// No term has it any more, so nothing is closed by it.
void KeepAway::forgetKey(const std::string& key) {
  const auto it = keys_.find(key);
  for (const auto& [value, domain] : it->second.domains) {
    for (const auto index : domain.nodes) {
      const model::NodeName& name = ledger_.at(index).node.name;
      const auto known = known_.find(name);
      std::erase_if(known->second.places, [&](const Place& place) { return place.key == &it->second; });
      refer(index, known->second);
      if (known->second.places.empty()) { known_.erase(known); }
    }
  }
  keys_.erase(it);
}

/// However many terms close or open a domain, each of its nodes changes once.
void KeepAway::count(const Pod& pod, int by) {
  std::vector<Domain*> changed;
  for (const auto& term : pod.terms) {
    Domain* domain = domainOf(pod.node, term.topology_key);
    if (domain == nullptr) { continue; }
    const auto it = domain->closed->try_emplace(terms_.at(term).id, 0).first;
    const bool was = it->second > 0;
    it->second += by;
    const bool is = it->second > 0;
    if (!is) { domain->closed->erase(it); }
    if (was != is) { changed.push_back(domain); }
  }
  std::sort(changed.begin(), changed.end());
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  for (const Domain* domain : changed) {
    for (const auto node : domain->nodes) { ledger_.closingsChanged(node); }
  }
}

bool KeepAway::put(const model::Uid& uid, const model::NodeName& node,
                   const std::vector<model::AntiAffinityTerm>& terms) {
  const auto known = pods_.find(uid);
  if (known != pods_.end() && known->second.node == node && known->second.terms == terms) { return false; }
  remove(uid);
  if (terms.empty()) { return false; }
  bool fresh = false;
  std::set<std::string> new_keys;
  for (const auto& term : terms) {
    if (!keys_.contains(term.topology_key)) { new_keys.insert(term.topology_key); }
    fresh |= intern(term);
  }
  learnKeys(new_keys);
  const Pod& pod = pods_.emplace(uid, Pod{node, terms}).first->second;
  on_node_[node].insert(uid);
  count(pod, 1);
  return fresh;
}

void KeepAway::remove(const model::Uid& uid) {
  const auto it = pods_.find(uid);
  if (it == pods_.end()) { return; }
  const Pod pod = std::move(it->second);
  pods_.erase(it);
  const auto here = on_node_.find(pod.node);
  here->second.erase(uid);
  if (here->second.empty()) { on_node_.erase(here); }
  count(pod, -1);
  for (const auto& term : pod.terms) { forget(term); }
}

/// Its values of the keys that count.
KeepAway::Values KeepAway::valuesOf(const model::NodeName& name) {
  Values values;
  const NodeState* state = ledger_.find(name);
  if (state == nullptr || !state->exists) { return values; }
  for (auto& [key, of] : keys_) {
    const auto label = state->node.labels.find(key);
    if (label != state->node.labels.end()) { values.emplace_back(&of, &label->second); }
  }
  return values;
}

void KeepAway::nodeChanged(const model::NodeName& name) {
  if (keys_.empty()) { return; }
  const Values values = valuesOf(name);
  Node& node = known_[name];
  const auto holds = [&](const auto& value) {
    return std::any_of(node.places.begin(), node.places.end(), [&](const Place& place) {
      return place.key == value.first && *place.domain->value == *value.second;
    });
  };
  const bool same = values.size() == node.places.size() && std::all_of(values.begin(), values.end(), holds);
  if (!same) {
    const auto here = on_node_.find(name);
    const std::set<model::Uid> pods = here == on_node_.end() ? std::set<model::Uid>{} : here->second;
    for (const auto& uid : pods) { count(pods_.at(uid), -1); }
    for (const Place& place : std::exchange(node.places, {})) { leave(node.index, place); }
    if (!values.empty()) { node.index = *ledger_.indexOf(name); }
    for (const auto& [key, value] : values) { enter(node, *key, *value); }
    if (const auto i = ledger_.indexOf(name)) { refer(*i, node); }
    for (const auto& uid : pods) { count(pods_.at(uid), 1); }
  }
  if (node.places.empty()) { known_.erase(name); }
}

std::vector<model::TermId> KeepAway::meaning(const std::string& ns, const model::Labels& labels) const {
  std::vector<model::TermId> ids;
  for (const std::string& meant : {std::string{kEveryNamespace}, ns}) {
    const auto terms = meant_.find(meant);
    if (terms == meant_.end()) { continue; }
    for (const auto& [id, term] : terms->second) {
      if (term->keepsAway(ns, labels)) { ids.push_back(id); }
    }
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace gs::sched
