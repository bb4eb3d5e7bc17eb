#include "agent/pace.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace gs::agent {
namespace {

constexpr int kOwed = 3;

}  // namespace

Duration Pace::untilNext() {
  if (std::exchange(ends_, users_.ends()) != users_.ends()) { owed_ = kOwed; }
  return users_.draining() || owed_ > 0 ? terms_.draining : calm_;
}

bool Pace::due(Mono now) {
  next_ = std::min(next_, now + untilNext());
  return now >= next_;
}

void Pace::written(bool is_new_time, Mono now) {
  calm_ = std::chrono::duration_cast<Duration>(terms_.calm * (0.9 + 0.2 * rng_.unit()));
  if (is_new_time) { owed_ = std::max(0, owed_ - 1); }
  next_ = now + untilNext();
}

}  // namespace gs::agent
