// What the last answers of the API server say about us: is our token still valid? Watches outlive
// a revoked token, so this is fed by every call; the election's reads and renewals come every retry period.
// Thread-safe; one per process, read by /readyz.
#pragma once

#include "base/mutex.h"

namespace gs::k8s {

class ApiHealth {
 public:
  struct State {
    bool unauthorized = false;  // the last answer that tells was a 401
  };

  /// Every HTTP status that the API server gave.
  void answered(int status) {
    MutexLock lock{mutex_};
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
