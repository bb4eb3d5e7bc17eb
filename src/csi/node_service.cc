#include "csi/node_service.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/log.h"
#include "base/mutant.h"
#include "cacherim/node/mount_paths.h"
#include "net/socket.h"

namespace gs::csi {
namespace {

using cacherim::Usage;
using cacherim::VolumeUse;

constexpr int kMostMountsOfATarget = 64;
constexpr Duration kLookEvery = std::chrono::milliseconds{100};

tl::unexpected<Error> foreignMount(const std::string& target) {
  return fail(Code::Conflict,
              fmt::format("at {} is a mount that this driver did not make; it is left alone. Look who "
                          "made it (findmnt {}), and unmount it",
                          target, target));
}

void staysAsItIs(const char* why, const VolumeWish& wish) {
  log::warn("paths in a cache are those of gkm-agent's --mount-path",
            {{"why", why},
             {"cache", wish.cacheText()},
             {"pod", wish.pod_ns + '/' + wish.pod_name},
             {"volume", wish.volume}});
}

/// As the agent tells; "": the pod has it nowhere as a whole, or it is not told where.
std::string placeIn(const kcache::PodPaths& pod, const VolumeWish& wish) {
  const auto& by = wish.volume.empty() ? pod.claims : pod.volumes;
  const auto path = by.find(wish.volume.empty() ? wish.cache.name() : wish.volume);
  if (path == by.end()) {
    if (pod.has_more) { staysAsItIs("the pod has more than is told (gkm-agent's log says why)", wish); }
    return {};
  }
  if (kcache::isMountPath(path->second)) { return path->second; }
  staysAsItIs("the mountPath that is told of the pod is none", wish);
  return {};
}

}  // namespace

/// This volume, and this target, while it lives.
class NodeService::Busy {
 public:
  Busy(NodeService& service, const std::string& volume_id, const std::string& target)
      : service_{service}, names_{"v" + volume_id, "t" + target} {
    const MutexLock lock{service_.mutex_};
    got_ = !service_.is_alone_ && !service_.busy_.contains(names_[0]) && !service_.busy_.contains(names_[1]);
    if (got_) { service_.busy_.insert(names_.begin(), names_.end()); }
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  ~Busy() {
    const MutexLock lock{service_.mutex_};
    for (const std::string& name : names_) {
      if (got_) { service_.busy_.erase(name); }
    }
  }
  [[nodiscard]] Status status() const {
    if (got_) { return {}; }
    return fail(Code::Unavailable,
                "another call for this volume is under way, or lost uses are made again; try again");
  }

 private:
  NodeService& service_;
  const std::vector<std::string> names_;
  bool got_ = false;
};

Result<std::vector<TargetMount>> NodeService::mountsAt(const std::string& target) {
  auto all = mounts_.list();
  if (!all) { return all; }
  std::erase_if(*all, [&](const TargetMount& mount) { return mount.target != target; });
  return all;
}

Result<bool> NodeService::isOursAt(const std::string& target) {
  const auto mounts = mountsAt(target);
  if (!mounts) { return tl::unexpected(mounts.error()); }
  return !mounts->empty() && mounts->back().is_ours;
}

/// One that cannot be read is none: it is written anew.
Result<NodeService::Use> NodeService::useOf(const std::string& volume_id) const {
  auto use = usage_.find(volume_id);
  if (use) { return Use{*std::move(use)}; }
  if (use.error().code == Code::Unavailable) { return tl::unexpected(use.error()); }
  return Use{};
}

// ---- Publish

Status NodeService::publish(const rpc::PublishRequest& request) {
  const auto wish = readPublish(request, options_.target_root);
  if (!wish) { return tl::unexpected(wish.error()); }
  if (Status known = keepComplete(); !known) { return known; }
  const Busy busy{*this, wish->volume_id, wish->target};
  if (!busy.status()) { return busy.status(); }
  const auto mounts = mountsAt(wish->target);
  if (!mounts) { return tl::unexpected(mounts.error()); }
  const auto use = useOf(wish->volume_id);
  if (!use) { return tl::unexpected(use.error()); }
  const bool all_ours =
      std::all_of(mounts->begin(), mounts->end(), [](const TargetMount& mount) { return mount.is_ours; });
  if (!all_ours) { return foreignMount(wish->target); }
  if (!mounts->empty()) { return alreadyMounted(*wish, mounts->back(), *use); }
  if (*use && (*use)->target != wish->target) {
    const auto elsewhere = isOursAt((*use)->target);
    if (!elsewhere) { return tl::unexpected(elsewhere.error()); }
    if (*elsewhere) {
      return fail(Code::Conflict, fmt::format("the volume is mounted at {} already", (*use)->target));
    }
  }
  std::optional<kcache::Digest> image;
  const auto tree = chooseTree(*wish, image);
  if (!tree) { return tl::unexpected(tree.error()); }
  const auto paths = pathsFor(*wish, *tree, *image);
  Status done =
      paths ? mountTree(*wish, {*tree, wish->cache, *image, *paths}) : Status{tl::unexpected(paths.error())};
  if (!done) { undo(*wish); }
  return done;
}

Result<PathLayer> NodeService::pathsFor(const VolumeWish& wish, const net::Fd& tree,
                                        const kcache::Digest& image) {
  const auto paths = cacherim::pathsOfTree(options_.store, image);
  if (!paths) {
    log::warn("its paths stay as they are", {{"cache", wish.cacheText()}, {"why", paths.error().message}});
    return PathLayer{};
  }
  if (paths->empty() || GS_MUTANT(OnePathForAll)) { return PathLayer{}; }
  const auto at = wish.mount_path.empty() ? mountPathOf(wish) : wish.mount_path;
  if (!at) { return tl::unexpected(at.error()); }
  if (at->empty()) { return PathLayer{}; }
  PathLayer out = pathLayerOf(tree, *paths, *at);
  if (out.left_out > 0) {
    log::warn("files keep paths of another place: too many, or they cannot be read",
              {{"cache", wish.cacheText()}, {"files", std::to_string(out.left_out)}, {"place", *at}});
  }
  if (out.damaged > 0) {
    log::warn(
        "files that are damaged on this node's disk keep paths of another place, also when gkm-agent has "
        "mended them: start the pod anew then",
        {{"cache", wish.cacheText()}, {"files", std::to_string(out.damaged)}, {"place", *at}});
  }
  return out;
}

Result<std::string> NodeService::mountPathOf(const VolumeWish& wish) {
  for (Duration waited{};; waited += kLookEvery) {
    const auto told = told_.read();
    if (told) {
      const auto& pods = (*told)->pods;
      auto pod = pods.find(wish.pod_uid);
      if (pod == pods.end()) {
        pod = pods.find(kcache::staticPodOf(wish.pod_ns, wish.pod_name, wish.pod_uid));
      }
      if (pod != pods.end()) { return placeIn(pod->second, wish); }
    }
    // Without a file that is kept no agent tells: one of an older version runs, or none. Unless this process
    // is new: then the node may be, and its agent on the way.
    const bool is_told = (told && isKept(**told)) || isNew();
    const bool may_come = is_told && pause_ != nullptr && waited < options_.told_within;
    if (!may_come) {
      staysAsItIs("nobody has told where the pod has it", wish);
      return std::string{};
    }
    if (!pause_->wait(kLookEvery)) {
      return fail(Code::Unavailable, wish.cacheText() +
                                         ": the driver ends while it waits to be told where the "
                                         "pod has it; the one that comes next is asked again");
    }
  }
}

void NodeService::stopping() {
  if (pause_ != nullptr) { pause_->cancel(); }
}

bool NodeService::isNew() const {
  return options_.clock != nullptr && options_.clock->now().mono - began_ <= cacherim::kToldFor;
}

bool NodeService::isKept(const cacherim::ToldPaths& told) const {
  return options_.clock == nullptr || told.isKept(options_.clock->now().mono);
}

Status NodeService::alreadyMounted(const VolumeWish& wish, const TargetMount& top, const Use& use) {
  // One that start() made of a mount alone is of no named pod, and its cache may be a guess.
  const bool is_recorded = use && use->target == wish.target && !use->pod_name.empty();
  const std::optional<cacherim::CacheName> cache = top.cache     ? top.cache
                                                   : is_recorded ? std::optional{use->cache}
                                                                 : std::nullopt;
  if ((cache && *cache != wish.cache) || top.is_read_only != wish.is_read_only) {
    return fail(Code::Conflict,
                fmt::format("at {} another volume is mounted: {}{}", wish.target,
                            cache ? cache->folder() + '/' + cache->name() : std::string{"a cache"},
                            top.is_read_only ? ", read-only" : ""));
  }
  if (is_recorded) { return {}; }
  if (!top.image) {
    return fail(
        Code::Conflict,
        fmt::format("at {} is a mount of all images of a cache, as GKM made it; end the pod", wish.target));
  }
  log::warn("a use was lost and is made again", {{"volume", wish.volume_id}, {"target", wish.target}});
  const auto lock = usage_.lock(Usage::Hold::Shared, options_.lock_limit);
  if (!lock) { return tl::unexpected(lock.error()); }
  return usage_.add(wish.use(*top.image));
}

Status NodeService::checkGpus(const VolumeWish& wish, const cacherim::Present& present) const {
  if (!present.compatible_gpus.empty() || present.incompatible_gpus.empty()) { return {}; }
  const std::string text = fmt::format("{}: no GPU of this node can use it (incompatible: {})",
                                       wish.cacheText(), fmt::join(present.incompatible_gpus, ", "));
  if (options_.incompatible == Incompatible::Refuse) {
    return fail(Code::Conflict,
                text + "; make an image for these GPUs, or choose another node (--incompatible=refuse)");
  }
  log::warn("mounted though no GPU can use it",
            {{"cache", wish.cacheText()}, {"pod", wish.pod_ns + '/' + wish.pod_name}, {"why", text}});
  return {};
}

/// From reading which image it is until its use is written the agent takes nothing away.
Result<net::Fd> NodeService::chooseTree(const VolumeWish& wish, std::optional<kcache::Digest>& image) {
  const auto lock = usage_.lock(Usage::Hold::Shared, options_.lock_limit);
  if (!lock) { return tl::unexpected(lock.error()); }
  const auto present = cacherim::readPresent(options_.store, wish.cache);
  auto tree =
      present ? cacherim::completeTree(options_.store, present->image) : tl::unexpected(present.error());
  if (!tree && tree.error().code == Code::NotFound) {
    log::debug("not extracted", {{"cache", wish.cacheText()}, {"why", tree.error().message}});
    return fail(Code::NotFound, wish.is_cluster_cache ? "ClusterGKMCache has not been extracted"
                                                      : "GKMCache has not been extracted");
  }
  if (!tree) {
    const bool is_conflict = tree.error().code == Code::Conflict;
    return fail(is_conflict ? Code::Conflict : Code::Unavailable, tree.error().message);
  }
  if (Status fits = checkGpus(wish, *present); !fits) { return tl::unexpected(fits.error()); }
  if (!GS_MUTANT(MountsUnsaid)) {
    if (Status added = usage_.add(wish.use(present->image)); !added) { return tl::unexpected(added.error()); }
  }
  image = present->image;
  return tree;
}

Status NodeService::mountTree(const VolumeWish& wish, const MountedTree& tree) {
  Status done = mounts_.makeTarget(wish.target);
  if (!done) { return done; }
  return wish.is_read_only ? mounts_.mountReadOnly(tree, wish.target)
                           : mounts_.mountWritable(tree, wish.target);
}

/// Nothing is mounted. What cannot be undone now the next call for the volume finds.
void NodeService::undo(const VolumeWish& wish) {
  const Status folder = mounts_.removeTarget(wish.target);
  const Status use = usage_.remove(wish.volume_id);
  for (const Status* one : {&folder, &use}) {
    if (!*one) {
      log::warn("could not be undone", {{"volume", wish.volume_id}, {"why", one->error().message}});
    }
  }
}

// ---- Unpublish

Status NodeService::unpublish(const rpc::UnpublishRequest& asked) {
  if (Status fine = checkUnpublish(asked, options_.target_root); !fine) { return fine; }
  const rpc::UnpublishRequest request{idOf(asked.volume_id, asked.target_path, options_.target_root),
                                      asked.target_path};
  if (const Status known = keepComplete(); !known) {  // pods end all the same
    log::warn("unmounted all the same", {{"volume", request.volume_id}, {"why", known.error().message}});
  }
  const Busy busy{*this, request.volume_id, request.target_path};
  if (!busy.status()) { return busy.status(); }
  Status done = unmountAll(request.target_path);
  if (done) { done = mounts_.removeTarget(request.target_path); }
  if (done) { done = forget(request); }
  return done;
}

Status NodeService::unmountAll(const std::string& target) {
  for (int i = 0; i < kMostMountsOfATarget; ++i) {
    const auto mounts = mountsAt(target);
    if (!mounts) { return tl::unexpected(mounts.error()); }
    if (mounts->empty()) { return {}; }
    if (!mounts->back().is_ours) { return foreignMount(target); }
    if (Status out = mounts_.unmount(target); !out) { return out; }
  }
  return fail(Code::Unavailable,
              fmt::format("{} has more than {} mounts, try again", target, kMostMountsOfATarget));
}

/// The uses of this target, by whatever name, and the volume's, unless it is mounted elsewhere.
Status NodeService::forget(const rpc::UnpublishRequest& request) {
  const auto use = useOf(request.volume_id);
  if (!use) { return tl::unexpected(use.error()); }
  bool is_elsewhere = false;
  if (*use && (*use)->target != request.target_path) {
    const auto ours = isOursAt((*use)->target);
    if (!ours) { return tl::unexpected(ours.error()); }
    is_elsewhere = *ours;
  }
  const auto all = usage_.all();
  if (!all && all.error().code == Code::Unavailable) { return tl::unexpected(all.error()); }
  for (const VolumeUse& one : all.value_or(std::vector<VolumeUse>{})) {
    if (one.target != request.target_path || one.volume_id == request.volume_id) { continue; }
    if (Status gone = usage_.remove(one.volume_id); !gone) { return gone; }
  }
  return is_elsewhere ? Status{} : usage_.remove(request.volume_id);
}

// ---- The rest

Result<rpc::VolumeStats> NodeService::stats(const rpc::StatsRequest& request) {
  if (Status fine = checkStats(request, options_.target_root); !fine) { return tl::unexpected(fine.error()); }
  const auto use = useOf(idOf(request.volume_id, request.volume_path, options_.target_root));
  if (!use) { return tl::unexpected(use.error()); }
  const bool is_its = *use && (*use)->target == request.volume_path;
  const auto ours = is_its ? isOursAt(request.volume_path) : false;
  if (!ours) { return tl::unexpected(ours.error()); }
  if (!*ours) {
    return fail(Code::NotFound,
                fmt::format("no volume {} is mounted at {}", request.volume_id, request.volume_path));
  }
  return mounts_.stats(request.volume_path);
}

Status NodeService::ready() {
  std::error_code error;
  if (!std::filesystem::is_directory(options_.store + "/caches", error)) {
    return fail(Code::Unavailable, fmt::format("{}/caches is not there; gkm-agent makes it", options_.store));
  }
  if (Status known = keepComplete(); !known) { return known; }
  if (const auto uses = usage_.all(); !uses) { return tl::unexpected(uses.error()); }
  if (const auto mounts = mounts_.list(); !mounts) { return tl::unexpected(mounts.error()); }
  return {};
}

/// In a folder that is removed while it is open, or mounted, nothing can be made: it has no name any more.
Status NodeService::alive() const {
  for (std::filesystem::path path = options_.usage; path.has_relative_path(); path = path.parent_path()) {
    const net::Fd folder{::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    struct stat is {};
    if (!folder.valid() || ::fstat(folder.get(), &is) != 0) { continue; }
    if (is.st_nlink > 0) { return {}; }
    return fail(Code::Unavailable,
                fmt::format("{} was taken away under this process, which has to be started anew to get the "
                            "new one",
                            path.string()));
  }
  return {};
}

}  // namespace gs::csi
