#include "kapi/write_dra.h"

#include <algorithm>

#include "base/mutant.h"
#include "kapi/kinds.h"
#include "kapi/write.h"
#include "model/annotations.h"

namespace gs::kapi {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr const char* kForLimits = "resource.kubernetes.io/extended-resource-claim";

Call callAt(Verb verb, Kind kind, const model::ObjectKey& key, const char* subresource = "") {
  Call call;
  call.verb = verb;
  call.kind = kind;
  call.key = key;
  call.subresource = subresource;
  return call;
}

/// A PUT of the claim's status.
Call putStatus(const model::ResourceClaim& claim, Value status) {
  Call call = callAt(Verb::Update, kResourceClaim, claim.key, "status");
  call.body = Object{{"apiVersion", apiVersion(kResourceClaim)},
                     {"kind", kResourceClaim->name},
                     {"metadata", Object{{"name", claim.key.name},
                                         {"namespace", claim.key.ns},
                                         {"uid", claim.uid.text},
                                         {"resourceVersion", std::to_string(claim.revision)}}},
                     {"status", std::move(status)}};
  return call;
}

/// A strategic merge PATCH of one entry of status.reservedFor, whose key is the uid.
Call patchReservedFor(const model::ResourceClaim& claim, Object entry) {
  Call call = callAt(Verb::StrategicPatch, kResourceClaim, claim.key, "status");
  call.body = Object{
      {"metadata", Object{{"uid", claim.uid.text}, {"resourceVersion", std::to_string(claim.revision)}}},
      {"status", Object{{"reservedFor", Array{std::move(entry)}}}}};
  return call;
}

Object consumerOf(const model::Pod& pod) {
  return Object{{"resource", "pods"}, {"name", pod.key.name}, {"uid", pod.uid.text}};
}

Value configOf(const std::vector<model::DeviceConfig>& config) {
  Array out;
  for (const auto& one : config) {
    Value entry = json::parse(one.config).value_or(Value{Object{}});
    entry.set("source", one.from_class ? "FromClass" : "FromClaim");
    Array requests;
    for (const auto& request : one.requests) { requests.emplace_back(request); }
    if (!requests.empty()) { entry.set("requests", std::move(requests)); }
    out.push_back(std::move(entry));
  }
  return out;
}

/// Only that node, as the API's own allocator writes it.
Value selectorOf(const model::NodeName& node) {
  Array values{node.text};
  Array fields{Object{{"key", "metadata.name"}, {"operator", "In"}, {"values", std::move(values)}}};
  Array terms{Object{{"matchFields", std::move(fields)}}};
  return Object{{"nodeSelectorTerms", std::move(terms)}};
}

}  // namespace

model::ObjectKey claimKeyOf(const model::Pod& pod) { return {pod.key.ns, "gpu-" + pod.uid.text}; }

Call createClaim(const model::Pod& pod, const std::vector<model::LimitRequest>& requests,
                 const std::string& reservation) {
  const model::ObjectKey key = claimKeyOf(pod);
  Array asked;
  for (const auto& r : requests) {
    asked.push_back(Object{
        {"name", r.request},
        {"exactly",
         Object{{"deviceClassName", r.device_class}, {"allocationMode", "ExactCount"}, {"count", r.count}}}});
  }
  Array owners{Object{{"apiVersion", "v1"},
                      {"kind", "Pod"},
                      {"name", pod.key.name},
                      {"uid", pod.uid.text},
                      {"controller", true}}};
  Array finalizers{model::kDeleteProtection};
  Call call = callAt(Verb::Create, kResourceClaim, {key.ns, ""});
  call.body =
      Object{{"apiVersion", apiVersion(kResourceClaim)},
             {"kind", kResourceClaim->name},
             {"metadata",
              Object{{"name", key.name},
                     {"namespace", key.ns},
                     {"annotations", Object{{kForLimits, "true"}, {model::kOfReservationKey, reservation}}},
                     {"finalizers", std::move(finalizers)},
                     {"ownerReferences", std::move(owners)}}},
             {"spec", Object{{"devices", Object{{"requests", std::move(asked)}}}}}};
  return call;
}

Call mapPod(const model::Pod& pod, const std::vector<model::LimitRequest>& requests,
            const std::string& fence) {
  Array mappings;
  for (const auto& r : requests) {
    const std::string name = GS_MUTANT(WrongRequestName) ? r.request + "-too" : r.request;
    mappings.push_back(
        Object{{"containerName", r.container}, {"resourceName", r.resource}, {"requestName", name}});
  }
  Call call = fencePod(pod.key, pod.uid, fence);
  call.body.child("metadata").set("resourceVersion", std::to_string(pod.revision));
  call.body.child("status").set(
      "extendedResourceClaimStatus",
      Object{{"resourceClaimName", claimKeyOf(pod).name}, {"requestMappings", std::move(mappings)}});
  return call;
}

bool isProtected(const model::ResourceClaim& claim) {
  return std::find(claim.finalizers.begin(), claim.finalizers.end(), model::kDeleteProtection) !=
         claim.finalizers.end();
}

Call protectClaim(const model::ResourceClaim& claim) {
  Array finalizers;
  for (const auto& one : claim.finalizers) { finalizers.emplace_back(one); }
  finalizers.emplace_back(model::kDeleteProtection);
  Call call = callAt(Verb::MergePatch, kResourceClaim, claim.key);
  call.body = Object{{"metadata", Object{{"uid", claim.uid.text},
                                         {"resourceVersion", std::to_string(claim.revision)},
                                         {"finalizers", std::move(finalizers)}}}};
  return call;
}

Call allocateClaim(const model::ResourceClaim& claim, const model::Pod& pod, const model::NodeName& node,
                   const std::vector<model::AllocatedDevice>& devices,
                   const std::vector<model::DeviceConfig>& config) {
  Array results;
  for (const auto& d : devices) {
    results.push_back(Object{{"request", d.request},
                             {"driver", d.device.driver},
                             {"pool", d.device.pool},
                             {"device", d.device.device}});
  }
  Array users{consumerOf(pod)};
  Object allocated{{"results", std::move(results)}};
  if (!config.empty()) { allocated["config"] = configOf(config); }
  return putStatus(
      claim,
      Object{{"allocation", Object{{"devices", std::move(allocated)}, {"nodeSelector", selectorOf(node)}}},
             {"reservedFor", std::move(users)}});
}

Call reserveClaim(const model::ResourceClaim& claim, const model::Pod& pod) {
  return patchReservedFor(claim, consumerOf(pod));
}

Call unreserveClaim(const model::ResourceClaim& claim, const model::Uid& pod) {
  return patchReservedFor(claim, Object{{"$patch", "delete"}, {"uid", pod.text}});
}

Call emptyClaim(const model::ResourceClaim& claim) { return putStatus(claim, Object{}); }

Call fenceClaim(const model::ResourceClaim& claim, const std::string& value) {
  Call call = callAt(Verb::MergePatch, kResourceClaim, claim.key);
  call.body = Object{
      {"metadata", Object{{"uid", claim.uid.text}, {"annotations", Object{{model::kFenceKey, value}}}}}};
  return call;
}

}  // namespace gs::kapi
