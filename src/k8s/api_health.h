// What the last answers of the API server say about us: is our token still valid, when did it last answer. Watches outlive
// a revoked token, so this is fed by every call; the election's reads and renewals come every retry period.
// Thread-safe; one per process, read by /readyz.
#pragma once

#include "base/clock.h"
#include "base/mutex.h"

namespace gs::k8s {

class ApiHealth {
 public:
  struct State {
    bool unauthorized = false;  // the last answer that tells was a 401
    Mono last_answer{};         // zero: none yet
  };

  /// Every HTTP status that the API server gave.
  void answered(int status, Mono now) {
    MutexLock lock{mutex_};
    state_.last_answer = now;
    if (status < 500) { state_.unauthorized = status == 401; }
  }
  [[nodiscard]] State state() const {
    MutexLock lock{mutex_};
    return state_;
  }

 private:
  mutable Mutex mutex_;
  State state_ GS_GUARDED_BY(mutex_);
};

}  // namespace gs::k8s
