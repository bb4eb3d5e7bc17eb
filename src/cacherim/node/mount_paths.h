// The file by which the agent tells the CSI driver where pods mount their caches (kcache/node/mount_paths.h):
//
//   /run/gkm/usage/paths.json
//   {"told":8325,"pods":{"<uid>":{"volumes":{"<name>":"/cache"},"claims":{"<claim>":"/cache"}}}}
//
// `"more":true` in a pod says that not all of its volumes are told. Members that are not known are passed
// over. Written to the side and renamed, so that a reader sees all of it, and written anew every kToldEvery
// while the agent runs. By its age a reader sees whether anybody tells still: who is not in a file that is
// kept may come yet; where it is not kept nobody comes. `told` is when it was written, in seconds of the
// monotonic clock: both are on one machine, so they have one, and nobody sets it.
// Whatever pods there are, it has no more than kMostOfMountPaths bytes. Any thread and process. Errors:
// NotFound, there is none (no agent of this version has run since the machine was started); Invalid, it is
// not such a file; Unavailable, the disk said no.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "cacherim/disk/disk.h"
#include "kcache/node/mount_paths.h"

namespace gs::cacherim {

inline constexpr std::size_t kMostOfMountPaths = std::size_t{4} << 20;  // bytes
inline constexpr Duration kToldEvery = std::chrono::seconds{15};
/// Long enough for an agent that is started anew, or has much to do.
inline constexpr Duration kToldFor = std::chrono::seconds{90};

/// `most`: bytes. Where there is no room for all it is said of pods that they are there and have more, of the
/// largest ones first, and at last nothing.
struct PrintedPaths {
  std::string text{};
  std::size_t cut = 0;  // pods that are not told as a whole
};
[[nodiscard]] PrintedPaths printMountPaths(const kcache::MountPaths& paths, Mono now,
                                           std::size_t most = kMostOfMountPaths);

struct ToldPaths {
  kcache::MountPaths pods{};
  std::optional<Mono> told_at{};  // last; nullopt: it does not say

  [[nodiscard]] bool isKept(Mono now) const {
    return told_at && *told_at <= now && now - *told_at <= kToldFor;
  }
};
[[nodiscard]] Result<ToldPaths> parseMountPaths(std::string_view text);

/// `folder`: of the uses (usage.h), which is made when it is missing, and locked meanwhile: two agents may
/// run while one is replaced. Gives how many pods are not told as a whole.
[[nodiscard]] Result<std::size_t> writeMountPaths(const std::string& folder, const kcache::MountPaths& paths,
                                                  Mono now, const Disk& disk);
[[nodiscard]] Result<ToldPaths> readMountPaths(const std::string& folder);

/// Reads it once for each time that it is written, however many ask. Any thread.
class MountPathsFile {
 public:
  explicit MountPathsFile(std::string folder) : folder_{std::move(folder)} {}
  [[nodiscard]] Result<std::shared_ptr<const ToldPaths>> read() GS_EXCLUDES(mutex_);

 private:
  const std::string folder_;
  Mutex mutex_;
  std::optional<Disk::Entry> known_ GS_GUARDED_BY(mutex_);  // the file of which told_ is
  std::shared_ptr<const ToldPaths> told_ GS_GUARDED_BY(mutex_);
};

}  // namespace gs::cacherim
