// The Wake effects of one machine: when to give it a TimerDue. Rounded up to whole milliseconds and kept once
// each, so a machine that asks with every event costs at most one entry per millisecond ahead. "Never" (near
// Mono::max()) is left out.
#pragma once

#include <set>

#include "base/clock.h"

namespace gs::runner {

class WakeTimes {
 public:
  void add(Mono at) {
    if (at < Mono::max() - std::chrono::hours{1}) {
      times_.insert(std::chrono::ceil<std::chrono::milliseconds>(at));
    }
  }
  /// Mono::max(): none.
  [[nodiscard]] Mono next() const { return times_.empty() ? Mono::max() : *times_.begin(); }
  /// Forgets the times that have come; true when there was one.
  bool due(Mono now) {
    const auto first_later = times_.upper_bound(now);
    const bool any = first_later != times_.begin();
    times_.erase(times_.begin(), first_later);
    return any;
  }

 private:
  std::set<Mono> times_;
};

}  // namespace gs::runner
