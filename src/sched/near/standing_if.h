// How the rules of a class of pods would stand if other pods were on one node: for who asks whether others
// have to go from there (sched/preemption/). It counts beside a Standing, which is not changed, and is good
// until that one is. Cost of a pod: a comparison with each of the rules. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sched/near/standing.h"

namespace gs::sched {

class StandingIf final : public NearStandingIf {
 public:
  StandingIf(std::shared_ptr<const Standing> standing, Node node);

  void count(const model::Pod& pod, int more) override;
  [[nodiscard]] std::optional<Reason> spreadAt(Node node, NearPart part) const override;
  [[nodiscard]] std::optional<Reason> nearAt(Node node, NearPart part) const override;

  // Which nodes are alike is not asked of what might be.
  [[nodiscard]] std::uint64_t versionAt(Node node) const override { return s_->versionAt(node); }
  [[nodiscard]] std::uint64_t epoch() const override { return s_->epoch(); }
  [[nodiscard]] const NearCells& cells() const override { return s_->cells(); }
  [[nodiscard]] NearCellSet openCells() const override { return s_->openCells(); }
  [[nodiscard]] bool hasWishes() const override { return s_->hasWishes(); }
  [[nodiscard]] std::uint64_t wishesVersion() const override { return s_->wishesVersion(); }
  [[nodiscard]] std::vector<NearWish> wishes(const std::vector<Node>& nodes) const override {
    return s_->wishes(nodes);
  }

 private:
  /// Pods more, by matcher.
  struct More {
    std::int64_t all = 0;
    std::int64_t staying = 0;
  };
  [[nodiscard]] std::int64_t podsIn(const Standing::Counts& counts, std::int64_t more) const;
  [[nodiscard]] bool isFirst() const;

  std::shared_ptr<const Standing> s_;
  Node node_;
  NearNode at_;
  std::vector<More> more_;
};

}  // namespace gs::sched
