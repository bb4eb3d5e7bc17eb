#include "sched/ledger/anti_affinity.h"

#include <algorithm>
#include <string_view>

namespace gs::sched {
namespace {

std::size_t hashOf(const std::string& value) {
  return std::max<std::size_t>(1, std::hash<std::string>{}(value));  // 0 is none
}

std::vector<std::pair<std::size_t, std::size_t>> hashesOf(const model::Labels& labels) {
  std::vector<std::pair<std::size_t, std::size_t>> out;
  out.reserve(labels.size());
  for (const auto& [key, value] : labels) { out.emplace_back(hashOf(key), hashOf(value)); }
  std::sort(out.begin(), out.end());
  return out;
}

/// One pod more (`by` 1) or fewer (-1) says the term. True: that closes the domain to it, or opens it.
bool bump(ClosedTerms& closed, model::TermId term, int by) {
  const auto it = closed.try_emplace(term, 0).first;
  const bool was = it->second > 0;
  it->second += by;
  const bool is = it->second > 0;
  if (!is) { closed.erase(it); }
  return was != is;
}

}  // namespace

/// Finds the term or adds it, and counts one pod more that says it.
AntiAffinity::Terms::iterator AntiAffinity::intern(const std::string& ns,
                                                   const model::AntiAffinityTerm& term) {
  const BySaid::Ref said{ns, term};
  const auto at = terms_.lower_bound(said);
  if (at != terms_.end() && !BySaid{}(said, at->first)) {
    ++at->second.pods;
    return at;
  }
  const auto it = terms_.emplace_hint(at, Said{ns, term}, Term{});
  it->second.pods = 1;
  const model::AntiAffinityTerm& kept = it->first.second;
  const model::TermId id = model::idOf(kept);
  it->second.ids = TermIndex::namesOf(ns, id, kept);
  index_.add(ns, id, kept);
  ++keys_[kept.topology_key].terms;
  return it;
}

void AntiAffinity::forget(Terms::iterator it) {
  if (--it->second.pods > 0) { return; }
  const auto& [ns, term] = it->first;
  index_.remove(ns, it->second.ids.front(), term);
  const auto key = keys_.find(term.topology_key);
  if (--key->second.terms == 0) {
    learned_.erase(key->first);
    keys_.erase(key);
  }
  terms_.erase(it);
}

void AntiAffinity::set(Key& key, Ledger::NodeIndex i, Value value) {
  if (key.values.size() <= i) { key.values.resize(std::max<std::size_t>(i + 1, ledger_.size())); }
  key.values[i] = value;
}

/// The keys of its terms that its node has, and whose values are not kept yet.
AntiAffinity::Keys AntiAffinity::unlearnedOf(const Pod& pod) {
  Keys keys;
  const NodeState* state = ledger_.find(pod.node);
  if (state == nullptr || !state->exists) { return keys; }
  for (const auto& said : pod.terms) {
    const std::string& name = said->first.second.topology_key;
    Key& key = keys_.at(name);
    if (!key.learned && state->node.labels.contains(name)) { keys[name] = &key; }
  }
  return keys;
}

/// From now on the nodes' values of these keys are kept.
void AntiAffinity::learn(const Keys& keys) {
  if (keys.empty()) { return; }
  std::vector<std::pair<std::size_t, Key*>> wanted;  // by hash, as the labels of a node
  for (const auto& [name, key] : keys) {
    key->learned = true;
    wanted.emplace_back(hashOf(name), key);
  }
  std::sort(wanted.begin(), wanted.end());
  learned_.insert(keys.begin(), keys.end());
  for (const auto& [name, node] : nodes_) {
    looks_ += node.labels.size();
    auto key = wanted.begin();
    for (const auto& [label, value] : node.labels) {
      while (key != wanted.end() && key->first < label) { ++key; }
      if (key == wanted.end()) { break; }
      if (key->first == label) { set(*key->second, node.index, value); }
    }
  }
}

/// Tells the ledger which sets of terms close the node: those of the domains that it is in.
void AntiAffinity::refer(Ledger::NodeIndex i) {
  std::vector<std::shared_ptr<const ClosedTerms>> closed;
  for (const auto& [name, key] : learned_) {
    const auto domain = key->domains.find(key->at(i));
    if (domain != key->domains.end()) { closed.push_back(domain->second); }
  }
  ledger_.setClosedTo(i, std::move(closed));
}

/// Marks the nodes of that domain as changed.
void AntiAffinity::note(const Key& key, Value value, std::vector<bool>& nodes) {
  looks_ += key.values.size();
  for (Ledger::NodeIndex i = 0; i < key.values.size(); ++i) {
    if (key.values[i] == value) { nodes[i] = true; }
  }
}

/// However many terms close or open a domain, each of its nodes changes once.
void AntiAffinity::count(const Pod& pod, int by) {
  const auto node = nodes_.find(pod.node);
  if (node == nodes_.end()) { return; }
  std::map<std::string_view, std::vector<const Term*>> by_key;
  for (const auto& said : pod.terms) { by_key[said->first.second.topology_key].push_back(&said->second); }
  std::vector<bool> nodes(ledger_.size());
  std::vector<Made> made;
  for (const auto& [name, terms] : by_key) {
    Key& key = keys_.at(std::string{name});
    const Value value = key.at(node->second.index);
    if (value == 0) { continue; }
    const auto [domain, fresh] = key.domains.try_emplace(value);
    if (fresh) { domain->second = std::make_shared<ClosedTerms>(); }
    const auto closed = domain->second;
    bool changed = false;
    for (const Term* term : terms) {
      for (const auto id : term->ids) { changed |= bump(*closed, id, by); }
    }
    if (changed) { note(key, value, nodes); }
    if (changed && fresh) { made.push_back({&key, value, closed}); }
    if (closed->empty()) { key.domains.erase(domain); }
  }
  for (Ledger::NodeIndex i = 0; i < nodes.size(); ++i) {
    if (!nodes[i]) { continue; }
    for (const Made& domain : made) {
      if (domain.key->at(i) == domain.value) { ledger_.closeTo(i, domain.closed); }
    }
    ledger_.closingsChanged(i);
  }
}

bool AntiAffinity::isSaidBy(const Pod& pod, const std::vector<model::AntiAffinityTerm>& terms) {
  return std::equal(pod.terms.begin(), pod.terms.end(), terms.begin(), terms.end(),
                    [](const auto& said, const auto& term) { return said->first.second == term; });
}

bool AntiAffinity::put(const model::Uid& uid, const std::string& ns, const model::NodeName& node,
                       const std::vector<model::AntiAffinityTerm>& terms) {
  const auto known = pods_.find(uid);
  if (known != pods_.end() && known->second.node == node && isSaidBy(known->second, terms)) { return false; }
  remove(uid);
  if (terms.empty()) { return false; }
  Pod& pod = pods_.emplace(uid, Pod{ns, node, {}}).first->second;
  bool fresh = false;
  for (const auto& term : terms) {
    pod.terms.push_back(intern(ns, term));
    fresh |= pod.terms.back()->second.pods == 1;
  }
  on_node_[node].insert(uid);
  learn(unlearnedOf(pod));
  count(pod, 1);
  return fresh;
}

void AntiAffinity::remove(const model::Uid& uid) {
  const auto it = pods_.find(uid);
  if (it == pods_.end()) { return; }
  const Pod pod = std::move(it->second);
  pods_.erase(it);
  const auto here = on_node_.find(pod.node);
  here->second.erase(uid);
  if (here->second.empty()) { on_node_.erase(here); }
  count(pod, -1);
  for (const auto& said : pod.terms) { forget(said); }
}

std::vector<model::TermId> AntiAffinity::saidBy(const model::Uid& uid) const {
  std::vector<model::TermId> out;
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) { return out; }
  const auto node = nodes_.find(pod->second.node);
  if (node == nodes_.end()) { return out; }
  for (const auto& said : pod->second.terms) {
    const Key& key = keys_.at(said->first.second.topology_key);
    if (key.at(node->second.index) == 0) { continue; }  // it closes nothing
    out.insert(out.end(), said->second.ids.begin(), said->second.ids.end());
  }
  return out;
}

AntiAffinity::Uids AntiAffinity::podsOn(const model::NodeName& name) const {
  const auto here = on_node_.find(name);
  return here == on_node_.end() ? Uids{} : here->second;
}

/// The node's values of topology keys, where they are not those that are kept of it.
AntiAffinity::Values AntiAffinity::changedOf(const model::NodeName& name) const {
  Values values;
  const auto known = nodes_.find(name);
  const NodeState* state = ledger_.find(name);
  const bool exists = state != nullptr && state->exists;
  for (const auto& [text, key] : learned_) {
    const Value before = known == nodes_.end() ? 0 : key->at(known->second.index);
    Value now = 0;
    if (exists) {
      const auto label = state->node.labels.find(text);
      if (label != state->node.labels.end()) { now = hashOf(label->second); }
    }
    if (before != now) { values.emplace_back(key, now); }
  }
  return values;
}

void AntiAffinity::nodeChanged(const model::NodeName& name) {
  const NodeState* state = ledger_.find(name);
  const bool exists = state != nullptr && state->exists;
  const Values values = changedOf(name);
  const Uids pods = podsOn(name);
  const auto has_unlearned = [this](const model::Uid& uid) { return !unlearnedOf(pods_.at(uid)).empty(); };
  const bool same = values.empty() && std::none_of(pods.begin(), pods.end(), has_unlearned);
  if (!same) {
    for (const auto& uid : pods) { count(pods_.at(uid), -1); }
  }
  if (exists) { nodes_[name] = {*ledger_.indexOf(name), hashesOf(state->node.labels)}; }
  for (const auto& [key, value] : values) { set(*key, nodes_.at(name).index, value); }
  if (!exists) { nodes_.erase(name); }
  if (same) { return; }
  if (const auto i = ledger_.indexOf(name)) { refer(*i); }
  for (const auto& uid : pods) {
    const Pod& pod = pods_.at(uid);
    learn(unlearnedOf(pod));
    count(pod, 1);
  }
}

}  // namespace gs::sched
