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
        deadline_{std::min(context.clock.now().mono + context.options.whole,
                           context.options.until.value_or(Mono::max()))} {}

  [[nodiscard]] Mono deadline() const { return deadline_; }
  /// Another host is asked now; so many tries in a row at most.
  void begin(int tries) {
    tries_ = tries;
    failures_ = 0;
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
  const Mono deadline_;
  int tries_ = 1;
  int failures_ = 0;
};

}  // namespace gs::cacherim
