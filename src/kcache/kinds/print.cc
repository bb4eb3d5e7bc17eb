#include "kapi/time.h"
#include "kcache/kinds/kinds.h"
#include "kcache/kinds/names.h"

namespace gs::kcache {
namespace {

using json::Array;
using json::Object;
using json::Value;

Value printCounts(const Counts& c) {
  return Object{{"nodeCnt", c.nodes},
                {"nodeInUseCnt", c.nodes_in_use},
                {"nodeNotInUseCnt", c.nodes_not_in_use},
                {"nodeErrorCnt", c.nodes_error},
                {"podRunningCnt", c.pods_running},
                {"podOutdatedCnt", c.pods_outdated}};
}

Value printCondition(const char* type, bool is_true, std::string_view reason, std::string_view message,
                     Wall since) {
  return Object{{"type", type},
                {"status", is_true ? "True" : "False"},
                {"reason", reason},
                {"message", message},
                {"lastTransitionTime", kapi::timeText(since)}};
}

Value printConditions(const std::optional<Condition>& condition, const std::vector<Remark>& remarks = {}) {
  if (!condition) { return Array{}; }
  const char* name = nameOf(condition->state);
  Array out{printCondition(name, true, name, condition->message, condition->since)};
  for (const Remark& one : remarks) {
    out.push_back(printCondition(nameOf(one.kind), one.is_true, one.reason, one.message, one.since));
  }
  return out;
}

Value printClaims(const CacheStatus& status) {
  Value out = Object{};
  for (const auto& [ns, claim] : status.claims) {
    out.set(ns, Object{{"pvName", claim.volume},
                       {"pvcName", claim.claim},
                       {"pvcOwner", kClaimOwner},
                       {"conditions", printConditions(claim.condition)}});
  }
  return out;
}

Value printIds(const std::vector<int>& ids) { return Array(ids.begin(), ids.end()); }

Value printPods(const std::vector<PodUse>& pods) {
  Array out;
  for (const PodUse& pod : pods) {
    out.push_back(Object{{"podNamespace", pod.ns}, {"podName", pod.name}, {"volumeId", pod.volume_id}});
  }
  return out;
}

Value printEntry(const CacheEntry& e) {
  Value out = Object{{"lastUpdated", kapi::timeText(e.last_updated)}};
  if (e.condition) { out.set("conditions", printConditions(e.condition)); }
  if (!e.compatible_gpus.empty()) { out.set("compatibleGPUs", printIds(e.compatible_gpus)); }
  if (!e.incompatible_gpus.empty()) { out.set("incompatibleGPUs", printIds(e.incompatible_gpus)); }
  if (e.size > 0) { out.set("volumeSize", e.size); }
  if (e.progress) {
    out.set("progress", Object{{"bytes", e.progress->bytes},
                               {"totalBytes", e.progress->total_bytes},
                               {"bytesPerSecond", e.progress->bytes_per_second}});
  }
  if (!e.pods.empty()) { out.set("pods", printPods(e.pods)); }
  return out;
}

Value printGpus(const std::vector<GpuGroup>& gpus) {
  Array out;
  for (const GpuGroup& gpu : gpus) {
    Value one = Object{{"gpuType", gpu.type}, {"driverVersion", gpu.driver_version}};
    if (!gpu.ids.empty()) { one.set("ids", printIds(gpu.ids)); }
    out.push_back(std::move(one));
  }
  return out;
}

kapi::Call patchOf(kapi::Kind kind, const model::ObjectKey& key, const model::Uid& uid,
                   model::Revision revision) {
  kapi::Call call;
  call.verb = kapi::Verb::MergePatch;
  call.kind = kind;
  call.key = key;
  Value& metadata = call.body.child("metadata");
  metadata.set("uid", uid.text);
  metadata.set("resourceVersion", std::to_string(revision));
  return call;
}

Value bodyOf(kapi::Kind kind, const model::ObjectKey& key) {
  Value metadata = Object{{"name", key.name}};
  if (!key.ns.empty()) { metadata.set("namespace", key.ns); }
  return Object{
      {"apiVersion", kapi::apiVersion(kind)}, {"kind", kind->name}, {"metadata", std::move(metadata)}};
}

}  // namespace

json::Value statusValue(const CacheStatus& status) {
  Value out = Object{{"resolvedDigest", status.resolved_digest},
                     {"conditions", printConditions(status.condition, status.remarks)},
                     {"counts", printCounts(status.counts)},
                     {"lastUpdated", kapi::timeText(status.last_updated)}};
  if (!status.claims.empty()) {
    out.set("pvcOwner", kClaimOwner);
    out.set("pvcStatus", printClaims(status));
  }
  return out;
}

json::Value statusValue(const CacheNode& node) {
  Value out = Object{{"nodeName", node.node.text}, {"counts", printCounts(node.counts)}};
  if (!node.gpus.empty()) { out.set("gpus", printGpus(node.gpus)); }
  Value caches = Object{};
  for (const auto& [name, entries] : node.caches) {
    Value images = Object{};
    for (const auto& [digest, entry] : entries) { images.set(digest, printEntry(entry)); }
    caches.set(name, std::move(images));
  }
  out.set("caches", std::move(caches));
  return out;
}

namespace {

/// By a merge patch what is not named stays.
void takeOutClaims(const std::map<std::string, ClaimStatus, std::less<>>& before, const CacheStatus& now,
                   Value& patch) {
  for (const auto& [ns, claim] : before) {
    if (!now.claims.contains(ns)) { patch.child("pvcStatus").set(ns, nullptr); }
  }
  if (!before.empty() && now.claims.empty()) { patch.set("pvcOwner", nullptr); }
}

}  // namespace

kapi::Call writeStatus(const Cache& of, const CacheStatus& status) {
  kapi::Call call = patchOf(cacheKindOf(of.key), of.key, of.uid, of.revision);
  call.subresource = "status";
  call.body.set("status", statusValue(status));
  if (of.status) { takeOutClaims(of.status->claims, status, call.body.child("status")); }
  return call;
}

kapi::Call writeStatus(const CacheNode& node) {
  kapi::Call call;
  call.verb = kapi::Verb::Update;
  call.kind = nodeKindOf(node.key);
  call.key = node.key;
  call.subresource = "status";
  call.body = bodyOf(call.kind, node.key);
  Value& metadata = call.body.child("metadata");
  metadata.set("uid", node.uid.text);
  metadata.set("resourceVersion", std::to_string(node.revision));
  call.body.set("status", statusValue(node));
  return call;
}

kapi::Call createNode(const model::ObjectKey& key, const std::vector<std::string>& finalizers) {
  kapi::Call call;
  call.verb = kapi::Verb::Create;
  call.kind = nodeKindOf(key);
  call.key = {key.ns, ""};
  call.body = bodyOf(call.kind, key);
  Value& metadata = call.body.child("metadata");
  metadata.set("labels", Object{{kHostLabel, nodeLabel(key.name)}});
  metadata.set("finalizers", Array(finalizers.begin(), finalizers.end()));
  return call;
}

kapi::Call labelNode(const model::ObjectKey& key) {
  kapi::Call call;
  call.verb = kapi::Verb::MergePatch;
  call.kind = nodeKindOf(key);
  call.key = key;
  call.body.child("metadata").set("labels", Object{{kHostLabel, nodeLabel(key.name)}});
  return call;
}

kapi::Call deleteNode(const CacheNode& node) {
  kapi::Call call;
  call.verb = kapi::Verb::Delete;
  call.kind = nodeKindOf(node.key);
  call.key = node.key;
  call.body = Object{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  Value& preconditions = call.body.child("preconditions");
  preconditions.set("uid", node.uid.text);
  preconditions.set("resourceVersion", std::to_string(node.revision));
  return call;
}

kapi::Call writeFinalizers(kapi::Kind kind, const model::ObjectKey& key, const model::Uid& uid,
                           model::Revision revision, const std::vector<std::string>& names) {
  kapi::Call call = patchOf(kind, key, uid, revision);
  call.body.child("metadata").set("finalizers", Array(names.begin(), names.end()));
  return call;
}

}  // namespace gs::kcache
