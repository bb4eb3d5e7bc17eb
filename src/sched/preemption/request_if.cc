#include "sched/preemption/request_if.h"

#include <algorithm>
#include <optional>

#include "sched/near/matcher.h"

namespace gs::sched {

/// What the pod mounts, without those that went.
class RequestIf::Volumes final : public VolumeSelection {
 public:
  explicit Volumes(std::shared_ptr<const VolumeSelection> is) : is_{std::move(is)} {}

  [[nodiscard]] std::optional<Misfit> refuse(Filter filter, const model::Node& node) const override {
    return gone.empty() ? is_->refuse(filter, node) : is_->refuseWithout(gone, filter, node);
  }
  [[nodiscard]] std::uint64_t moment() const override { return is_->moment(); }

  std::set<model::Uid> gone;

 private:
  std::shared_ptr<const VolumeSelection> is_;
};

RequestIf::RequestIf(PodRequest request, const NodeState& node, PodsThere others)
    : node_{node}, others_{others}, request_{std::move(request)} {
  if (request_.near.standing != nullptr) {
    near_ = request_.near.standing->ifOthersWere(node.index);
    if (near_ != nullptr) { request_.near.standing = near_; }
  }
  if (request_.volumes != nullptr) {
    volumes_ = std::make_shared<Volumes>(std::move(request_.volumes));
    request_.volumes = volumes_;
  }
  if (others_.anti_affinity == nullptr) { return; }
  for (const auto term : request_.kept_away_by) {
    int pods = 0;
    for (const auto& closed : node.closed_to) {
      const auto it = closed->find(term);
      pods += it == closed->end() ? 0 : it->second;
    }
    if (pods > 0) { closed_.emplace(term, pods); }
  }
}

void RequestIf::move(const model::Pod& pod, bool goes) {
  const int by = goes ? -1 : 1;
  ++cost_;
  if (near_ != nullptr) {
    near_->count(pod, by);
    ++cost_;
  }
  if (volumes_ != nullptr) {
    if (goes) {
      volumes_->gone.insert(pod.uid);
    } else {
      volumes_->gone.erase(pod.uid);
    }
  }
  if (closed_.empty()) { return; }
  const auto said = others_.anti_affinity->saidBy(pod.uid);
  if (said.empty()) { return; }
  cost_ += said.size();
  for (const auto term : said) {
    const auto it = closed_.find(term);
    if (it != closed_.end()) { it->second += by; }
  }
  request_.kept_away_by.clear();
  for (const auto& [term, pods] : closed_) {
    if (pods > 0) { request_.kept_away_by.push_back(term); }
  }
}

void RequestIf::come(const model::Pod& nominated, const model::Pod& asks) {
  ++cost_;
  if (near_ != nullptr) { near_->count(nominated, 1); }
  const model::Labels* ns_labels = others_.near == nullptr ? nullptr : others_.near->labelsOf(asks.key.ns);
  const auto& apart = nominated.affinity->apart;
  is_kept_away_ = is_kept_away_ || std::any_of(apart.begin(), apart.end(), [&](const model::PodTerm& term) {
                    ++cost_;
                    if (!node_.node.labels.contains(term.topology_key)) { return false; }
                    const Matcher means{term};
                    return means.means(asks.key.ns, ns_labels) && means.means(asks.labels);
                  });
}

}  // namespace gs::sched
