// LinuxMounts: mounts by mount(2), as root in the machine's mount namespace (or one that shares the
// target root with it).
//
// Below the target root no symbolic link is followed (csi/kubelet/target_folders.h).
//
// A tree is mounted by its open folder, so that no link that somebody puts in the store meanwhile is
// followed. Both kinds are overlays whose source says whose they are (overlaySource()). Writable: its upper
// layer is a tmpfs of its own with a limit, mounted at a scratch folder only until the overlay has it. Files
// that have to be otherwise where this pod mounts the tree (path_layer.h) lie in the same tmpfs, as a lower
// layer above the tree. So when the overlay goes, by unmount or reboot, what the pod wrote goes with it. The
// memory is the pod's own: the kernel counts it for who writes. Read-only: one without an upper layer, which
// the kernel makes of two lower ones; the second is empty.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "csi/kubelet/target_folders.h"
#include "csi/mounts.h"

namespace gs::csi {

class LinuxMounts final : public Mounts {
 public:
  struct Options {
    std::string target_root;           // "/var/lib/kubelet/pods"
    std::string store;                 // where trees are
    std::string scratch;               // ours alone; what a crash left there is taken away
    std::uint64_t writable_limit = 0;  // bytes that a pod may write into one volume
  };
  /// Error Invalid: a path that may not be; Unavailable: the scratch folder cannot be used.
  [[nodiscard]] static Result<std::unique_ptr<LinuxMounts>> open(Options options);

  Result<std::vector<TargetMount>> list() override;
  Result<bool> isThere(const std::string& path) override { return folders_.isThere(path); }
  Status makeTarget(const std::string& target) override { return folders_.make(target); }
  Status mountWritable(const MountedTree& tree, const std::string& target) override;
  Status mountReadOnly(const MountedTree& tree, const std::string& target) override;
  Status unmount(const std::string& target) override;
  Status removeTarget(const std::string& target) override { return folders_.remove(target); }
  Result<rpc::VolumeStats> stats(const std::string& target) override;

 private:
  explicit LinuxMounts(Options options) : options_{std::move(options)}, folders_{options_.target_root} {}
  [[nodiscard]] Status clearScratch() const;
  const Options options_;
  const TargetFolders folders_;
};

}  // namespace gs::csi
