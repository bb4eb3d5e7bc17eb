// CacheRim: what one machine of a World keeps of kernel caches, as the agent's process on it meets that: its
// store, and who fetches images into it. The World, which may do no I/O, gets one for each machine from
// whoever makes it (test/sim/cache_machine.h has the shipped keeper, store and CSI driver in a folder).
// It is the machine's: processes of the agent come and go, and it goes with the machine. One thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "kcache/node/mount_paths.h"
#include "kcache/node/node.h"

namespace gs::sandbox {

class CacheRim {
 public:
  CacheRim() = default;
  CacheRim(const CacheRim&) = delete;
  CacheRim& operator=(const CacheRim&) = delete;
  virtual ~CacheRim() = default;

  /// A process of the agent begins, and knows nothing.
  virtual void begin(Now now) = 0;
  /// It is gone, and with it all that was under way.
  virtual void end() = 0;
  virtual void want(kcache::WantedPtr wanted) = 0;
  /// Where pods of the machine mount caches, for its CSI driver.
  virtual void mountPaths(kcache::MountPathsPtr paths) = 0;
  /// Does what can be done. What is there; nullptr: what was told last.
  [[nodiscard]] virtual kcache::NodeHasPtr turn(Now now) = 0;
  /// When turn() has something to do by itself.
  [[nodiscard]] virtual std::optional<Mono> nextDue() const = 0;
  /// The process has died in the midst of a call. It is asked after each.
  [[nodiscard]] virtual bool hasDied() const = 0;
};

/// Called when a machine comes.
using MakeCacheRim = std::function<std::unique_ptr<CacheRim>(const std::string& node)>;

}  // namespace gs::sandbox
