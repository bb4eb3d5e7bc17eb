// PathsTeller: keeps the file by which the CSI driver learns where pods mount caches
// (cacherim/node/mount_paths.h). A new pod waits for it at most 10 s and gets the paths of --mount-path then,
// so it is written by a thread of its own: whatever the store has to do, and however long, holds up no pod.
//
// News are written at once, and again every kToldEvery, so that it is seen that somebody tells. What the disk
// refuses is tried again after kAgain, and trouble() says why. Only the last news count: a disk that hangs
// makes nobody wait who has some.
#pragma once

#include <cstddef>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "cacherim/disk/disk.h"
#include "kcache/node/mount_paths.h"

namespace gs::cacherim {

class PathsTeller {
 public:
  static constexpr Duration kAgain = std::chrono::seconds{1};

  /// `folder`: of the uses (cacherim/node/usage.h).
  PathsTeller(std::string folder, Disk disk);

  /// News: any thread, and never waits for the disk. nullptr: nothing is known, and nothing written.
  void mountPaths(kcache::MountPathsPtr paths) GS_EXCLUDES(mutex_);
  /// Writes what is due. One thread.
  void turn(Mono now) GS_EXCLUDES(mutex_);
  /// Takes its turns as they are due, until stop(). `clock` has to be one that goes by itself.
  void run(const Clock& clock) GS_EXCLUDES(mutex_);
  /// For good. Any thread.
  void stop() GS_EXCLUDES(mutex_);
  /// Why the file is not as it should be; "": it is. Any thread.
  [[nodiscard]] std::string trouble() const GS_EXCLUDES(mutex_);

 private:
  /// False: it is to stop.
  [[nodiscard]] bool waitUntilDue(const Clock& clock) GS_EXCLUDES(mutex_);

  const std::string folder_;
  const Disk disk_;
  std::size_t pods_cut_ = 0;  // as it was logged; of the thread that writes
  mutable Mutex mutex_;
  Signal changed_;
  bool is_stopping_ GS_GUARDED_BY(mutex_) = false;
  kcache::MountPathsPtr paths_ GS_GUARDED_BY(mutex_);
  Mono next_ GS_GUARDED_BY(mutex_){};  // when they are written (again)
  std::string trouble_ GS_GUARDED_BY(mutex_);
};

}  // namespace gs::cacherim
