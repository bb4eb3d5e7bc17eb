#include "cacherim/keeper/paths_teller.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "cacherim/node/mount_paths.h"

namespace gs::cacherim {

PathsTeller::PathsTeller(std::string folder, Disk disk)
    : folder_{std::move(folder)}, disk_{std::move(disk)} {}

void PathsTeller::mountPaths(kcache::MountPathsPtr paths) {
  const MutexLock lock{mutex_};
  paths_ = std::move(paths);
  next_ = {};
  changed_.notifyAll();
}

void PathsTeller::turn(Mono now) {
  kcache::MountPathsPtr paths;
  {
    const MutexLock lock{mutex_};
    if (paths_ == nullptr || now < next_) { return; }
    paths = paths_;
    next_ = now + kToldEvery;
  }
  const auto cut = writeMountPaths(folder_, *paths, now, disk_);
  {
    const MutexLock lock{mutex_};
    trouble_ = cut ? "" : cut.error().message;
    if (!cut) { next_ = std::min(next_, now + kAgain); }
  }
  if (!cut || std::exchange(pods_cut_, *cut) == *cut || *cut == 0) { return; }
  log::warn(
      "not all is told of where pods mount caches: it is too much. Those keep the paths of --mount-path",
      {{"pods", *cut}});
}

void PathsTeller::run(const Clock& clock) {
  while (waitUntilDue(clock)) { turn(clock.now().mono); }
}

bool PathsTeller::waitUntilDue(const Clock& clock) {
  const MutexLock lock{mutex_};
  while (!is_stopping_ && (paths_ == nullptr || clock.now().mono < next_)) {
    if (paths_ == nullptr) {
      changed_.wait(mutex_);
    } else {
      static_cast<void>(changed_.waitUntil(mutex_, next_));
    }
  }
  return !is_stopping_;
}

void PathsTeller::stop() {
  const MutexLock lock{mutex_};
  is_stopping_ = true;
  changed_.notifyAll();
}

std::string PathsTeller::trouble() const {
  const MutexLock lock{mutex_};
  return trouble_;
}

}  // namespace gs::cacherim
