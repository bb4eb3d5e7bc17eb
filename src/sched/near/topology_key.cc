#include "sched/near/topology_key.h"

#include <algorithm>
#include <utility>

namespace gs::sched {

bool TopologyKey::isAt(NearNode node, const std::string* value) const {
  const DomainId domain = at(node);
  if (value == nullptr || domain == 0) { return value == nullptr && domain == 0; }
  return domains_[domain].value == *value;
}

void TopologyKey::leave(NearNode node) {
  const DomainId id = std::exchange(of_[node], DomainId{0});
  if (id == 0) { return; }
  Domain& domain = domains_[id];
  *std::find(domain.nodes.begin(), domain.nodes.end(), node) = domain.nodes.back();
  domain.nodes.pop_back();
  --nodes_;
  if (!domain.nodes.empty()) { return; }
  ids_.erase(domain.value);
  domain.value.clear();
  vacant_.push_back(id);
}

void TopologyKey::set(NearNode node, const std::string* value) {
  if (node >= of_.size()) { of_.resize(node + 1); }
  leave(node);
  if (value == nullptr) { return; }
  const auto [it, fresh] = ids_.try_emplace(*value, DomainId{0});
  if (fresh && vacant_.empty()) {
    it->second = static_cast<DomainId>(domains_.size());
    domains_.emplace_back();
  } else if (fresh) {
    it->second = vacant_.back();
    vacant_.pop_back();
  }
  Domain& domain = domains_[it->second];
  if (fresh) { domain.value = *value; }
  domain.nodes.push_back(node);
  of_[node] = it->second;
  ++nodes_;
}

bool TopologyKey::decideWidth() {
  const std::size_t per_domain = is_wide_ ? std::max<std::size_t>(1, nodes_of_wide_ / 2) : nodes_of_wide_;
  const std::size_t domains = ids_.size();
  const bool is = domains > 0 && domains <= NearCells::kMost / 2 && nodes_ >= per_domain * domains;
  return std::exchange(is_wide_, is) != is;
}

}  // namespace gs::sched
