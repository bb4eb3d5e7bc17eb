#include "sched/volumes/volume_selections.h"

#include <utility>
#include <variant>

namespace gs::sched {

class VolumeSelections::Selection final : public VolumeSelection {
 public:
  Selection(VolumeAsk ask, const Volumes& volumes) : ask_{std::move(ask)}, volumes_{volumes} {}

  [[nodiscard]] const VolumeAsk& ask() const { return ask_; }
  [[nodiscard]] std::optional<Misfit> refuse(Filter filter, const model::Node& node) const override {
    return volumes_.refuse(filter, ask_, node);
  }
  [[nodiscard]] std::optional<Misfit> refuseWithout(const std::set<model::Uid>& gone, Filter filter,
                                                    const model::Node& node) const override {
    return volumes_.refuse(filter, ask_, node, &gone);
  }
  [[nodiscard]] std::uint64_t moment() const override { return volumes_.momentOf(ask_); }
  [[nodiscard]] std::optional<PodReason> keptFromNewNodes() const override {
    return sched::keptFromNewNodes(ask_);
  }

 private:
  const VolumeAsk ask_;
  const Volumes& volumes_;
};

VolumeSelections::Said VolumeSelections::of(const model::Pod& pod) {
  if (pod.volume_claims.empty() && pod.disks.empty() && !pod.has_gate) { return {}; }
  auto answer = volumes_.ask(pod);
  if (auto* blocked = std::get_if<Blocked>(&answer)) { return {nullptr, std::move(*blocked)}; }
  auto& ask = std::get<VolumeAsk>(answer);
  if (ask.empty()) { return {}; }
  return {find(std::move(ask)), {}};
}

std::shared_ptr<const VolumeSelections::Selection> VolumeSelections::find(VolumeAsk ask) {
  const std::size_t hash = ask.hash();
  const auto [first, last] = known_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (auto one = it->second.lock(); one != nullptr && one->ask() == ask) { return one; }
  }
  forgetUnused();
  auto made = std::make_shared<const Selection>(std::move(ask), volumes_);
  known_.emplace(hash, made);
  return made;
}

/// When they are twice as many as were in use at the last time.
void VolumeSelections::forgetUnused() {
  constexpr std::size_t kFew = 64;
  if (known_.size() < kFew + 2 * used_) { return; }
  std::erase_if(known_, [](const auto& one) { return one.second.expired(); });
  used_ = known_.size();
}

}  // namespace gs::sched
