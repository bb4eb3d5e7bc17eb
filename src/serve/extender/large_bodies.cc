#include "serve/extender/large_bodies.h"

#include <algorithm>
#include <utility>

#include "base/free_memory.h"
#include "base/system_clock.h"

namespace gs::serve {
namespace {

/// As many schedulers do not send at once; what takes so much is one request in a thousand, or an attack.
constexpr std::size_t kTrimFrom = std::size_t{64} << 20;

}  // namespace

std::optional<LargeBodies::Turn> LargeBodies::take(std::size_t bytes, Duration patience) {
  if (!isLarge(bytes)) { return Turn{nullptr, 0}; }
  bytes = std::min(bytes, limits_.most);
  const SystemClock clock;
  const Mono deadline = clock.now().mono + patience;
  MutexLock lock{mutex_};
  const std::uint64_t mine = ++last_;
  waiting_.insert(mine);
  bool late = false;
  while (*waiting_.begin() != mine || in_work_ + bytes > limits_.most) {
    if (late) {
      waiting_.erase(mine);
      changed_.notifyAll();  // the next may fit
      return std::nullopt;
    }
    late = !changed_.waitUntil(mutex_, deadline);
  }
  waiting_.erase(mine);
  in_work_ += bytes;
  most_in_work_ = std::max(most_in_work_, in_work_);
  changed_.notifyAll();
  return Turn{this, bytes};
}

std::size_t LargeBodies::waiting() const {
  const MutexLock lock{mutex_};
  return waiting_.size();
}

void LargeBodies::giveBack(std::size_t bytes) {
  bool trims = false;
  {
    MutexLock lock{mutex_};
    in_work_ -= bytes;
    changed_.notifyAll();
    trims = in_work_ == 0 && std::exchange(most_in_work_, 0) >= kTrimFrom;
  }
  if (trims) { giveFreeMemoryBack(); }
}

}  // namespace gs::serve
