// LeaderGate: may we write? The last word before a leader-only call is sent. The election thread sets it,
// pool threads ask it with the connection already open, directly before the first byte.
//
// The rule is maySend() of runner/send_rule.h, with what was set last. Closed until first set.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/mutex.h"
#include "kapi/call.h"
#include "runner/send_rule.h"

namespace gs::k8s {

class LeaderGate {
 public:
  void set(const kapi::Leadership& leadership) {
    MutexLock lock{mutex_};
    leadership_ = leadership;
  }
  [[nodiscard]] bool open(std::uint64_t term, Mono now) const {
    MutexLock lock{mutex_};
    return runner::maySend(leadership_, term, now);
  }
  [[nodiscard]] kapi::Leadership leadership() const {
    MutexLock lock{mutex_};
    return leadership_;
  }

 private:
  mutable Mutex mutex_;
  kapi::Leadership leadership_ GS_GUARDED_BY(mutex_);
};

}  // namespace gs::k8s
