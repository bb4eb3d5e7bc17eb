#include "sched/ledger/recent_changes.h"

namespace gs::sched {

void RecentChanges::note(Node node) {
  if (node >= last_.size()) { last_.resize(std::max<std::size_t>(node + 1, 2 * last_.size()), 0); }
  last_[node] = ++now_;
  if (!log_.empty() && log_.back().node == node) {
    log_.back().moment = now_;
    return;
  }
  constexpr std::size_t kSlack = 64;
  if (log_.size() >= 2 * last_.size() + kSlack) {
    std::erase_if(log_, [&](const Entry& e) { return last_[e.node] != e.moment; });
  }
  log_.push_back({now_, node});
}

}  // namespace gs::sched
