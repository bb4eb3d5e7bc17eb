// NodeService::start(): what a crash, an emptied /run or the ancestor left is put in order.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "cacherim/node/old_usage.h"
#include "cacherim/store/store.h"
#include "csi/node_service.h"

namespace gs::csi {
namespace {

using cacherim::CacheName;
using cacherim::Usage;
using cacherim::VolumeUse;
using Placed = std::vector<std::pair<CacheName, kcache::Digest>>;

bool isMountedAt(const std::vector<TargetMount>& mounts, const std::string& target) {
  return std::any_of(mounts.begin(), mounts.end(),
                     [&](const TargetMount& mount) { return mount.is_ours && mount.target == target; });
}

/// A read-only mount does not say whose cache it is: one that has the image will do. What counts is that the
/// image stays.
CacheName cacheOf(const TargetMount& mount, const Placed& placed) {
  if (mount.cache) { return *mount.cache; }
  const auto it =
      std::find_if(placed.begin(), placed.end(), [&](const auto& one) { return one.second == *mount.image; });
  return it == placed.end() ? *CacheName::ofCluster("unknown") : it->first;
}

/// A target that no kubelet made has no volume that we could know.
VolumeUse useOfMount(const TargetMount& mount, const std::string& target_root, const Placed& placed,
                     const cacherim::OldPods& pods) {
  const auto target = readTarget(mount.target, target_root);
  VolumeUse out{.volume_id = target ? target->volume_id : "mount:" + mount.target,
                .target = mount.target,
                .cache = cacheOf(mount, placed),
                .image = *mount.image,
                .pod_ns = {},
                .pod_name = {},
                .pod_uid = target ? target->pod_uid : "",
                .is_read_only = mount.is_read_only};
  if (const auto pod = pods.find(out.volume_id); pod != pods.end()) {
    out.pod_ns = pod->second.ns;
    out.pod_name = pod->second.name;
  }
  return out;
}

}  // namespace

Status NodeService::start() {
  const auto lock = usage_.lock(Usage::Hold::Shared, options_.lock_limit);
  if (!lock) { return tl::unexpected(lock.error()); }
  const auto mounts = mounts_.list();
  if (!mounts) { return tl::unexpected(mounts.error()); }
  const auto dropped = usage_.dropUnreadable();
  if (!dropped) { return tl::unexpected(dropped.error()); }
  for (const std::string& name : *dropped) {
    log::warn("a use that cannot be read is gone", {{"file", name}});
  }
  const auto uses = usage_.all();
  if (!uses) { return tl::unexpected(uses.error()); }
  Status done = dropLeft(*uses, *mounts);
  if (done) { done = addMissing(*uses, *mounts); }
  return done;
}

/// While the pod's folder is there the kubelet comes again for the volume.
Status NodeService::dropLeft(const std::vector<VolumeUse>& uses, const std::vector<TargetMount>& mounts) {
  for (const VolumeUse& use : uses) {
    if (isMountedAt(mounts, use.target)) { continue; }
    if (use.target.starts_with(options_.target_root + '/')) {
      const auto there = mounts_.isThere(podFolderOf(use.target, options_.target_root));
      if (!there) { return tl::unexpected(there.error()); }
      if (*there) { continue; }
    }
    log::info("a use of a pod that is gone", {{"volume", use.volume_id}, {"target", use.target}});
    if (Status gone = usage_.remove(use.volume_id); !gone) { return gone; }
  }
  return {};
}

Status NodeService::addMissing(const std::vector<VolumeUse>& uses, const std::vector<TargetMount>& mounts) {
  const auto has_use = [&](const TargetMount& mount) {
    return std::any_of(uses.begin(), uses.end(), [&](const VolumeUse& use) {
      return use.target == mount.target && use.image == *mount.image;
    });
  };
  const Placed placed = cacherim::placedBelow(options_.store).value_or(Placed{});
  const cacherim::OldPods pods = cacherim::readOldUsage(options_.usage);
  for (const TargetMount& mount : mounts) {
    if (!mount.is_ours) { continue; }
    if (!mount.image) {
      log::warn("a mount of all images of a cache, as GKM made it; no image is kept for it",
                {{"target", mount.target}});
      continue;
    }
    if (has_use(mount)) { continue; }
    log::info("a mount without a use gets one", {{"target", mount.target}, {"image", mount.image->text()}});
    if (Status added = usage_.add(useOfMount(mount, options_.target_root, placed, pods)); !added) {
      return added;
    }
  }
  return {};
}

}  // namespace gs::csi
