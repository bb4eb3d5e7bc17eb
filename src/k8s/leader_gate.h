// LeaderGate: may we write? The last word before a leader-only call is sent. The election thread sets it,
// pool threads ask it with the connection already open, directly before the first byte.
//
// Open for calls of `term` only: what was decided in an earlier term is never sent in a later one. Shuts by
// itself at `until`, whether or not the election thread still runs. Closed until first set.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/mutex.h"
#include "kapi/call.h"

namespace gs::k8s {

class LeaderGate {
 public:
  void set(const kapi::Leadership& leadership) {
    MutexLock lock{mutex_};
    leadership_ = leadership;
  }
  [[nodiscard]] bool open(std::uint64_t term, Mono now) const {
    MutexLock lock{mutex_};
    return leadership_.leading && leadership_.term == term && now < leadership_.until;
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
