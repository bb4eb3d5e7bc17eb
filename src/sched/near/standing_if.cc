#include "sched/near/standing_if.h"

#include <utility>

namespace gs::sched {

StandingIf::StandingIf(std::shared_ptr<const Standing> standing, Node node)
    : s_{std::move(standing)}, node_{node}, at_{s_->nodes_.at(node)}, more_(s_->matchers().size()) {}

void StandingIf::count(const model::Pod& pod, int more) {
  const auto labels = s_->namespaces_.find(pod.key.ns);
  const model::Labels* ns_labels = labels == s_->namespaces_.end() ? nullptr : &labels->second;
  for (std::size_t i = 0; i < more_.size(); ++i) {
    const Matcher& matcher = s_->matchers()[i];
    if (!matcher.means(pod.key.ns, ns_labels) || !matcher.means(pod.labels)) { continue; }
    more_[i].all += more;
    if (!pod.deleting) { more_[i].staying += more; }
  }
}

/// That it counts in the node's domain. 0 where the node is in none.
std::int64_t StandingIf::podsIn(const Standing::Counts& counts, std::int64_t more) const {
  const DomainId domain = s_->domainOf(counts.key, at_);
  if (domain == 0) { return 0; }
  const auto it = counts.pods.find(domain);
  return (it == counts.pods.end() ? 0 : it->second) + more;
}

/// Nobody whom its affinity means would be anywhere (Standing::findFirst).
bool StandingIf::isFirst() const {
  if (!s_->rules_->means_itself || !s_->means_own_namespace_) { return false; }
  std::int64_t domains = s_->near_domains_;
  for (const auto& counts : s_->near_) {
    const bool has = podsIn(counts, 0) > 0;
    const bool would_have = podsIn(counts, more_.front().all) > 0;
    domains += static_cast<int>(would_have) - static_cast<int>(has);
  }
  return domains == 0;
}

std::optional<Reason> StandingIf::spreadAt(Node node, NearPart part) const {
  if (node != node_) { return s_->spreadAt(node, part); }
  const std::size_t first = s_->firstSpread();
  for (std::size_t i = 0; i < s_->spread_.size(); ++i) {
    const Standing::Spread& spread = s_->spread_[i];
    const DomainId domain = s_->domainOf(spread.key, at_);
    if (domain == 0) { return Reason::SpreadNoLabel; }
    const bool counts = (s_->eligibleAt(at_) >> i & 1U) != 0;
    if (spread.counts.isClosedWith(domain, counts ? more_[first + i].staying : 0)) {
      return Reason::SpreadUnmet;
    }
  }
  return std::nullopt;
}

std::optional<Reason> StandingIf::nearAt(Node node, NearPart part) const {
  if (node != node_) { return s_->nearAt(node, part); }
  const bool is_first = !s_->near_.empty() && isFirst();
  for (const auto& counts : s_->near_) {
    if (s_->domainOf(counts.key, at_) == 0) { return Reason::PodAffinity; }
    if (!is_first && podsIn(counts, more_.front().all) <= 0) { return Reason::PodAffinity; }
  }
  const std::size_t first = s_->near_.empty() ? 0 : 1;
  for (std::size_t i = 0; i < s_->apart_.size(); ++i) {
    if (podsIn(s_->apart_[i], more_[first + i].all) > 0) { return Reason::PodAntiAffinity; }
  }
  return std::nullopt;
}

std::shared_ptr<NearStandingIf> Standing::ifOthersWere(Node node) const {
  return std::make_shared<StandingIf>(shared_from_this(), node);
}

}  // namespace gs::sched
