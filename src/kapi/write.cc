#include "kapi/write.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "base/percent.h"
#include "kapi/kinds.h"
#include "kapi/lease_format.h"
#include "kapi/paths.h"
#include "kapi/time.h"
#include "model/annotations.h"
#include "model/disruption.h"

namespace gs::kapi {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr const char* kFieldManager = "gpu-scheduler";
/// Of a lease of a shared GPU, in place of the pod's annotations: all pods that have a share.
constexpr const char* kHoldersKey = "gpu.scheduling/holders";
constexpr std::size_t kMaxAllocatedText = 8;

Call callTo(Verb verb, Kind kind, model::ObjectKey key, std::string subresource = {}) {
  Call call;
  call.verb = verb;
  call.kind = kind;
  call.key = std::move(key);
  call.subresource = std::move(subresource);
  return call;
}

Value headOf(Kind kind) { return Object{{"apiVersion", apiVersion(kind)}, {"kind", kind->name}}; }

/// A body of `kind` with metadata name and namespace.
Value bodyOf(Kind kind, const model::ObjectKey& key) {
  Value body = headOf(kind);
  body.set("metadata", Object{{"name", key.name}});
  if (!key.ns.empty()) { body.child("metadata").set("namespace", key.ns); }
  return body;
}

void setPreconditions(Value& metadata, const model::Uid& uid, model::Revision revision) {
  if (!uid.empty()) { metadata.set("uid", uid.text); }
  if (revision != 0) { metadata.set("resourceVersion", std::to_string(revision)); }
}

Call deleteObject(Kind kind, const model::ObjectKey& key, const model::Uid& uid, model::Revision revision) {
  Call call = callTo(Verb::Delete, kind, key);
  call.body = Object{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  setPreconditions(call.body.child("preconditions"), uid, revision);
  return call;
}

Value idList(const std::vector<int>& ids) {
  Array out;
  for (const int id : ids) { out.emplace_back(id); }
  return out;
}

void addParameter(std::string& query, std::string_view name, std::string_view value) {
  if (!query.empty()) { query += '&'; }
  query += fmt::format("{}={}", name, percentEncode(value));
}

Value holdersValue(const std::vector<model::ShareHolder>& holders) {
  Array out;
  for (const auto& h : holders) {
    out.push_back(Object{{"uid", h.uid.text},
                         {"namespace", h.pod.ns},
                         {"name", h.pod.name},
                         {"milli", h.milli},
                         {"mib", h.mib},
                         {"reservation", h.reservation.text},
                         {"devices", h.devices}});
  }
  return out;
}

/// The annotations of R63, without the empty ones.
Value gpuLeaseAnnotations(const model::Lease& lease) {
  Value out{Object{}};
  const auto put = [&out](const char* name, const std::string& value) {
    if (!value.empty()) { out.set(std::string{"gpu.scheduling/"} + name, value); }
  };
  put("format", std::to_string(leaseFormat()));
  put("node", lease.node.text);
  put("gpu", std::to_string(lease.gpu));
  put("uuid", lease.uuid);
  if (lease.shared()) {
    auto holders = lease.holders;
    std::sort(holders.begin(), holders.end());
    put("holders", json::print(holdersValue(holders)));
    return out;
  }
  put("pod-namespace", lease.pod.ns);
  put("pod-name", lease.pod.name);
  put("pod-uid", lease.pod_uid.text);
  put("reservation", lease.reservation.text);
  put("devices", lease.devices);
  return out;
}

/// The pod whose name the label shows: of a shared lease the first holder's.
std::string labelledPod(const model::Lease& lease) {
  if (!lease.shared()) { return lease.pod.name; }
  const auto first = std::min_element(lease.holders.begin(), lease.holders.end());
  return first == lease.holders.end() ? std::string{} : first->pod.name;
}

Value gpuLeaseBody(const model::Lease& lease) {
  Value body = bodyOf(kLease, lease.key);
  Value& metadata = body.child("metadata");
  metadata.child("labels").set(model::kManagedLabel, "true");
  if (const auto pod = labelledPod(lease); !pod.empty()) {
    metadata.child("labels").set(model::kPodLabel, model::podLabel(pod));
  }
  metadata.set("annotations", gpuLeaseAnnotations(lease));
  body.child("spec").set("holderIdentity", lease.holder);
  return body;
}

Value allocationValue(const ClaimAllocation& a) {
  return Object{{"pod", a.pod}, {"uid", a.uid.text}, {"node", a.node.text}, {"gpuIds", idList(a.ids)}};
}

}  // namespace

Call getObject(Kind kind, model::ObjectKey key) { return callTo(Verb::Get, kind, std::move(key)); }

Call listObjects(Kind kind, std::string ns, int limit, const std::string& continue_token,
                 const Selectors& selectors) {
  Call call = callTo(Verb::List, kind, {std::move(ns), {}});
  if (limit > 0) { addParameter(call.query, "limit", std::to_string(limit)); }
  if (!continue_token.empty()) { addParameter(call.query, "continue", continue_token); }
  if (!selectors.labels.empty()) { addParameter(call.query, "labelSelector", selectors.labels); }
  if (!selectors.fields.empty()) { addParameter(call.query, "fieldSelector", selectors.fields); }
  return call;
}

Call bindPod(const model::Pod& pod, const model::NodeName& node,
             const std::map<std::string, std::string>& annotations) {
  Call call = callTo(Verb::Create, kPod, pod.key, "binding");
  call.body = Object{{"apiVersion", "v1"}, {"kind", "Binding"}};
  Value& metadata = call.body.child("metadata");
  metadata.set("name", pod.key.name);
  metadata.set("namespace", pod.key.ns);
  setPreconditions(metadata, pod.uid, pod.revision);
  if (!annotations.empty()) { metadata.set("annotations", json::fromStrings(annotations)); }
  call.body.set("target", Object{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node.text}});
  return call;
}

Call fencePod(const model::ObjectKey& key, const model::Uid& uid, const std::string& value) {
  Call call = callTo(Verb::MergePatch, kPod, key, "status");
  Value& metadata = call.body.child("metadata");
  setPreconditions(metadata, uid, 0);
  metadata.child("annotations").set(model::kFenceKey, value);
  return call;
}

Call annotatePod(const model::Pod& pod, const std::map<std::string, std::string>& set,
                 const std::vector<std::string>& remove) {
  Call call = callTo(Verb::MergePatch, kPod, pod.key, "status");
  Value& metadata = call.body.child("metadata");
  setPreconditions(metadata, pod.uid, pod.revision);
  Object annotations;
  annotations.reserve(remove.size() + set.size());
  for (const auto& key : remove) { annotations.append(key, nullptr); }
  for (const auto& [key, value] : set) { annotations.append(key, value); }
  metadata.set("annotations", std::move(annotations));
  return call;
}

Call wakePod(const model::Pod& pod, const std::string& value) {
  return annotatePod(pod, {{model::kWakeKey, value}}, {});
}

Call setUnschedulable(const model::Pod& pod, const std::string& reason, const std::string& message,
                      Wall now) {
  Call call = callTo(Verb::StrategicPatch, kPod, pod.key, "status");
  setPreconditions(call.body.child("metadata"), pod.uid, pod.revision);
  Object condition{{"type", "PodScheduled"},
                   {"status", "False"},
                   {"reason", reason},
                   {"message", message},
                   {"lastProbeTime", nullptr}};
  // The time of the last change of `status`: patched into the condition that is there,
  // so left alone when it is False.
  if (pod.scheduled->status != "False") { condition.append("lastTransitionTime", timeText(now)); }
  call.body.child("status").set("conditions", Array{std::move(condition)});
  return call;
}

Call nominatePod(const model::Pod& pod, const model::NodeName& node) {
  Call call = callTo(Verb::MergePatch, kPod, pod.key, "status");
  setPreconditions(call.body.child("metadata"), pod.uid, pod.revision);
  call.body.child("status").set("nominatedNodeName", node.empty() ? Value{nullptr} : Value{node.text});
  return call;
}

Call markPreempted(const model::Pod& victim, const std::string& scheduler, Wall now) {
  Call call = callTo(Verb::StrategicPatch, kPod, victim.key, "status");
  setPreconditions(call.body.child("metadata"), victim.uid, 0);
  Object condition{
      {"type", "DisruptionTarget"},
      {"status", "True"},
      {"reason", model::kPreemptionReason},
      {"message", fmt::format("{}: preempting to accommodate a higher priority pod", scheduler)}};
  if (!victim.preempted) { condition.append("lastTransitionTime", timeText(now)); }
  call.body.child("status").set("conditions", Array{std::move(condition)});
  return call;
}

Call deletePod(const model::ObjectKey& key, const model::Uid& uid) { return deleteObject(kPod, key, uid, 0); }

Call createLease(const model::Lease& lease) {
  Call call = callTo(Verb::Create, kLease, {lease.key.ns, {}});
  call.body = gpuLeaseBody(lease);
  return call;
}

Call updateLease(const model::Lease& lease) {
  Call call = callTo(Verb::Update, kLease, lease.key);
  call.body = gpuLeaseBody(lease);
  setPreconditions(call.body.child("metadata"), lease.uid, lease.revision);
  return call;
}

Call leaveLease(const model::Lease& lease, const std::set<model::Uid>& who) {
  Call call = callTo(Verb::Update, kLease, lease.key);
  call.body = json::parse(lease.as_written).value_or(Value{});
  const Value head = headOf(kLease);  // in a list objects do not say their kind
  for (const auto& [name, value] : head.members()) { call.body.set(name, value); }
  Value& metadata = call.body.child("metadata");
  const auto holders = json::parse(metadata["annotations"][kHoldersKey].str()).value_or(Value{});
  Array left;
  for (const Value& one : holders.items()) {
    if (!who.contains(model::Uid{one["uid"].str()})) { left.push_back(one); }
  }
  if (left.empty()) { return deleteLease(lease.key, lease.uid, lease.revision); }
  metadata.child("annotations").set(kHoldersKey, json::print(left));
  setPreconditions(metadata, lease.uid, lease.revision);
  return call;
}

Call deleteLease(const model::ObjectKey& key, const model::Uid& uid, model::Revision revision) {
  return deleteObject(kLease, key, uid, revision);
}

Call writeElection(const model::Lease& lease, bool create) {
  Call call =
      create ? callTo(Verb::Create, kLease, {lease.key.ns, {}}) : callTo(Verb::Update, kLease, lease.key);
  call.body = bodyOf(kLease, lease.key);
  Value& metadata = call.body.child("metadata");
  for (const auto& [key, value] : {std::pair{model::kAddressKey, &lease.record.address},
                                   {model::kLeaseSchedulerKey, &lease.record.scheduler},
                                   {model::kHolderContainerKey, &lease.record.container}}) {
    if (!value->empty()) { metadata.child("annotations").set(key, *value); }
  }
  if (!create) { setPreconditions(metadata, lease.uid, lease.revision); }
  Value& spec = call.body.child("spec");
  spec.set("holderIdentity", lease.holder);
  spec.set("leaseDurationSeconds", lease.record.duration_s);
  if (!lease.record.acquire_time.empty()) { spec.set("acquireTime", lease.record.acquire_time); }
  if (!lease.record.renew_time.empty()) { spec.set("renewTime", lease.record.renew_time); }
  spec.set("leaseTransitions", lease.record.transitions);
  return call;
}

std::string allocatedText(const std::vector<ClaimAllocation>& sorted, std::size_t total) {
  std::string out;
  const std::size_t named = std::min(sorted.size(), kMaxAllocatedText);
  for (std::size_t i = 0; i < named; ++i) {
    if (i > 0) { out += "; "; }
    out += model::printAllocation(sorted[i].node, sorted[i].ids);
  }
  if (total > named) { out += fmt::format(" (+{} more)", total - named); }
  return out;
}

Call applyClaimStatus(const model::ObjectKey& claim, const model::Uid& uid, model::Revision revision,
                      const ClaimStatus& status) {
  Call call = callTo(Verb::Apply, kGpuClaim, claim, "status");
  call.query = fmt::format("fieldManager={}&force=true", kFieldManager);
  call.body = bodyOf(kGpuClaim, claim);
  setPreconditions(call.body.child("metadata"), uid, revision);
  Value& out = call.body.child("status");
  out = Object{};
  if (!status.phase.empty()) { out.set("phase", status.phase); }
  if (!status.message.empty()) { out.set("message", status.message); }
  if (status.allocations.empty()) { return call; }
  const ClaimAllocation& first = status.allocations.front();
  out.set("nodeName", first.node.text);
  out.set("gpuIds", idList(first.ids));
  out.set("allocated", allocatedText(status.allocations, status.total));
  Array allocations;
  for (const auto& allocation : status.allocations) { allocations.push_back(allocationValue(allocation)); }
  out.set("allocations", std::move(allocations));
  out.set("allocationsTotal", status.total);
  return call;
}

Call recordLeaseNamespace(const model::Crd& crd, const std::string& ns, const std::string& scheduler,
                          const std::string& term) {
  Call call = callTo(Verb::MergePatch, kCrd, {"", crd.name});
  Value& metadata = call.body.child("metadata");
  setPreconditions(metadata, crd.uid, crd.revision);
  metadata.child("annotations").set(model::kLeaseNamespaceKey, ns);
  metadata.child("annotations").set(model::kLeaseSchedulerKey, scheduler);
  metadata.child("annotations").set(model::kLeaseTermKey, term);
  return call;
}

}  // namespace gs::kapi
