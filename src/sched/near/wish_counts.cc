#include "sched/near/wish_counts.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace gs::sched {
namespace {

constexpr const char* kHostname = "kubernetes.io/hostname";

template <class Counts>
void addTo(Counts& counts, std::uint32_t where, std::int64_t pods) {
  const auto it = counts.try_emplace(where, 0).first;
  it->second += pods;
  if (it->second == 0) { counts.erase(it); }
}

template <class Counts>
std::int64_t countIn(const Counts& counts, std::uint32_t where) {
  const auto it = counts.find(where);
  return it == counts.end() ? 0 : it->second;
}

}  // namespace

WishCounts::WishCounts(const NearRules& rules, const std::vector<std::string>& own_namespace,
                       TopologyKeys& keys, const NearNodes& nodes, const Likings& likings,
                       std::vector<Matcher>& matchers)
    : rules_{rules}, nodes_{nodes}, likings_{likings} {
  GS_CHECK(rules.spread_anyway.size() < kMostSpreads, "{} spread rules", rules.spread_anyway.size());
  for (const auto& [weight, term] : rules.preferred) {
    matchers.emplace_back(term);
    preferred_.push_back({weight, &keys.at(term.topology_key), {}});
  }
  for (const SpreadRule& rule : rules.spread_anyway) {
    // Where everybody is selected kube-scheduler counts nobody.
    const bool counts_some = rule.pods && !rule.pods->requirements.empty();
    matchers.push_back(counts_some ? Matcher{own_namespace, *rule.pods} : Matcher{});
    spread_.push_back({&keys.at(rule.topology_key), rule.max_skew, rule.topology_key == kHostname, {}});
  }
}

void WishCounts::count(std::size_t matcher, NearNode node, std::int64_t all, std::int64_t staying) {
  if (matcher < preferred_.size()) {
    Preferred& preferred = preferred_[matcher];
    const DomainId domain = preferred.key->at(node);
    if (domain == 0 || all == 0) { return; }
    addTo(preferred.pods, domain, all);
    ++version_;
    return;
  }
  const std::size_t i = matcher - preferred_.size();
  Spread& spread = spread_[i];
  const EligibleFor wanted = spread.is_by_node ? kExists : EligibleFor{1} << i;
  const std::uint32_t where = spread.is_by_node ? node : spread.key->at(node);
  if ((eligibleAt(node) & wanted) == 0 || staying == 0 || (!spread.is_by_node && where == 0)) { return; }
  addTo(spread.pods, where, staying);
  ++version_;
}

void WishCounts::addAll(NearNode node, const NearPods* there, int sign) {
  for (std::size_t i = 0; i < preferred_.size() + spread_.size(); ++i) {
    count(i, node, sign * std::int64_t{there[i].all}, sign * std::int64_t{there[i].staying()});
  }
}

EligibleFor WishCounts::eligibilityOf(const model::Node* facts) const {
  if (facts == nullptr || spread_.empty()) { return 0; }
  return kExists | eligibleFor(rules_.spread_anyway, rules_.needs_all_labels, rules_, facts);
}

void WishCounts::leave(NearNode node, const NearPods* there) {
  addAll(node, there, -1);
  if (node < eligible_.size()) { eligible_[node] = 0; }
  ++version_;
}

void WishCounts::enter(NearNode node, const model::Node* facts, const NearPods* there) {
  if (!spread_.empty()) {
    if (node >= eligible_.size()) { eligible_.resize(node + 1, 0); }
    eligible_[node] = eligibilityOf(facts);
  }
  addAll(node, there, 1);
  ++version_;
}

bool WishCounts::isOtherAt(NearNode node, const model::Node* facts) const {
  const auto is_at = [&](const TopologyKey& key, const std::string& name) {
    return key.isAt(node, labelOf(facts, name));
  };
  for (std::size_t i = 0; i < preferred_.size(); ++i) {
    if (!is_at(*preferred_[i].key, rules_.preferred[i].term.topology_key)) { return true; }
  }
  for (std::size_t i = 0; i < spread_.size(); ++i) {
    if (spread_[i].is_by_node) { continue; }
    if (!is_at(*spread_[i].key, rules_.spread_anyway[i].topology_key)) { return true; }
  }
  return eligibilityOf(facts) != eligibleAt(node);
}

// ---- Questions

/// Of all wishes about which pods are near.
std::vector<WishCounts::Sums> WishCounts::sums() const {
  std::vector<Sums> all;
  const auto add = [&](const TopologyKey* key, std::int32_t weight, const PodsByDomain& pods) {
    auto it = std::find_if(all.begin(), all.end(), [&](const Sums& sums) { return sums.key == key; });
    if (it == all.end()) { it = all.insert(all.end(), Sums{key, {}}); }
    for (const auto& [domain, count] : pods) {
      if (domain >= it->of.size()) { it->of.resize(domain + 1, 0); }
      it->of[domain] += weight * count;
    }
  };
  for (const Preferred& preferred : preferred_) { add(preferred.key, preferred.weight, preferred.pods); }
  for (const model::TermId id : rules_.liked_by) {
    if (const Liking* liking = likings_.find(id)) { add(liking->key, liking->weight, liking->there); }
  }
  return all;
}

/// How many domains the nodes that are counted are in; those without the label are one, where they count.
std::size_t WishCounts::sizeOf(const Spread& spread, const Nodes& nodes,
                               const std::vector<NearWish>& wishes) const {
  if (spread.is_by_node) {
    return static_cast<std::size_t>(
        std::count_if(wishes.begin(), wishes.end(), [](const NearWish& wish) { return wish.is_counted; }));
  }
  std::size_t size = 0;
  std::vector<bool> seen;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!wishes[i].is_counted) { continue; }
    const DomainId domain = spread.key->at(nodes[i]);
    if (domain >= seen.size()) { seen.resize(domain + 1, false); }
    if (!seen[domain]) { ++size; }
    seen[domain] = true;
  }
  return size;
}

/// The sum over the rules of log(domains + 2) * pods + maxSkew - 1: few large domains do not drown many small
/// ones.
void WishCounts::addBeside(const Nodes& nodes, std::vector<NearWish>& out) const {
  if (spread_.empty()) { return; }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto has_label = [&](const Spread& spread) { return spread.key->at(nodes[i]) != 0; };
    out[i].is_counted = !rules_.needs_all_labels || std::all_of(spread_.begin(), spread_.end(), has_label);
  }
  std::vector<double> beside(nodes.size(), 0);
  for (const Spread& spread : spread_) {
    const double weight = std::log(static_cast<double>(sizeOf(spread, nodes, out) + 2));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const DomainId domain = spread.key->at(nodes[i]);
      if (!out[i].is_counted || domain == 0) { continue; }
      const std::int64_t pods = countIn(spread.pods, spread.is_by_node ? nodes[i] : domain);
      beside[i] += static_cast<double>(pods) * weight + static_cast<double>(spread.max_skew - 1);
    }
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) { out[i].beside = std::llround(beside[i]); }
}

std::vector<NearWish> WishCounts::of(const std::vector<Ledger::NodeIndex>& nodes) const {
  std::vector<NearWish> out(nodes.size());
  Nodes near_nodes;
  near_nodes.reserve(nodes.size());
  for (const auto index : nodes) { near_nodes.push_back(nodes_.at(index)); }
  for (const Sums& sums : sums()) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const DomainId domain = sums.key->at(near_nodes[i]);
      if (domain < sums.of.size()) { out[i].liked += sums.of[domain]; }
    }
  }
  addBeside(near_nodes, out);
  return out;
}

}  // namespace gs::sched
