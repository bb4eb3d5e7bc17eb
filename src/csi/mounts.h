// Mounts: what the driver does to the machine. LinuxMounts (linux_mounts.h) does it; tests have a fake.
//
// Each call is done or not done when it returns, and mounting makes the finished mount appear at once: a
// process that dies in between leaves a folder, or a mount, and never a half one. Targets are paths as the
// kubelet names them, clean and below the target root (volume_request.h). Any thread; two calls for one
// target come one after the other. Errors: Unavailable, the system said no, and later it may not; Conflict,
// something of others is in the way. They name the call and the path.
#pragma once

#include <string>
#include <vector>

#include "csi/mountinfo.h"
#include "csi/path_layer.h"
#include "net/socket.h"
#include "rpc/csi_calls.h"

namespace gs::csi {

/// What is mounted, and as whose.
struct MountedTree {
  const net::Fd& root;  // its folder, open: whatever happens to the path meanwhile
  const cacherim::CacheName& cache;
  const kcache::Digest& image;
  const PathLayer& paths;  // files that this mount has in place of the tree's
};

class Mounts {
 public:
  virtual ~Mounts() = default;
  /// All below the target root.
  [[nodiscard]] virtual Result<std::vector<TargetMount>> list() = 0;
  /// Whether this path below the target root is there.
  [[nodiscard]] virtual Result<bool> isThere(const std::string& path) = 0;

  /// An empty folder in one that is there. There already: fine.
  [[nodiscard]] virtual Status makeTarget(const std::string& target) = 0;
  /// `tree` below a layer of the pod's own, which has a limit and goes with the mount.
  [[nodiscard]] virtual Status mountWritable(const MountedTree& tree, const std::string& target) = 0;
  /// `tree` as it is: nobody writes through it.
  [[nodiscard]] virtual Status mountReadOnly(const MountedTree& tree, const std::string& target) = 0;
  /// The mount that was made last at the target. None there: fine.
  [[nodiscard]] virtual Status unmount(const std::string& target) = 0;
  /// The folder, when it is empty. None there: fine.
  [[nodiscard]] virtual Status removeTarget(const std::string& target) = 0;

  /// Of what is mounted at the target.
  [[nodiscard]] virtual Result<rpc::VolumeStats> stats(const std::string& target) = 0;
};

}  // namespace gs::csi
