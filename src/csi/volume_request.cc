#include "csi/volume_request.h"

#include <fmt/format.h>

#include <utility>

#include "base/mutant.h"
#include "kcache/kinds/claims.h"
#include "kcache/kinds/names.h"
#include "kcache/node/mount_paths.h"

namespace gs::csi {
namespace {

constexpr std::string_view kOurKeys = "csi.gkm.io/";
constexpr const char* kCacheKey = kcache::kCacheAttribute;
constexpr const char* kNamespaceKey = kcache::kNamespaceAttribute;
constexpr const char* kMountPathKey = kcache::kMountPathAttribute;

tl::unexpected<Error> wrong(std::string text) { return fail(Code::Invalid, std::move(text)); }

Status checkKeys(const Context& context) {
  for (const auto& [key, value] : context) {
    if (key.starts_with(kOurKeys) && key != kCacheKey && key != kNamespaceKey && key != kMountPathKey) {
      return wrong(fmt::format("volumeAttributes has '{}', which is not known; there are {}, {} and {}",
                               isPlainText(key) ? key.substr(0, 100) : "?", kCacheKey, kNamespaceKey,
                               kMountPathKey));
    }
  }
  const std::string path = valueOf(context, kMountPathKey);
  if (context.contains(kMountPathKey) && !kcache::isMountPath(path)) {
    return wrong(
        fmt::format("volumeAttributes {} is not an absolute path without '..', '.', '//' and '/' at its "
                    "end: write the mountPath of the container",
                    kMountPathKey));
  }
  return {};
}

Result<cacherim::CacheName> cacheOf(const Context& context) {
  const bool is_cluster = !context.contains(kNamespaceKey);
  const std::string name = valueOf(context, kCacheKey);
  if (name.empty()) {
    return wrong(is_cluster ? "must provide a ClusterGKMCache name" : "must provide a GKMCache name");
  }
  const std::string ns = valueOf(context, kNamespaceKey);
  if (!is_cluster && ns.empty()) {
    return wrong(
        fmt::format("volumeAttributes {} is empty; name the pod's namespace for a GKMCache, or leave it out "
                    "for a ClusterGKMCache",
                    kNamespaceKey));
  }
  auto out = is_cluster ? cacherim::CacheName::ofCluster(name) : cacherim::CacheName::inNamespace(ns, name);
  if (!out) {
    return wrong(fmt::format("volumeAttributes {} or {}: {}", kCacheKey, kNamespaceKey, out.error().message));
  }
  if (const std::string pods = valueOf(context, kPodNamespaceKey);
      !is_cluster && ns != pods && !GS_MUTANT(MountsOthersCaches)) {
    return wrong(fmt::format(
        "the pod is in namespace {}, and volumeAttributes {} says {}: a pod may mount GKMCaches of "
        "its own namespace and ClusterGKMCaches",
        pods, kNamespaceKey, ns));
  }
  return out;
}

/// Of a PersistentVolume: anybody who may make one writes handle and attributes, so the two have to agree,
/// and the pod has to be of the namespace that the handle names.
Status checkHandle(const rpc::PublishRequest& request, const cacherim::CacheName& cache) {
  const auto volume = kcache::parseVolumeHandle(request.volume_id);
  const bool is_ephemeral = valueOf(request.context, kEphemeralKey) == "true";
  if (is_ephemeral && !volume) { return {}; }
  if (is_ephemeral) {
    return wrong("volume_id is that of a PersistentVolume, and the volume is in a pod's spec");
  }
  if (!volume || volume->cache != model::ObjectKey{cache.ns(), cache.name()}) {
    return wrong(
        fmt::format("volumeHandle '{}' does not name the cache that volumeAttributes {} and {} name; "
                    "PersistentVolumes of caches are made by gkm-operator",
                    isPlainText(request.volume_id) ? request.volume_id : "?", kCacheKey, kNamespaceKey));
  }
  if (const std::string pods = valueOf(request.context, kPodNamespaceKey); volume->ns != pods) {
    return wrong(fmt::format("the pod is in namespace {}, and the volume '{}' is for pods of namespace {}",
                             pods, request.volume_id, volume->ns));
  }
  return {};
}

/// In the order in which the ancestor asked.
Status checkFields(const rpc::PublishRequest& request, const std::string& target_root) {
  constexpr const char* kCall = "NodePublishVolume";
  if (Status fine = checkId(request.volume_id, kCall); !fine) { return fine; }
  if (request.target_path.empty()) { return wrong(fmt::format("must provide a TargetPath to {}", kCall)); }
  if (!request.has_capability) { return wrong(fmt::format("must provide a VolumeCapability to {}", kCall)); }
  if (request.is_block) {
    return wrong("volume_capability asks for a block device; a kernel cache is a folder");
  }
  if (!request.mount_flags.empty()) { return wrong("volume_capability has mount_flags; none is taken"); }
  return checkTarget(request.target_path, target_root, "target_path");
}

std::string volumeNameOf(const rpc::PublishRequest& request, const std::string& target_root) {
  const auto of = readTarget(request.target_path, target_root);
  return of && valueOf(request.context, kEphemeralKey) == "true" ? of->volume : std::string{};
}

}  // namespace

cacherim::VolumeUse VolumeWish::use(const kcache::Digest& image) const {
  return {.volume_id = volume_id,
          .target = target,
          .cache = cache,
          .image = image,
          .pod_ns = pod_ns,
          .pod_name = pod_name,
          .pod_uid = pod_uid,
          .is_read_only = is_read_only};
}

std::string VolumeWish::cacheText() const {
  return is_cluster_cache ? "ClusterGKMCache " + cache.name()
                          : fmt::format("GKMCache {}/{}", pod_ns, cache.name());
}

Result<VolumeWish> readPublish(const rpc::PublishRequest& request, const std::string& target_root) {
  Status fine = checkFields(request, target_root);
  if (fine) { fine = checkPodInfo(request.context, kDriverName); }
  if (fine) { fine = checkKeys(request.context); }
  if (!fine) { return tl::unexpected(fine.error()); }
  auto cache = cacheOf(request.context);
  if (!cache) { return tl::unexpected(cache.error()); }
  if (Status agrees = checkHandle(request, *cache); !agrees) { return tl::unexpected(agrees.error()); }
  return VolumeWish{.volume_id = idOf(request.volume_id, request.target_path, target_root),
                    .target = request.target_path,
                    .cache = *std::move(cache),
                    .is_cluster_cache = !request.context.contains(kNamespaceKey),
                    .pod_ns = valueOf(request.context, kPodNamespaceKey),
                    .pod_name = valueOf(request.context, kPodNameKey),
                    .pod_uid = valueOf(request.context, kPodUidKey),
                    .is_read_only = request.read_only,
                    .mount_path = valueOf(request.context, kMountPathKey),
                    .volume = volumeNameOf(request, target_root)};
}

Status checkUnpublish(const rpc::UnpublishRequest& request, const std::string& target_root) {
  constexpr const char* kCall = "NodeUnpublishVolume";
  if (Status fine = checkId(request.volume_id, kCall); !fine) { return fine; }
  if (request.target_path.empty()) { return wrong(fmt::format("must provide a TargetPath to {}", kCall)); }
  return checkTarget(request.target_path, target_root, "target_path");
}

Status checkStats(const rpc::StatsRequest& request, const std::string& target_root) {
  constexpr const char* kCall = "NodeGetVolumeStats";
  if (Status fine = checkId(request.volume_id, kCall); !fine) { return fine; }
  if (request.volume_path.empty()) { return wrong(fmt::format("must provide a VolumePath to {}", kCall)); }
  if (!checkTarget(request.volume_path, target_root, "volume_path")) {
    return fail(Code::NotFound, "no volume is mounted at volume_path");
  }
  return {};
}

std::string idOf(const std::string& volume_id, const std::string& target, const std::string& target_root) {
  if (!kcache::parseVolumeHandle(volume_id)) { return volume_id; }
  const auto of = readTarget(target, target_root);
  return of ? of->volume_id : volume_id + ' ' + target;
}

}  // namespace gs::csi
