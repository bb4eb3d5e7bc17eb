#include "sched/placement/offers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "sched/filters/filter.h"
#include "sched/placement/explain.h"
#include "sched/placement/fit.h"
#include "sched/placement/node_ranking.h"

namespace gs::sched {
namespace {

constexpr int kBest = 10;

/// fitOn() for many nodes. Which devices of a node are best is a function of its topology and of those that
/// are free, and clusters have many nodes of one make: what was chosen once is remembered.
class Fits {
 public:
  Fits(const PodRequest& request, const model::Uid& self) : request_{request}, self_{self} {}

  [[nodiscard]] Verdict<Placement> on(const NodeState& n) {
    if (!isAlike(n)) { return fitOn(n, request_, self_); }
    const Key key{n.topology->serial(), n.healthy, n.unknown, n.held, n.anonymous};
    const auto known = known_.find(key);
    if (known != known_.end()) { return known->second; }
    auto fit = fitOn(n, request_, self_);
    if (fit) { known_.emplace(key, *fit); }
    return fit;
  }

 private:
  using Key = std::tuple<std::uint64_t, Mask, Mask, Mask, std::int64_t>;

  /// Nothing but its devices may refuse it there, and by nothing but what is in the key.
  [[nodiscard]] bool isAlike(const NodeState& n) const {
    const bool whole = request_.devices && !request_.devices->shared && request_.devices->exact.empty();
    if (!whole || n.topology == nullptr || n.topology->serial() == 0 || !namesDevices(n, request_)) {
      return false;
    }
    for (const DeviceState& d : n.devices) {
      if (std::any_of(d.holders.begin(), d.holders.end(), [&](const Holder& h) { return h.uid == self_; })) {
        return false;
      }
    }
    const bool refuses = refuseFacts(n, request_) || refuseUse(n, request_) || awaitsLook(n, request_);
    return !refuses && !refuseCounted(n, request_, self_);
  }

  const PodRequest& request_;
  const model::Uid& self_;
  std::map<Key, Placement> known_;
};

}  // namespace

bool isNever(Reason reason) { return !isCuredBy(reason, Cure::PodGone); }

Offers refusedBy(std::size_t nodes, std::string text, bool never) {
  return {{{std::move(text), never}}, std::vector<std::uint32_t>(nodes, 0)};
}

Offers offersFor(const OfferedNodes& nodes, const PodRequest& request, const model::Uid& self) {
  Offers out;
  out.of.assign(nodes.size(), Offers::kFits);
  std::map<std::pair<Reason, std::string>, std::uint32_t> groups;
  std::vector<Misfit> largest;  // of each group
  std::optional<std::uint32_t> unknown;
  Fits fits{request, self};
  const auto add = [&](Misfit misfit) {
    largest.push_back(std::move(misfit));
    return static_cast<std::uint32_t>(largest.size() - 1);
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] == nullptr) {
      if (!unknown) { unknown = add({}); }
      out.of[i] = *unknown;
      continue;
    }
    const auto fit = fits.on(*nodes[i]);
    if (fit) { continue; }
    const Misfit* misfit = &fit.error();
    const auto [group, fresh] = groups.try_emplace({misfit->reason, misfit->detail}, 0);
    if (fresh) { group->second = add(*misfit); }
    Misfit& of_all = largest[group->second];
    of_all.need = std::max(of_all.need, misfit->need);
    of_all.have = std::max(of_all.have, misfit->have);
    out.of[i] = group->second;
  }
  for (std::uint32_t g = 0; g < largest.size(); ++g) {
    if (g == unknown) {
      out.rejections.push_back({"node(s) were not known to gpu-scheduler yet", false});
    } else {
      out.rejections.push_back({wordsOf(largest[g]), isNever(largest[g].reason)});
    }
  }
  return out;
}

std::vector<int> scoresFor(const OfferedNodes& nodes, const PodRequest& request, const model::Uid& self,
                           const BonusOf& bonus_of) {
  using Rank = std::pair<std::int64_t, std::int64_t>;  // score, negative; NodeRanking::freeAfter()
  const auto& wishes = request.better_with;
  std::map<Rank, std::vector<std::size_t>> ranked;  // best first
  Fits fits{request, self};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] == nullptr) { continue; }
    const auto fit = fits.on(*nodes[i]);
    if (!fit) { continue; }
    const std::int32_t bonus = bonus_of && !wishes.empty() ? bonus_of(wishes, nodes[i]->node.name) : 0;
    ranked[{-fit->score, NodeRanking::freeAfter(nodes[i]->free_devices, bonus)}].push_back(i);
  }
  std::vector<int> out(nodes.size(), 0);
  int score = kBest;
  for (const auto& [rank, positions] : ranked) {
    for (const std::size_t i : positions) { out[i] = score; }
    score = std::max(0, score - 1);
  }
  return out;
}

}  // namespace gs::sched
