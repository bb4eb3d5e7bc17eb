#include "operator/node/pod_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/clean_path.h"
#include "controller/parts.h"
#include "kapi/decode.h"
#include "kapi/fields.h"
#include "kcache/kinds/names.h"

namespace gs::gkm {
namespace {

constexpr std::size_t kMostVolumes = 64;  // of one pod, that may be caches

struct PodObject {
  model::ObjectKey key;
  model::Uid uid;
  model::Revision revision = 0;
  bool has_caches = false;  // or may have; one that has ended mounts none
  bool has_others = false;  // mounts of volumes of our driver whose place is not that of their volume
  kcache::PodPaths paths;
  friend bool operator==(const PodObject&, const PodObject&) = default;
};

/// Volumes that may be caches, by name: with the claim that one is, or "".
using Volumes = std::map<std::string, std::string, std::less<>>;
Volumes volumesOf(const json::View& spec, bool& has_more) {
  Volumes out;
  for (const json::View volume : spec["volumes"].items()) {
    const std::string claim = kapi::text(volume["persistentVolumeClaim"]["claimName"]);
    if (claim.empty() && kapi::text(volume["csi"]["driver"]) != kcache::kDriver) { continue; }
    has_more = has_more || out.size() == kMostVolumes;
    if (has_more) { break; }
    out.emplace(kapi::text(volume["name"]), claim);
  }
  return out;
}

/// By which the pod's kubelet calls it. A static pod is in the API server as a mirror, which has a uid of its
/// own; the pod's, a hash, is in an annotation that the kubelet writes.
std::string uidOnItsNode(const json::View& v) {
  const std::string hash = kapi::text(v["metadata"]["annotations"]["kubernetes.io/config.mirror"]);
  const bool is_hash = hash.size() == 32 && hash.find_first_not_of("0123456789abcdef") == std::string::npos;
  const auto key = kapi::objectKey(v);
  return is_hash ? kcache::staticPodOf(key.ns, key.name, hash) : kapi::uidField(v).text;
}

bool hasEnded(const json::View& v) {
  const std::string phase = kapi::text(v["status"]["phase"]);
  return phase == "Succeeded" || phase == "Failed";
}

/// A subPath may be written ".", too.
bool isWhole(const json::View& mount) {
  return cleanedPath(kapi::text(mount["subPath"])) == "/" && kapi::text(mount["subPathExpr"]).empty();
}

/// Where the volume as a whole would be: a part of it that is mounted under its own name says it too. "": it
/// does not.
std::string rootOf(const json::View& mount) {
  std::string path = cleanedPath(kapi::text(mount["mountPath"]));
  if (isWhole(mount)) { return path; }
  const std::string part = cleanedPath(kapi::text(mount["subPath"]));
  if (!path.ends_with(part)) { return {}; }
  path.resize(path.size() - part.size());
  return path;
}

void addMount(const json::View& mount, const Volumes& volumes, PodObject& out) {
  const auto volume = volumes.find(kapi::text(mount["name"]));
  if (volume == volumes.end()) { return; }
  const auto& [name, claim] = *volume;
  const bool is_cache = claim.empty();  // most claims are of something else
  const std::string root = rootOf(mount);
  if (root.empty() || !kapi::text(mount["subPathExpr"]).empty()) {
    out.has_others = out.has_others || is_cache;
    return;
  }
  if (!kcache::isMountPath(root)) {
    out.paths.has_more = true;
    return;
  }
  const auto& place =
      (is_cache ? out.paths.volumes.emplace(name, root) : out.paths.claims.emplace(claim, root));
  out.has_others = out.has_others || (is_cache && place.first->second != root);
}

/// Those of volumes as a whole first: they say where the volume is, and parts only where nobody does.
void addMounts(const json::View& spec, bool whole, const Volumes& volumes, PodObject& out) {
  for (const char* list : {"containers", "initContainers"}) {
    for (const json::View container : spec[list].items()) {
      for (const json::View mount : container["volumeMounts"].items()) {
        if (isWhole(mount) == whole) { addMount(mount, volumes, out); }
      }
    }
  }
}

PodObject decodePodPaths(const json::View& v) {
  PodObject out;
  out.key = kapi::objectKey(v);
  out.uid = model::Uid{uidOnItsNode(v)};
  out.revision = kapi::objectRevision(v);
  const json::View spec = v["spec"];
  const Volumes volumes = volumesOf(spec, out.paths.has_more);
  out.has_caches = !volumes.empty() && !hasEnded(v);
  if (!out.has_caches) { return out; }
  for (const bool whole : {true, false}) { addMounts(spec, whole, volumes, out); }
  return out;
}

kapi::Log hasMore(const model::ObjectKey& pod) {
  return {kapi::Level::Warn,
          fmt::format("not all mount paths of this pod are told: it has more than {} volumes that may be "
                      "caches, or one at '/', at a mountPath of more than {} bytes, or with characters that "
                      "are not shown. The caches in those have the paths of --mount-path",
                      kMostVolumes, kcache::kMostOfAMountPath),
          {{"pod", pod.text()}}};
}

kapi::Log hasOthers(const model::ObjectKey& pod) {
  return {kapi::Level::Warn,
          "this pod mounts a cache at several places, or a part of one under another name: files that name "
          "others by absolute paths are right for the first place only. Give each place a volume of its own",
          {{"pod", pod.text()}}};
}

constexpr kapi::KindInfo kPodPathsInfo{"", "v1", "pods", "Pod", true, kapi::decodedBy<decodePodPaths>};
constinit const kapi::Kind kPodPaths{kPodPathsInfo};

controller::Reflector::Config podsOf(const model::NodeName& node) {
  controller::Reflector::Config out;
  out.kind = kPodPaths;
  out.optional = true;
  out.selectors.fields = fmt::format("spec.nodeName={}", node.text);
  return out;
}

}  // namespace

PodWatch::PodWatch(controller::Parts& parts, const model::NodeName& node, Told told, Rng rng)
    : told_{std::move(told)},
      watches_{parts, {podsOf(node)}, rng, [this](const auto&, const auto& output, Now, kapi::Effects& out) {
                 take(output, out);
               }} {}

void PodWatch::take(const controller::Reflector::Output& output, kapi::Effects& out) {
  bool has_changed = output.synced_now;
  for (const auto& change : output.changes) {
    const auto pod = change.object.as<PodObject>();
    const auto known = uids_.find(change.key);
    const bool has_caches = pod != nullptr && pod->has_caches;
    if (known != uids_.end() && (!has_caches || pod->uid.text != known->second)) {
      paths_.erase(known->second);
      uids_.erase(known);
      has_changed = true;
    }
    if (!has_caches) { continue; }
    uids_[change.key] = pod->uid.text;
    const auto place = paths_.find(pod->uid.text);
    if (place != paths_.end() && place->second == pod->paths) { continue; }
    if (pod->paths.has_more) { out.emplace_back(hasMore(pod->key)); }
    if (pod->has_others) { out.emplace_back(hasOthers(pod->key)); }
    paths_.insert_or_assign(pod->uid.text, pod->paths);
    has_changed = true;
  }
  const bool is_known = watches_.all().front().synced();
  if (has_changed && is_known) { told_(std::make_shared<const kcache::MountPaths>(paths_)); }
}

Readiness::Check PodWatch::check() const {
  const std::string& trouble = watches_.all().front().trouble();
  return {"pods", trouble.empty()
                      ? "ok"
                      : trouble + " (caches have paths for --mount-path, wherever pods mount them)"};
}

}  // namespace gs::gkm
