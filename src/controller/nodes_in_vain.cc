#include "controller/nodes_in_vain.h"

#include <algorithm>
#include <utility>

#include "kapi/retry_wait.h"

namespace gs::controller {
namespace {

constexpr Duration kMostInVainFor = std::chrono::minutes{3};
constexpr std::size_t kMostInVain = 64;  // nodes that one pod is kept from at once
constexpr kapi::RetryTerms kTerms{std::chrono::seconds{2},
                                  std::chrono::seconds{20}};  // longer than it waits itself

}  // namespace

std::optional<Mono> NodesInVain::tried(const model::Uid& uid, const model::NodeName& node, bool refused,
                                       Mono now) {
  OfPod& of_pod = pods_[uid];
  of_pod.refused = refused;
  if (of_pod.nodes.size() >= kMostInVain && !of_pod.nodes.contains(node)) { return std::nullopt; }
  Tries& tries = of_pod.nodes[node];
  const Duration one = kapi::retryWait(++tries.number, {}, kTerms);
  const Duration each = one * std::max<std::size_t>(2, of_pod.nodes.size()) / 2;
  tries.until = now + std::min<Duration>(each, kMostInVainFor);
  return tries.until;
}

bool NodesInVain::nowhereElse(const model::Uid& uid) {
  const auto of_pod = pods_.find(uid);
  return of_pod != pods_.end() && !std::exchange(of_pod->second.nowhere_else, true);
}

std::vector<model::NodeName> NodesInVain::leftOut(const model::Uid& uid, bool all, Mono now) const {
  std::vector<model::NodeName> out;
  const auto of_pod = pods_.find(uid);
  if (of_pod == pods_.end()) { return out; }
  for (const auto& [node, tries] : of_pod->second.nodes) {
    if (all || !of_pod->second.nowhere_else || now < tries.until) { out.push_back(node); }
  }
  return out;
}

bool NodesInVain::refused(const model::Uid& uid) const {
  const auto of_pod = pods_.find(uid);
  return of_pod != pods_.end() && of_pod->second.refused;
}

}  // namespace gs::controller
