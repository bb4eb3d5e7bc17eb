#include "model/pod_affinity.h"

#include <algorithm>
#include <utility>

namespace gs::model {

std::optional<AntiAffinityTerm> keptAwayBy(PodTerm term) {
  if (!term.pods) { return std::nullopt; }
  AntiAffinityTerm out{std::move(term.topology_key), {}, *std::move(term.pods), {}};
  const auto& selector = term.namespace_selector;
  if (selector && selector->requirements.empty()) { return out; }  // every namespace
  out.namespaces = std::move(term.namespaces);
  out.namespace_selector = std::move(term.namespace_selector);
  return out;
}

std::vector<PreferredPodTerm> likedWhenThere(const PodAffinity& affinity) {
  std::vector<PreferredPodTerm> out = affinity.preferred;
  for (const PodTerm& term : affinity.near) { out.push_back({1, term}); }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace gs::model
