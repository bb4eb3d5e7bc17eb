// Which pods are to be reconciled: now, at a time, or in the course of a sweep.
//
// A pod stands here once, however often something happens to it. The order is a circle over uids, and not the
// order of events: who is touched all the time keeps nobody from its turn. The sweep is a list of everybody,
// taken some at a time. One thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "model/ids.h"

namespace gs::scheduler {

class ReconcileQueue {
 public:
  void add(model::Uid uid) { pending_.insert(std::move(uid)); }
  void add(std::set<model::Uid> uids) {
    if (pending_.empty()) {
      pending_ = std::move(uids);
    } else {
      pending_.merge(uids);
    }
  }
  void addAt(Mono at, const model::Uid& uid) { later_.emplace(at, uid); }
  /// Those whose time has come.
  void moveDue(Mono now) {
    while (!later_.empty() && later_.begin()->first <= now) {
      pending_.insert(later_.extract(later_.begin()).mapped());
    }
  }
  /// The one whose turn it is leaves.
  [[nodiscard]] std::optional<model::Uid> take() {
    if (pending_.empty()) { return std::nullopt; }
    const auto next = pending_.upper_bound(last_);
    last_ = pending_.extract(next == pending_.end() ? pending_.begin() : next).value();
    return last_;
  }
  [[nodiscard]] bool contains(const model::Uid& uid) const { return pending_.contains(uid); }
  [[nodiscard]] bool empty() const { return pending_.empty(); }
  [[nodiscard]] std::optional<Mono> nextDue() const {
    return later_.empty() ? std::nullopt : std::optional{later_.begin()->first};
  }

  void sweep(std::vector<model::Uid> everybody) { sweep_ = std::move(everybody); }
  [[nodiscard]] bool sweeping() const { return !sweep_.empty(); }
  [[nodiscard]] std::optional<model::Uid> takeOfSweep() {
    if (sweep_.empty()) { return std::nullopt; }
    model::Uid uid = std::move(sweep_.back());
    sweep_.pop_back();
    return uid;
  }

  void reset() {
    pending_.clear();
    later_.clear();
    sweep_.clear();
  }

 private:
  std::set<model::Uid> pending_;
  model::Uid last_;
  std::multimap<Mono, model::Uid> later_;
  std::vector<model::Uid> sweep_;
};

}  // namespace gs::scheduler
