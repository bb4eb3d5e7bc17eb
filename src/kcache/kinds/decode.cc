#include <algorithm>
#include <limits>

#include "base/dns_name.h"
#include "kapi/decode.h"
#include "kapi/fields.h"
#include "kapi/time.h"
#include "kcache/image/digest.h"
#include "kcache/kinds/kinds.h"
#include "kcache/kinds/names.h"

namespace gs::kcache {
namespace {

using json::View;

// An object of the API has 1.5 MiB at most, so these are reached by nonsense only.
constexpr std::size_t kMostFinalizers = 4096;
constexpr std::size_t kMostCaches = 8192;
constexpr std::size_t kMostImages = 64;  // of one cache
constexpr std::size_t kMostPods = 4096;  // of one image
constexpr std::size_t kMostGpuGroups = 1024;
constexpr std::size_t kMostText = 4096;
constexpr std::size_t kMostConditions = 8;
constexpr std::size_t kMostPullSecrets = 8;
constexpr std::size_t kMostCacheName = 253;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 53;
constexpr std::int64_t kMostCount = std::numeric_limits<std::int32_t>::max();

std::string cutText(const View& v) { return std::string{v.str().substr(0, kMostText)}; }

Wall timeOf(const View& v) { return kapi::parseTime(v.str()).value_or(Wall{}); }

Finalizers finalizersIn(const View& metadata) {
  Finalizers out;
  for (const View one : metadata["finalizers"].items()) {
    if (out.names.size() == kMostFinalizers) {
      out.are_cut = true;
      break;
    }
    if (!one.str().empty()) { out.names.emplace_back(one.str()); }
  }
  return out;
}

/// Nothing unless it is as we write it.
std::optional<Condition> conditionOf(const View& one) {
  const auto state = stateNamed(one["type"].str());
  if (!state || one["reason"].str() != one["type"].str() || one["status"].str() != "True") {
    return std::nullopt;
  }
  return Condition{*state, cutText(one["message"]), timeOf(one["lastTransitionTime"])};
}

/// Nothing unless there is exactly one.
std::optional<Condition> conditionIn(const View& status) {
  const View all = status["conditions"];
  return all.items().size() == 1 ? conditionOf(all.at(0)) : std::nullopt;
}

std::optional<Remark> remarkOf(const View& one) {
  const auto kind = remarkNamed(one["type"].str());
  if (!kind) { return std::nullopt; }
  return Remark{*kind, one["status"].str() == "True", cutText(one["reason"]), cutText(one["message"]),
                timeOf(one["lastTransitionTime"])};
}

/// A cache's first condition, and remarks behind it; nothing where there are others.
void readConditions(const View& status, CacheStatus& out) {
  const View all = status["conditions"];
  if (all.items().empty() || all.items().size() > kMostConditions) { return; }
  std::vector<Remark> remarks;
  for (std::size_t at = 1; at < all.items().size(); ++at) {
    auto remark = remarkOf(all.at(at));
    if (!remark) { return; }
    remarks.push_back(*std::move(remark));
  }
  out.condition = conditionOf(all.at(0));
  if (out.condition) { out.remarks = std::move(remarks); }
}

/// Those that the operator wrote. Of GKM's own there may be others.
std::map<std::string, ClaimStatus, std::less<>> claimsIn(const View& status) {
  std::map<std::string, ClaimStatus, std::less<>> out;
  for (const auto [ns, one] : status["pvcStatus"].members()) {
    if (out.size() == ClaimWish::kMostNamespaces) { break; }
    if (one["pvcOwner"].str() != kClaimOwner || !isDnsLabel(ns)) { continue; }
    out.emplace(ns, ClaimStatus{cutText(one["pvName"]), cutText(one["pvcName"]), conditionIn(one)});
  }
  return out;
}

Counts countsIn(const View& status) {
  const View v = status["counts"];
  return {kapi::bounded(v["nodeCnt"], kMostCount),         kapi::bounded(v["nodeInUseCnt"], kMostCount),
          kapi::bounded(v["nodeNotInUseCnt"], kMostCount), kapi::bounded(v["nodeErrorCnt"], kMostCount),
          kapi::bounded(v["podRunningCnt"], kMostCount),   kapi::bounded(v["podOutdatedCnt"], kMostCount)};
}

std::vector<int> gpuIds(const View& v) {
  std::vector<int> out;
  for (const View id : v.items()) {
    if (out.size() > model::kMaxDeviceId) { break; }
    const auto number = kapi::bounded(id, model::kMaxDeviceId, -1);
    if (number >= 0) { out.push_back(static_cast<int>(number)); }
  }
  return out;
}

std::vector<PodUse> podsIn(const View& v) {
  std::vector<PodUse> out;
  for (const View pod : v.items()) {
    if (out.size() == kMostPods) { break; }
    out.push_back({cutText(pod["podNamespace"]), cutText(pod["podName"]), cutText(pod["volumeId"])});
  }
  return out;
}

CacheEntry cacheEntryOf(const View& v) {
  CacheEntry out;
  out.condition = conditionIn(v);
  out.compatible_gpus = gpuIds(v["compatibleGPUs"]);
  out.incompatible_gpus = gpuIds(v["incompatibleGPUs"]);
  out.size = kapi::bounded(v["volumeSize"], kMostBytes);
  if (const View p = v["progress"]; p.isObject()) {
    out.progress = Progress{kapi::bounded(p["bytes"], kMostBytes), kapi::bounded(p["totalBytes"], kMostBytes),
                            kapi::bounded(p["bytesPerSecond"], kMostBytes)};
  }
  out.pods = podsIn(v["pods"]);
  out.last_updated = timeOf(v["lastUpdated"]);
  return out;
}

Entries cacheEntriesOf(const View& v) {
  Entries out;
  for (const auto [digest, entry] : v.members()) {
    if (out.size() == kMostImages) { break; }
    if (Digest::parse(digest)) { out.emplace(digest, cacheEntryOf(entry)); }
  }
  return out;
}

std::vector<GpuGroup> gpusIn(const View& status) {
  std::vector<GpuGroup> out;
  for (const View one : status["gpus"].items()) {
    if (out.size() == kMostGpuGroups) { break; }
    out.push_back({cutText(one["gpuType"]), cutText(one["driverVersion"]), gpuIds(one["ids"])});
  }
  return out;
}

std::string nodeNameIn(const View& v) {
  if (const View told = v["status"]["nodeName"]; !told.str().empty()) { return cutText(told); }
  const std::string own = kapi::objectKey(v).name;
  const View label = v["metadata"]["labels"][kHostLabel];
  return label.str().empty() || label.str() == nodeLabel(own) ? own : cutText(label);
}

/// What all four have.
template <class T>
void decodeMetadata(const View& v, T& out) {
  out.key = kapi::objectKey(v);
  out.uid = kapi::uidField(v);
  out.revision = kapi::objectRevision(v);
  out.is_deleting = !v["metadata"]["deletionTimestamp"].isNull();
  out.finalizers = finalizersIn(v["metadata"]);
}

constexpr const char* kGroup = "gkm.io";
constexpr const char* kVersion = "v1alpha1";
constexpr kapi::KindInfo kCacheInfo{
    kGroup, kVersion, "gkmcaches", "GKMCache", true, kapi::decodedBy<decodeCache>, true};
constexpr kapi::KindInfo kClusterCacheInfo{
    kGroup, kVersion, "clustergkmcaches", "ClusterGKMCache", false, kapi::decodedBy<decodeCache>, true};
constexpr kapi::KindInfo kCacheNodeInfo{
    kGroup, kVersion, "gkmcachenodes", "GKMCacheNode", true, kapi::decodedBy<decodeCacheNode>, true};
constexpr kapi::KindInfo kClusterCacheNodeInfo{
    kGroup, kVersion, "clustergkmcachenodes", "ClusterGKMCacheNode", false, kapi::decodedBy<decodeCacheNode>,
    true};

}  // namespace

constinit const kapi::Kind kCache{kCacheInfo};
constinit const kapi::Kind kClusterCache{kClusterCacheInfo};
constinit const kapi::Kind kCacheNode{kCacheNodeInfo};
constinit const kapi::Kind kClusterCacheNode{kClusterCacheNodeInfo};

kapi::Kind cacheKindOf(const model::ObjectKey& key) { return key.ns.empty() ? kClusterCache : kCache; }
kapi::Kind nodeKindOf(const model::ObjectKey& key) { return key.ns.empty() ? kClusterCacheNode : kCacheNode; }
const char* finalizerOf(const model::ObjectKey& cache) {
  return cache.ns.empty() ? kClusterCacheFinalizer : kCacheFinalizer;
}

bool Finalizers::has(std::string_view name) const {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> Finalizers::with(std::string_view name) const {
  std::vector<std::string> out = names;
  if (!has(name)) { out.emplace_back(name); }
  return out;
}

std::vector<std::string> Finalizers::without(std::string_view name) const {
  std::vector<std::string> out = names;
  std::erase(out, name);
  return out;
}

std::vector<std::string> pullSecretsIn(const View& spec) {
  std::vector<std::string> out;
  for (const View one : spec["imagePullSecrets"].items()) {
    if (out.size() == kMostPullSecrets) { break; }
    if (isDnsSubdomain(one["name"].str())) { out.emplace_back(one["name"].str()); }
  }
  return out;
}

Cache decodeCache(const View& v) {
  Cache out;
  decodeMetadata(v, out);
  out.image = cutText(v["spec"]["image"]);
  out.digest = cutText(v["metadata"]["annotations"][kDigestKey]);
  out.wish = claimWishIn(v["spec"], out.key.ns.empty());
  out.pull_secrets = pullSecretsIn(v["spec"]);
  if (const View status = v["status"]; status.isObject()) {
    CacheStatus& is = out.status.emplace();
    is.resolved_digest = cutText(status["resolvedDigest"]);
    is.counts = countsIn(status);
    is.last_updated = timeOf(status["lastUpdated"]);
    is.claims = claimsIn(status);
    readConditions(status, is);
  }
  return out;
}

CacheNode decodeCacheNode(const View& v) {
  CacheNode out;
  decodeMetadata(v, out);
  out.node = model::NodeName{nodeNameIn(v)};
  out.first = parseFirst(v["metadata"]["annotations"][kFirstKey].str());
  const View status = v["status"];
  out.counts = countsIn(status);
  out.gpus = gpusIn(status);
  for (const auto [name, images] : status["caches"].members()) {
    if (out.caches.size() == kMostCaches) { break; }
    if (!name.empty() && name.size() <= kMostCacheName) { out.caches.emplace(name, cacheEntriesOf(images)); }
  }
  return out;
}

}  // namespace gs::kcache
