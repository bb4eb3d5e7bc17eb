#include "sandbox/serve/late_bindings.h"

namespace gs::sandbox {

void LateBindings::setDelay(Duration delay) {
  const MutexLock lock{mutex_};
  delay_ = delay;
}

void LateBindings::hold(const Clock& clock) {
  const MutexLock lock{mutex_};
  if (delay_ <= Duration{}) { return; }
  const Mono until = clock.now().mono + delay_;
  while (!released_ && clock.now().mono < until) { (void)released_signal_.waitUntil(mutex_, until); }
}

void LateBindings::release() {
  const MutexLock lock{mutex_};
  released_ = true;
  released_signal_.notifyAll();
}

}  // namespace gs::sandbox
