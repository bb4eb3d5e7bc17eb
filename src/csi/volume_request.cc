#include "csi/volume_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clean_path.h"
#include "base/hash.h"
#include "base/mutant.h"
#include "base/utf8.h"
#include "kcache/kinds/claims.h"
#include "kcache/kinds/names.h"
#include "kcache/node/mount_paths.h"

namespace gs::csi {
namespace {

constexpr std::size_t kMostOfAnId = 512;  // two names and what is between them
constexpr std::size_t kMostOfATarget = 1024;
constexpr std::string_view kOurKeys = "csi.gkm.io/";
constexpr const char* kCacheKey = kcache::kCacheAttribute;
constexpr const char* kNamespaceKey = kcache::kNamespaceAttribute;
constexpr const char* kMountPathKey = kcache::kMountPathAttribute;
constexpr const char* kEphemeralKey = "csi.storage.k8s.io/ephemeral";
constexpr const char* kPodNameKey = "csi.storage.k8s.io/pod.name";
constexpr const char* kPodNamespaceKey = "csi.storage.k8s.io/pod.namespace";
constexpr const char* kPodUidKey = "csi.storage.k8s.io/pod.uid";

tl::unexpected<Error> wrong(std::string text) { return fail(Code::Invalid, std::move(text)); }

bool isPlainText(std::string_view text) {
  return isUtf8(text) && std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

Status checkId(const std::string& id, const char* call) {
  if (id.empty()) { return wrong(fmt::format("must provide a VolumeId to {}", call)); }
  if (id.size() > kMostOfAnId || !isPlainText(id)) {
    return wrong(fmt::format("volume_id is not a text of at most {} bytes", kMostOfAnId));
  }
  return {};
}

Status checkTarget(const std::string& target, const std::string& target_root, const char* field) {
  if (target.size() > kMostOfATarget || !isPlainText(target) || !isCleanPath(target)) {
    return wrong(fmt::format("{} '{}' is not an absolute path without '..', '.' and '//'", field,
                             isPlainText(target) ? target.substr(0, 200) : "?"));
  }
  if (!target.starts_with(target_root + '/')) {
    return wrong(fmt::format("{} '{}' is not below {} (--target-root)", field, target, target_root));
  }
  return {};
}

using Context = std::map<std::string, std::string>;

std::string valueOf(const Context& context, const char* key) {
  const auto it = context.find(key);
  return it == context.end() ? std::string{} : it->second;
}

Status checkPod(const Context& context) {
  if (const std::string kind = valueOf(context, kEphemeralKey); kind != "true" && kind != "false") {
    return wrong(
        fmt::format("volume_context {} is neither \"true\" nor \"false\": the CSIDriver {} needs "
                    "podInfoOnMount: true",
                    kEphemeralKey, kDriverName));
  }
  for (const char* key : {kPodNameKey, kPodNamespaceKey, kPodUidKey}) {
    const std::string value = valueOf(context, key);
    if (value.empty() || value.size() > kMostOfAnId || !isPlainText(value)) {
      return wrong(fmt::format(
          "volume_context {} is not there or no name: the CSIDriver {} needs podInfoOnMount: true", key,
          kDriverName));
    }
  }
  return {};
}

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
  if (fine) { fine = checkPod(request.context); }
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

std::optional<TargetOf> readTarget(std::string_view target, const std::string& target_root) {
  constexpr std::string_view kMiddle = "/volumes/kubernetes.io~csi/";
  constexpr std::string_view kEnd = "/mount";
  if (!target.starts_with(target_root + '/') || !target.ends_with(kEnd)) { return std::nullopt; }
  target.remove_prefix(target_root.size() + 1);
  const std::size_t middle = target.find(kMiddle);
  if (middle == std::string_view::npos || middle + kMiddle.size() + kEnd.size() > target.size()) {
    return std::nullopt;
  }
  const std::string uid{target.substr(0, middle)};
  std::string_view volume = target.substr(middle + kMiddle.size());
  volume.remove_suffix(kEnd.size());
  const bool is_one_part = uid.find('/') == std::string::npos && volume.find('/') == std::string_view::npos;
  if (uid.empty() || volume.empty() || !is_one_part) { return std::nullopt; }
  return TargetOf{uid, "csi-" + sha256Hex(uid + std::string{volume}), std::string{volume}};
}

std::string podFolderOf(const std::string& target, const std::string& target_root) {
  return target.substr(0, target.find('/', target_root.size() + 1));
}

}  // namespace gs::csi
