// RegistryRetry: when a call is tried again, and when it has to end: after so many tries in a row that
// brought nothing, or when its time is over. Waits grow as kapi::retryWait() has it, up to a quarter longer
// by chance; a registry may ask for more (Retry-After), up to a limit. One thread.
#pragma once

#include <algorithm>
#include <optional>

#include "cacherim/registry/registry_host.h"

namespace gs::cacherim {

class RegistryRetry {
 public:
  explicit RegistryRetry(RegistryContext& context)
      : context_{context},
        whole_{std::min(context.clock.now().mono + context.options.whole, context.time.until())} {}

  [[nodiscard]] Mono deadline() const { return deadline_; }
  /// Another host is asked now. The last one as often as the options say, in all the time that is left;
  /// another, a mirror, once, in half of it: one that hangs must not take the registry's time.
  void begin(bool is_last = true) {
    const Mono now = context_.clock.now().mono;
    tries_ = is_last ? context_.options.tries : 1;
    deadline_ = is_last ? whole_ : now + std::max(Duration::zero(), whole_ - now) / 2;
    failures_ = 0;
  }
  /// So long it was not the registry that was waited for. (Where all has to be over at some time, see
  /// TimeLimit, that stays.)
  void extend(Duration by) {
    const Mono limit = context_.time.until();
    whole_ = std::min(whole_ + by, limit);
    deadline_ = std::min(deadline_ + by, limit);
  }
  /// Before a try: nothing is asked any more when its time is over.
  [[nodiscard]] bool isOver() const { return context_.clock.now().mono >= deadline_; }
  /// nullopt: waited, try again. `progress`: this try brought something.
  [[nodiscard]] std::optional<Error> failed(const Refusal& why, bool progress) {
    if (!why.again) { return why.error; }
    if (progress) { failures_ = 0; }
    if (++failures_ >= tries_) { return why.error; }
    Duration wait = kapi::retryWait(
        failures_, std::min(why.retry_after, context_.options.longest_retry_after), context_.options.waits);
    wait += Duration{
        static_cast<std::int64_t>(context_.rng.below(static_cast<std::uint64_t>(wait.count() / 4 + 1)))};
    if (context_.clock.now().mono + wait >= deadline_) { return Error{Code::Deadline, why.error.message}; }
    if (!context_.pause.wait(wait)) { return Error{Code::Unavailable, "the request was cancelled"}; }
    return std::nullopt;
  }

 private:
  RegistryContext& context_;
  Mono whole_;
  Mono deadline_ = whole_;  // of the host that is asked
  int tries_ = 1;
  int failures_ = 0;
};

}  // namespace gs::cacherim
