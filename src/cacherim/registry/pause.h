// Waiting between two tries, cut short by cancel(). Tests wait without waiting.
#pragma once

#include "base/clock.h"
#include "base/mutex.h"

namespace gs::cacherim {

class Pause {
 public:
  virtual ~Pause() = default;
  /// False: cancel() was called, before or meanwhile.
  [[nodiscard]] virtual bool wait(Duration time) = 0;
  /// For good; any thread.
  virtual void cancel() = 0;
};

/// By the machine's clock: `clock` has to be one that goes by itself.
class RealPause final : public Pause {
 public:
  explicit RealPause(const Clock& clock) : clock_{clock} {}
  bool wait(Duration time) override {
    const Mono end = clock_.now().mono + time;
    MutexLock lock{mutex_};
    while (!cancelled_ && clock_.now().mono < end) { static_cast<void>(changed_.waitUntil(mutex_, end)); }
    return !cancelled_;
  }
  void cancel() override {
    const MutexLock lock{mutex_};
    cancelled_ = true;
    changed_.notifyAll();
  }

 private:
  const Clock& clock_;
  Mutex mutex_;
  Signal changed_;
  bool cancelled_ GS_GUARDED_BY(mutex_) = false;
};

}  // namespace gs::cacherim
