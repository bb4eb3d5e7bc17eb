// How long until a write that did not go through is tried again: 200 ms, then twice that each time up to
// 10 s, and never sooner than the server asked for (Retry-After).
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace gs::kapi {

struct RetryTerms {
  Duration first = std::chrono::milliseconds{200};
  Duration longest = std::chrono::seconds{10};
};

/// What a Retry-After may ask for; a longer one reads as this.
inline constexpr Duration kMostRetryAfter = std::chrono::minutes{5};

/// `failures` in a row so far, at least 1.
[[nodiscard]] inline Duration retryWait(int failures, Duration asked_for, const RetryTerms& terms = {}) {
  const Duration grown = terms.first * (1 << std::clamp(failures - 1, 0, 10));
  return std::max(std::min(terms.longest, grown), asked_for);
}

}  // namespace gs::kapi
