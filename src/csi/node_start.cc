// NodeService::start(): what a crash, an emptied /run or the ancestor left is put in order.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "cacherim/node/old_usage.h"
#include "csi/node_service.h"

namespace gs::csi {
namespace {

using cacherim::CacheName;
using cacherim::Usage;
using cacherim::VolumeUse;

bool isMountedAt(const std::vector<TargetMount>& mounts, const std::string& target) {
  return std::any_of(mounts.begin(), mounts.end(),
                     [&](const TargetMount& mount) { return mount.is_ours && mount.target == target; });
}

bool isUseOf(const VolumeUse& use, const TargetMount& mount) {
  return use.target == mount.target && use.image == *mount.image;
}

/// A bind of a tree does not say whose it is (this driver makes none any more): it is of no user's cache,
/// or its owner could not delete that one. What counts is that the image stays.
CacheName cacheOf(const TargetMount& mount) {
  return mount.cache ? *mount.cache : *CacheName::ofCluster("unknown");
}

/// A target that no kubelet made has no volume that we could know.
VolumeUse useOfMount(const TargetMount& mount, const std::string& target_root,
                     const cacherim::OldPods& pods) {
  const auto target = readTarget(mount.target, target_root);
  VolumeUse out{.volume_id = target ? target->volume_id : "mount:" + mount.target,
                .target = mount.target,
                .cache = cacheOf(mount),
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

/// No call is under way while this lives, and none begins: a mount that is made meanwhile could be
/// overlooked.
class NodeService::Alone {
 public:
  explicit Alone(NodeService& service) : service_{service} {
    const MutexLock lock{service_.mutex_};
    got_ = !service_.is_alone_ && service_.busy_.empty();
    if (got_) { service_.is_alone_ = true; }
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;
  ~Alone() {
    if (!got_) { return; }
    const MutexLock lock{service_.mutex_};
    service_.is_alone_ = false;
  }
  [[nodiscard]] bool got() const { return got_; }

 private:
  NodeService& service_;
  bool got_ = false;
};

Status NodeService::start() {
  const Alone alone{*this};
  if (!alone.got()) { return fail(Code::Unavailable, "another call is under way; try again"); }
  return putInOrder();
}

Status NodeService::keepComplete() {
  const auto is_complete = usage_.isComplete();
  if (is_complete && *is_complete) { return {}; }
  log::warn("the folder of uses was emptied, or is new: they are made again", {{"folder", options_.usage}});
  const Status done = is_complete ? start() : tl::unexpected(is_complete.error());
  if (done) { return {}; }
  return fail(Code::Unavailable,
              fmt::format("which volumes are mounted is not known: {}", done.error().message));
}

/// What cannot be read goes behind what is added: until then it keeps everything.
Status NodeService::putInOrder() {
  const auto lock = usage_.lock(Usage::Hold::Shared, options_.lock_limit);
  if (!lock) { return tl::unexpected(lock.error()); }
  const auto mounts = mounts_.list();
  if (!mounts) { return tl::unexpected(mounts.error()); }
  if (Status added = addMissing(*mounts); !added) { return added; }
  const auto dropped = usage_.dropUnreadable();
  if (!dropped) { return tl::unexpected(dropped.error()); }
  for (const std::string& name : *dropped) {
    log::warn("a use that cannot be read is gone", {{"file", name}});
  }
  const auto uses = usage_.all();
  if (!uses) { return tl::unexpected(uses.error()); }
  if (Status left = dropLeft(*uses, *mounts); !left) { return left; }
  return usage_.sayComplete();
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

Status NodeService::addMissing(const std::vector<TargetMount>& mounts) {
  const auto all = usage_.all();
  if (!all && all.error().code != Code::Invalid) { return tl::unexpected(all.error()); }
  const std::vector<VolumeUse> uses = all.value_or(std::vector<VolumeUse>{});
  const cacherim::OldPods pods = cacherim::readOldUsage(options_.usage);
  for (const TargetMount& mount : mounts) {
    if (!mount.is_ours) { continue; }
    if (!mount.image) {
      log::warn("a mount of all images of a cache, as GKM made it; no image is kept for it",
                {{"target", mount.target}});
      continue;
    }
    const VolumeUse use = useOfMount(mount, options_.target_root, pods);
    const auto own = usage_.find(use.volume_id);  // where one of the others cannot be read
    if ((own && isUseOf(*own, mount)) ||
        std::any_of(uses.begin(), uses.end(), [&](const VolumeUse& one) { return isUseOf(one, mount); })) {
      continue;
    }
    log::info("a mount without a use gets one", {{"target", mount.target}, {"image", mount.image->text()}});
    if (Status added = usage_.add(use); !added) { return added; }
  }
  return {};
}

}  // namespace gs::csi
