// TimeLimit: by when all that a registry is asked for ends, and parts of that time: who asks for several
// things, none of which may take the time of the others, gives each a part. Time that one leaves is there for
// the next. Nobody is interrupted by it: calls end by themselves when until() has come (RegistryRetry).
// One thread; the clock must outlive it.
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace gs::cacherim {

class TimeLimit {
 public:
  /// Mono::max(): there is no end.
  TimeLimit(const Clock& clock, Mono until) : clock_{clock}, until_{until} {}

  /// While it lives the limit is nearer. Parts of a part end before it does.
  class Part {
   public:
    Part(TimeLimit& limit, Mono until) : limit_{limit}, before_{limit.until_} { limit.until_ = until; }
    ~Part() { limit_.until_ = before_; }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

   private:
    TimeLimit& limit_;
    const Mono before_;
  };

  [[nodiscard]] Mono until() const { return until_; }
  [[nodiscard]] bool isOver() const { return clock_.now().mono >= until_; }
  /// One of `of` equal parts of the time that is left.
  [[nodiscard]] Part part(std::size_t of) {
    const Mono now = clock_.now().mono;
    const Duration left = std::max(Duration::zero(), until_ - now);
    return Part{*this, std::min(until_, now + left / static_cast<std::int64_t>(of))};
  }

 private:
  const Clock& clock_;
  Mono until_;
};

}  // namespace gs::cacherim
