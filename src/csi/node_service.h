// NodeService: mounts kernel caches into pods and takes them out again, as the kubelet asks.
//
// For each volume there is a use (cacherim/node/usage.h), written before the mount and taken away after the
// unmount, so that the agent keeps what is mounted. From that follow the answers:
//   mounted, and the use is of this volume        fine
//   mounted by us without a use (lost with /run)  the use is made again; nothing is unmounted
//   a use without a mount (a crash in between)     begun anew
//   a mount of somebody else                       Conflict; nothing is touched
// One call at a time for a volume and for a target; a second one is Unavailable, and never waits. Different
// volumes go side by side. A call that fails has undone what it did, and what a crash leaves the next call
// for that volume, or start(), puts in order.
// When the uses are all that is mounted, that is said (Usage::sayComplete()); the agent takes nothing away
// before. Somebody may empty /run at any moment: then calls put it in order first (keepComplete()).
// Any thread. What it is given must outlive it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "cacherim/node/mount_paths.h"
#include "cacherim/node/present.h"
#include "cacherim/node/usage.h"
#include "cacherim/registry/pause.h"
#include "csi/mounts.h"
#include "csi/volume_request.h"

namespace gs::csi {

/// What becomes of a pod when no GPU of the node can use the cache.
enum class Incompatible : std::uint8_t { Warn, Refuse };

class NodeService final : public rpc::CsiDriver {
 public:
  struct Options {
    std::string store;  // "/var/lib/gkm"
    std::string usage;  // the folder of `usage`
    std::string target_root;
    Incompatible incompatible = Incompatible::Warn;
    Duration lock_limit = std::chrono::seconds{10};
    /// How long the agent is waited for that tells where a pod has its volume; then it is mounted as it is.
    Duration told_within = std::chrono::seconds{10};
    /// By which is seen whether it tells still (cacherim/node/mount_paths.h), and whether it may come yet: of
    /// the machine, as the agent's is. nullptr: it always does, and never may.
    const Clock* clock = nullptr;
  };
  /// `pause` may be nullptr: then nobody is waited for.
  NodeService(Options options, cacherim::Usage usage, Mounts& mounts, cacherim::Pause* pause = nullptr)
      : options_{std::move(options)},
        usage_{std::move(usage)},
        mounts_{mounts},
        pause_{pause},
        told_{options_.usage},
        began_{options_.clock == nullptr ? Mono{} : options_.clock->now().mono} {}

  /// Before anything is served: uses of pods that are gone go, mounts of ours without a use get one, and it
  /// is said that the uses are complete. Error Unavailable too: a call is under way.
  [[nodiscard]] Status start();
  /// start(), if the uses are not complete any more. Never waits for other calls. Error Unavailable: they are
  /// not, and cannot be made so now.
  [[nodiscard]] Status keepComplete();

  /// Errors: Invalid, the request is wrong; NotFound, the cache is not extracted (yet); Conflict, something
  /// is in the way, or no GPU can use the cache; Unavailable and Deadline, later it may go.
  Status publish(const rpc::PublishRequest& request) override;
  /// Fine too when there is nothing. Errors as above.
  Status unpublish(const rpc::UnpublishRequest& asked) override;
  /// Error NotFound: no such volume is mounted there.
  Result<rpc::VolumeStats> stats(const rpc::StatsRequest& request) override;
  /// The store, the uses and the mounts can be read, and the uses are complete.
  Status ready() override;
  void registered(bool /*is_registered*/, const std::string& /*error*/) override {}
  /// Error Unavailable: the folder of uses was taken away as a whole, and under a mount of it nothing can be
  /// made any more. Only a container that is started anew gets the new one.
  [[nodiscard]] Status alive() const;
  [[nodiscard]] Result<std::vector<cacherim::VolumeUse>> uses() const { return usage_.all(); }
  /// This process is to end: calls that wait for the agent are Unavailable, from now on.
  void stopping() override;

 private:
  using Use = std::optional<cacherim::VolumeUse>;
  class Busy;
  class Alone;

  [[nodiscard]] Result<std::vector<TargetMount>> mountsAt(const std::string& target);
  [[nodiscard]] Result<bool> isOursAt(const std::string& target);
  [[nodiscard]] Result<Use> useOf(const std::string& volume_id) const;
  // publish
  [[nodiscard]] bool isNew() const;
  [[nodiscard]] bool isKept(const cacherim::ToldPaths& told) const;
  [[nodiscard]] Status alreadyMounted(const VolumeWish& wish, const TargetMount& top, const Use& use);
  [[nodiscard]] Result<net::Fd> chooseTree(const VolumeWish& wish, std::optional<kcache::Digest>& image);
  [[nodiscard]] Status checkGpus(const VolumeWish& wish, const cacherim::Present& present) const;
  [[nodiscard]] Status mountTree(const VolumeWish& wish, const MountedTree& tree);
  /// What of the tree has to be otherwise where the pod has it.
  [[nodiscard]] Result<PathLayer> pathsFor(const VolumeWish& wish, const net::Fd& tree,
                                           const kcache::Digest& image);
  /// Where the pod's containers have it, as told; "": nowhere as a whole, or nobody has told. Error
  /// Unavailable: this process is to end.
  [[nodiscard]] Result<std::string> mountPathOf(const VolumeWish& wish);
  void undo(const VolumeWish& wish);
  // unpublish
  [[nodiscard]] Status unmountAll(const std::string& target);
  [[nodiscard]] Status forget(const rpc::UnpublishRequest& request);
  // node_start.cc
  [[nodiscard]] Status putInOrder();
  [[nodiscard]] Status dropLeft(const std::vector<cacherim::VolumeUse>& uses,
                                const std::vector<TargetMount>& mounts);
  [[nodiscard]] Status addMissing(const std::vector<TargetMount>& mounts);

  const Options options_;
  const cacherim::Usage usage_;
  Mounts& mounts_;
  cacherim::Pause* const pause_;
  cacherim::MountPathsFile told_;
  const Mono began_;
  Mutex mutex_;
  std::set<std::string> busy_ GS_GUARDED_BY(mutex_);  // volumes, and targets
  bool is_alone_ GS_GUARDED_BY(mutex_) = false;       // start() is under way: no call begins
};

}  // namespace gs::csi
