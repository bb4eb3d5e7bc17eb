// A fault for tests of clients: Bindings that take effect, and are answered, some seconds after they were
// sent, as by a server whose admission is slow. Whoever sent one may be gone by then. Any thread.
#pragma once

#include "base/clock.h"
#include "base/mutex.h"

namespace gs::sandbox {

class LateBindings {
 public:
  /// Of Bindings sent from now on; those on their way stay as late as they are. Zero: at once.
  void setDelay(Duration delay);
  /// Holds the caller, who has a Binding, for as long as it is to be late, or until release().
  void hold(const Clock& clock);
  /// Nobody is held any more, for good.
  void release();

 private:
  Mutex mutex_;
  Signal released_signal_;
  Duration delay_ GS_GUARDED_BY(mutex_){};
  bool released_ GS_GUARDED_BY(mutex_) = false;
};

}  // namespace gs::sandbox
