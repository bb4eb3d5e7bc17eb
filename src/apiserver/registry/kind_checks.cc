#include "apiserver/registry/kind_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/fill_in.h"

namespace gs::apiserver {
namespace {

using json::Value;

FieldErrors checkLease(const Value& lease) {
  FieldErrors errors;
  const Value& spec = lease["spec"];
  if (const auto seconds = spec["leaseDurationSeconds"].integer(); seconds && *seconds <= 0) {
    errors.push_back(
        fieldInvalid("spec.leaseDurationSeconds", spec["leaseDurationSeconds"], "must be greater than 0"));
  }
  if (const auto times = spec["leaseTransitions"].integer(); times && *times < 0) {
    errors.push_back(fieldInvalid("spec.leaseTransitions", spec["leaseTransitions"],
                                  "must be greater than or equal to 0"));
  }
  return errors;
}

/// Behind a feature gate that is off (CoordinatedLeaderElection).
void dropLeaseStrategy(Value& lease, const Value& old) {
  for (const char* field : {"strategy", "preferredHolder"}) {
    if (!lease["spec"].isObject() || !old["spec"][field].isNull()) { continue; }
    lease.child("spec").erase(field);
  }
}

/// Of its Secrets an account keeps nothing else.
void keepSecretNames(Value& account) {
  eachObject(account, "secrets", [](Value& secret) {
    const Value name = secret["name"];
    secret = json::Object{};
    if (!name.isNull()) { secret.set("name", name); }
  });
}

FieldErrors checkNewNamespace(const Value& space) {
  FieldErrors errors;
  const std::string field = "spec.finalizers";
  for (const Value& name : space["spec"]["finalizers"].items()) {
    refuseFor(errors, field, name, qualifiedNameErrors(name.str()));
    if (isStandardFinalizer(name.str()) || name.str().find('/') != std::string_view::npos) { continue; }
    errors.push_back(
        fieldInvalid(field, name, "name is neither a standard finalizer name nor is it fully qualified"));
  }
  return errors;
}

/// It has one of its own, beside those that it came with.
void beginNamespace(Value& space) {
  json::Array finalizers = space["spec"]["finalizers"].items();
  const Value own{"kubernetes"};
  if (std::find(finalizers.begin(), finalizers.end(), own) == finalizers.end()) { finalizers.push_back(own); }
  space.set("spec", json::Object{{"finalizers", std::move(finalizers)}});
  space.set("status", json::Object{{"phase", "Active"}});
}

/// An Event as v1 sends it.
FieldErrors checkCoreEvent(const Value& event) {
  FieldErrors errors;
  const auto about = event["involvedObject"]["namespace"].str();
  const bool clusterwide = about.empty() && event["metadata"]["namespace"].str() == "default";
  if (about != event["metadata"]["namespace"].str() && !clusterwide) {
    errors.push_back(
        fieldInvalid("involvedObject.namespace", Value{about}, "does not match event.namespace"));
  }
  return errors;
}

FieldErrors checkNewEvent(const Value& event) {
  FieldErrors errors;
  if (event["eventTime"].str().empty()) { errors.push_back(fieldRequired("eventTime")); }
  const auto needed = [&](const char* field) {
    if (event[field].str().empty() && errors.empty()) { errors.push_back(fieldRequired(field)); }
  };
  if (!errors.empty()) { return errors; }
  needed("reportingController");
  needed("reportingInstance");
  needed("action");
  needed("reason");
  if (event["note"].str().size() > 1024) {
    errors.push_back(fieldInvalid("message", Value{""}, "can have at most 1024 characters"));
  }
  const auto type = event["type"].str();
  if (type != "Normal" && type != "Warning") {
    errors.push_back(fieldInvalid("type", Value{""}, fmt::format("has invalid value: {}", type)));
  }
  return errors;
}

FieldErrors checkEventUpdate(const Value& event, const Value& old) {
  FieldErrors errors;
  for (const char* field : {"action", "reason", "regarding", "related", "note", "type", "deprecatedSource",
                            "reportingController", "reportingInstance"}) {
    if (event[field] != old[field]) {
      errors.push_back(fieldInvalid(field, event[field], "field is immutable"));
    }
  }
  return errors;
}

}  // namespace

FieldErrors checkFirst(const Resource& r, const json::Value& object) {
  return r.is("/services") ? checkServiceAddresses(object) : FieldErrors{};
}

FieldErrors checkKind(const Resource& r, const json::Value& object, const json::Value& old) {
  if (r.custom) { return {}; }
  const bool created = old.isNull();
  if (r.kind == "Pod") { return created ? checkPod(object) : checkPodUpdate(object, old); }
  if (r.kind == "ConfigMap") { return checkConfigMap(object, old); }
  if (r.kind == "Lease") { return checkLease(object); }
  if (r.coreEvents()) { return created ? checkCoreEvent(object) : FieldErrors{}; }
  if (r.kind == "Event") { return created ? checkNewEvent(object) : checkEventUpdate(object, old); }
  if (r.kind == "Node") { return checkNode(object, old); }
  if (r.is("/namespaces")) { return created ? checkNewNamespace(object) : FieldErrors{}; }
  if (r.kind == "PodDisruptionBudget") { return checkBudget(object); }
  if (r.kind == "CustomResourceDefinition") { return checkCrd(object, old); }
  if (r.kind == "ControllerRevision") { return checkRevision(object, old); }
  if (r.isWorkload()) { return checkWorkload(r, object, old); }
  if (r.isWebhooks()) { return checkWebhooks(object); }
  if (r.isAdmissionPolicy()) { return checkAdmissionPolicy(r, object); }
  if (r.kind == "NetworkPolicy") { return checkNetworkPolicy(object); }
  if (r.kind == "Secret") { return checkSecret(object, old); }
  if (r.kind == "Service") { return checkService(object); }
  if (r.kind == "EndpointSlice") { return checkEndpoints(object, old); }
  if (r.kind == "PriorityClass") { return checkPriorityClass(object, old); }
  if (r.kind == "Role" || r.kind == "ClusterRole") { return checkRole(r, object); }
  if (r.isRoleBinding()) { return checkRoleBinding(r, object, old); }
  if (r.kind == "PersistentVolume") { return checkPersistentVolume(object, old); }
  if (r.kind == "PersistentVolumeClaim") { return checkPersistentVolumeClaim(object, old); }
  if (r.isStorageGroup()) { return checkStorageGroup(r, object, old); }
  if (r.isDevices()) { return checkDeviceKind(r, object, old); }
  return {};
}

void defaultKind(const Resource& r, json::Value& object) {
  if (r.custom || !object.isObject()) { return; }
  if (r.kind == "Pod") { defaultPod(object); }
  if (r.isWorkload()) { defaultWorkload(r, object); }
  if (r.isWebhooks()) { defaultWebhooks(r, object); }
  if (r.isAdmissionPolicy()) { defaultAdmissionPolicy(r, object); }
  if (r.kind == "NetworkPolicy") { defaultNetworkPolicy(object); }
  if (r.kind == "Node") { defaultNode(object); }
  if (r.kind == "Secret") { defaultSecret(object); }
  if (r.kind == "Service") { defaultService(object); }
  if (r.kind == "EndpointSlice") { defaultEndpoints(object); }
  if (r.kind == "CustomResourceDefinition") { defaultCrd(object); }
  if (r.kind == "PriorityClass") { defaultPriorityClass(object); }
  if (r.kind == "Role" || r.kind == "ClusterRole") { defaultRole(object); }
  if (r.isRoleBinding()) { defaultRoleBinding(object); }
  if (r.kind == "PersistentVolume") { defaultPersistentVolume(object); }
  if (r.kind == "PersistentVolumeClaim") { defaultPersistentVolumeClaim(object); }
  if (r.isStorageGroup()) { defaultStorageGroup(r, object); }
  if (r.isDevices()) { defaultDeviceKind(r, object); }
  const Value& labels = object["metadata"]["labels"];
  if (r.kind == "Namespace" && (labels.isNull() || labels.isObject())) {
    object.child("metadata")
        .child("labels")
        .set("kubernetes.io/metadata.name", object["metadata"]["name"].str());
  }
}

void keepKind(const Resource& r, const json::Value& old, json::Value& next) {
  if (r.custom) { return; }
  if (r.isWorkload()) { keepWorkload(r, old, next); }
  if (r.kind == "Service") { keepService(old, next); }
  if (r.isStorage()) { keepStorage(r, old, next); }
  if (r.isStorageGroup()) { keepStorageGroup(r, old, next); }
  if (r.isDevices()) { keepDeviceKind(r, next); }
  if (r.kind == "Lease") { dropLeaseStrategy(next, old); }
  if (r.kind == "ServiceAccount") { keepSecretNames(next); }
}

void keepStatus(const Resource& r, const json::Value& old, json::Value& next) {
  if (r.is("/pods")) { keepPodClaimStatus(old, next); }
  if (r.is("resource.k8s.io/resourceclaims")) { keepClaimStatus(old, next); }
}

void beginKind(const Resource& r, json::Value& object, Now now) {
  if (r.custom) {
    if (r.has_status) { object.erase("status"); }
    return;
  }
  if (r.kind == "Pod") { beginPod(object, now); }
  if (r.isWorkload()) { beginWorkload(r, object); }
  if (r.kind == "CustomResourceDefinition") { beginCrd(object); }
  if (r.kind == "PriorityClass") { object.child("metadata").set("generation", 1); }
  if (r.kind == "Service") { beginService(object); }
  if (r.kind == "EndpointSlice") { beginEndpoints(object); }
  if (r.isStorage()) { beginStorage(r, object, now); }
  if (r.isStorageGroup()) { beginStorageGroup(r, object); }
  if (r.isDevices()) { beginDeviceKind(r, object); }
  if (r.kind == "Lease") { dropLeaseStrategy(object, {}); }
  if (r.kind == "ServiceAccount") { keepSecretNames(object); }
  if (r.kind == "PodDisruptionBudget") {
    object.set(
        "status",
        json::Object{
            {"disruptionsAllowed", 0}, {"currentHealthy", 0}, {"desiredHealthy", 0}, {"expectedPods", 0}});
  }
  if (r.is("/namespaces")) { beginNamespace(object); }
}

}  // namespace gs::apiserver
