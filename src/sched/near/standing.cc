#include "sched/near/standing.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"

namespace gs::sched {
std::vector<std::string> Standing::keysOf(const NearRules& rules) {
  std::set<std::string> keys;
  for (const auto& term : rules.near) { keys.insert(term.topology_key); }
  for (const auto& term : rules.apart) { keys.insert(term.topology_key); }
  for (const auto& rule : rules.spread) { keys.insert(rule.topology_key); }
  for (const auto& preferred : rules.preferred) { keys.insert(preferred.term.topology_key); }
  for (const auto& rule : rules.spread_anyway) { keys.insert(rule.topology_key); }
  return {keys.begin(), keys.end()};
}

Standing::Standing(Number number, std::shared_ptr<const NearRules> rules, Ledger& ledger,
                   const NearNodes& nodes, const Namespaces& namespaces, TopologyKeys& keys,
                   const Likings& likings)
    : number_{number},
      rules_{std::move(rules)},
      ledger_{ledger},
      nodes_{nodes},
      namespaces_{namespaces},
      own_namespace_{rules_->ns} {
  GS_CHECK(rules_->spread.size() <= kMostSpreads, "{} spread rules", rules_->spread.size());
  if (!rules_->near.empty()) { matchers_.emplace_back(rules_->near); }
  for (const auto& term : rules_->near) {
    const std::size_t use = useOf(term.topology_key, keys);
    const auto is_it = [&](const Counts& counts) { return counts.key == use; };
    if (std::none_of(near_.begin(), near_.end(), is_it)) { near_.push_back({use, {}}); }
  }
  for (const auto& term : rules_->apart) {
    matchers_.emplace_back(term);
    apart_.push_back({useOf(term.topology_key, keys), {}});
  }
  for (const auto& rule : rules_->spread) {
    // Where everybody is selected kube-scheduler counts nobody.
    const bool counts_some = rule.pods && !rule.pods->requirements.empty();
    matchers_.push_back(counts_some ? Matcher{own_namespace_, *rule.pods} : Matcher{});
    spread_.push_back({useOf(rule.topology_key, keys), SpreadCounts{rule}});
  }
  if (rules_->wishesSome()) { wishes_.emplace(*rules_, own_namespace_, keys, nodes, likings, matchers_); }
}

std::size_t Standing::countMatchers(const NearRules& rules) {
  return (rules.near.empty() ? 0 : 1) + rules.apart.size() + rules.spread.size() + rules.preferred.size() +
         rules.spread_anyway.size();
}

std::size_t Standing::useOf(const std::string& key, TopologyKeys& keys) {
  TopologyKey* wanted = &keys.at(key);
  const auto it =
      std::find_if(uses_.begin(), uses_.end(), [&](const KeyUse& use) { return use.key == wanted; });
  if (it != uses_.end()) { return static_cast<std::size_t>(it - uses_.begin()); }
  uses_.push_back({key, wanted, false, {}});
  return uses_.size() - 1;
}

// ---- What is told

void Standing::turned(KeyUse& use, DomainId domain) {
  if (!is_built_) { return; }
  if (use.is_wide) {
    use.versions[domain] = ledger_.wideChange();
    return;
  }
  for (const NearNode node : use.key->nodesOf(domain)) {
    if (nodes_[node].exists) { ledger_.closingsChanged(nodes_[node].index); }
  }
}

void Standing::allChanged() {
  ++epoch_;
  if (is_built_) { all_version_ = ledger_.wideChange(); }
}

/// Keys count as wide as long as there are few enough cells.
void Standing::settle() {
  std::size_t cells = 1;
  bool differs = false;
  for (KeyUse& use : uses_) {
    const std::size_t with_it = cells * (use.key->domains() + 1);  // and the nodes without that label
    const bool is_wide = use.key->isWide() && with_it <= NearCells::kMost;
    if (is_wide) { cells = with_it; }
    differs = std::exchange(use.is_wide, is_wide) != is_wide || differs;
  }
  knows_cells_ = false;
  if (differs) {
    allChanged();
  } else if (cells > 1) {
    ++epoch_;
  }
}

// ---- Pods

/// 1: the domain has its first pod by that; -1: it had its last.
int Standing::add(Counts& counts, NearNode node, std::int64_t pods) {
  const DomainId domain = domainOf(counts.key, node);
  if (domain == 0 || pods == 0) { return 0; }
  const auto it = counts.pods.try_emplace(domain, 0).first;
  const bool had = it->second > 0;
  it->second += pods;
  const bool has = it->second > 0;
  if (!has) { counts.pods.erase(it); }
  if (had == has) { return 0; }
  turned(uses_[counts.key], domain);
  return has ? 1 : -1;
}

void Standing::addNear(NearNode node, std::int64_t pods) {
  for (Counts& counts : near_) { near_domains_ += add(counts, node, pods); }
  findFirst();
}

void Standing::findFirst() {
  const bool is = !near_.empty() && near_domains_ == 0 && rules_->means_itself && means_own_namespace_ &&
                  !GS_MUTANT(NoFirstOfGroup);
  if (std::exchange(is_first_, is) != is) { allChanged(); }
}

void Standing::meansOwnNamespace(bool means) {
  means_own_namespace_ = means;
  findFirst();
}

void Standing::addSpread(std::size_t spread, NearNode node, std::int64_t nodes, std::int64_t pods) {
  if (nodes == 0 && pods == 0) { return; }
  SpreadCounts::Domains domains;
  Spread& of = spread_[spread];
  of.counts.change(domainOf(of.key, node), nodes, pods, domains);
  for (const DomainId domain : domains) { turned(uses_[of.key], domain); }
}

void Standing::count(std::size_t matcher, NearNode node, std::int64_t all, std::int64_t staying) {
  const std::size_t first_apart = near_.empty() ? 0 : 1;
  if (matcher < first_apart) { return addNear(node, all); }
  const std::size_t apart = matcher - first_apart;
  if (apart < apart_.size()) {
    add(apart_[apart], node, all);
    return;
  }
  const std::size_t spread = apart - apart_.size();
  if (spread >= spread_.size()) { return wishes_->count(spread - spread_.size(), node, all, staying); }
  if ((eligibleAt(node) >> spread & 1U) != 0) { addSpread(spread, node, 0, staying); }
}

// ---- Nodes

bool Standing::isOtherAt(NearNode node, const model::Node* facts) const {
  for (const KeyUse& use : uses_) {
    if (!use.key->isAt(node, labelOf(facts, use.name))) { return true; }
  }
  return eligibilityOf(facts) != eligibleAt(node) || (wishes_ && wishes_->isOtherAt(node, facts));
}

void Standing::addAll(NearNode node, const Tally& there, int sign) {
  const std::size_t first_apart = near_.empty() ? 0 : 1;
  for (std::size_t i = 0; i < spread_.size(); ++i) {
    if ((eligibleAt(node) >> i & 1U) == 0) { continue; }
    addSpread(i, node, sign, sign * std::int64_t{there[firstSpread() + i].staying()});
  }
  if (!near_.empty()) { addNear(node, sign * std::int64_t{there.front().all}); }
  for (std::size_t i = 0; i < apart_.size(); ++i) {
    add(apart_[i], node, sign * std::int64_t{there[first_apart + i].all});
  }
}

const NearPods* Standing::ofWishes(const Tally& there) const {
  return there.data() + firstSpread() + spread_.size();
}

void Standing::leave(NearNode node, const Tally& there) {
  addAll(node, there, -1);
  if (wishes_) { wishes_->leave(node, ofWishes(there)); }
  if (node < eligible_.size()) { eligible_[node] = 0; }
}

void Standing::enter(NearNode node, const model::Node* facts, const Tally& there) {
  if (!spread_.empty()) {
    if (node >= eligible_.size()) { eligible_.resize(node + 1, 0); }
    eligible_[node] = eligibilityOf(facts);
  }
  addAll(node, there, 1);
  if (wishes_) { wishes_->enter(node, facts, ofWishes(there)); }
}

// ---- Questions

template <class Asked, class DomainOf>
std::optional<Reason> Standing::spreadBy(const Asked& asked, const DomainOf& domain_of) const {
  for (const Spread& spread : spread_) {
    if (!asked(spread.key)) { continue; }
    const DomainId domain = domain_of(spread.key);
    if (domain == 0) { return Reason::SpreadNoLabel; }
    if (spread.counts.isClosed(domain)) { return Reason::SpreadUnmet; }
  }
  return std::nullopt;
}

template <class Asked, class DomainOf>
std::optional<Reason> Standing::nearBy(const Asked& asked, const DomainOf& domain_of) const {
  for (const Counts& counts : near_) {
    if (!asked(counts.key)) { continue; }
    const DomainId domain = domain_of(counts.key);
    if (domain == 0 || (!is_first_ && !counts.pods.contains(domain))) { return Reason::PodAffinity; }
  }
  for (const Counts& counts : apart_) {
    if (!asked(counts.key)) { continue; }
    if (counts.pods.contains(domain_of(counts.key))) { return Reason::PodAntiAffinity; }
  }
  return std::nullopt;
}

std::optional<Reason> Standing::spreadAt(Node node, NearPart part) const {
  const NearNode at = nodes_.at(node);
  return spreadBy([&](std::size_t use) { return isAsked(use, part); },
                  [&](std::size_t use) { return domainOf(use, at); });
}

std::optional<Reason> Standing::nearAt(Node node, NearPart part) const {
  const NearNode at = nodes_.at(node);
  return nearBy([&](std::size_t use) { return isAsked(use, part); },
                [&](std::size_t use) { return domainOf(use, at); });
}

std::uint64_t Standing::versionAt(Node node) const {
  const NearNode at = nodes_.at(node);
  std::uint64_t version = all_version_;
  for (const KeyUse& use : uses_) {
    if (!use.is_wide) { continue; }
    const auto it = use.versions.find(use.key->at(at));
    if (it != use.versions.end()) { version = std::max(version, it->second); }
  }
  return version;
}

/// Cell 0: the nodes in none of the wide domains.
const NearCells& Standing::cells() const {
  if (std::exchange(knows_cells_, true)) { return cells_; }
  std::vector<const TopologyKey*> wide;
  for (const KeyUse& use : uses_) {
    if (use.is_wide) { wide.push_back(use.key); }
  }
  cells_ = {};
  cell_domains_.assign(1, CellDomains(wide.size(), 0));
  if (wide.empty()) { return cells_; }
  std::map<CellDomains, NearCells::Cell> numbers{{cell_domains_.front(), NearCells::Cell{0}}};
  cells_.of.resize(ledger_.size());
  CellDomains domains(wide.size());
  for (Ledger::NodeIndex i = 0; i < ledger_.size(); ++i) {
    const NearNode node = nodes_.at(i);
    for (std::size_t k = 0; k < wide.size(); ++k) { domains[k] = wide[k]->at(node); }
    const auto next = static_cast<NearCells::Cell>(numbers.size());
    const auto [it, fresh] = numbers.try_emplace(domains, next);
    if (fresh) { cell_domains_.push_back(domains); }
    cells_.of[i] = it->second;
  }
  cells_.count = numbers.size();
  return cells_;
}

NearCellSet Standing::openCells() const {
  const std::size_t count = cells().count;
  NearCellSet open = 0;
  for (std::size_t cell = 0; cell < count; ++cell) {
    const auto asked = [&](std::size_t use) { return uses_[use].is_wide; };
    const auto domain_of = [&](std::size_t use) {
      const auto wide = std::count_if(uses_.begin(), uses_.begin() + static_cast<std::ptrdiff_t>(use),
                                      [](const KeyUse& before) { return before.is_wide; });
      return cell_domains_[cell][static_cast<std::size_t>(wide)];
    };
    const bool is_open = !spreadBy(asked, domain_of) && !nearBy(asked, domain_of);
    open |= (is_open ? NearCellSet{1} : NearCellSet{0}) << cell;
  }
  return open;
}

}  // namespace gs::sched
