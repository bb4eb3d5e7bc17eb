// Deployments, ReplicaSets and StatefulSets: what is required of one, and what may change later.
#include <fmt/format.h>

#include <algorithm>

#include "apiserver/meta/label_selector.h"
#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/kind_checks.h"
#include "apiserver/registry/template_checks.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr const char* kFixedSet =
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

void add(FieldErrors& to, FieldErrors found) {
  for (FieldError& error : found) { to.push_back(std::move(error)); }
}

void checkRollingUpdate(const Value& update, FieldErrors& errors) {
  const std::string field = "spec.strategy.rollingUpdate";
  const Value& unavailable = update["maxUnavailable"];
  checkShare(errors, field + ".maxUnavailable", unavailable);
  checkShare(errors, field + ".maxSurge", update["maxSurge"]);
  if (amountOf(unavailable, 100, Round::Down) == 0 && amountOf(update["maxSurge"], 100, Round::Down) == 0) {
    errors.push_back(fieldInvalid(field + ".maxUnavailable", goIntOrString(unavailable),
                                  "may not be 0 when `maxSurge` is 0"));
  }
  checkNotAboveAll(errors, field + ".maxUnavailable", unavailable);
}

void checkStrategy(const Value& strategy, FieldErrors& errors) {
  const auto type = strategy["type"].str();
  const Value& update = strategy["rollingUpdate"];
  if (type == "RollingUpdate") {
    checkRollingUpdate(update, errors);
  } else if (type == "Recreate") {
    if (!update.isNull()) {
      errors.push_back(fieldForbidden("spec.strategy.rollingUpdate",
                                      "may not be specified when strategy `type` is 'Recreate'"));
    }
  } else {
    const std::string shown =
        fmt::format("apps.DeploymentStrategy{{Type:{}, RollingUpdate:(*apps.RollingUpdateDeployment)(nil)}}",
                    goQuote(type));
    errors.push_back(fieldNotSupported("spec.strategy", shown, {"Recreate", "RollingUpdate"}));
  }
}

/// `owner`: as the messages call what runs the pods. `selects`: its selector can be read.
void checkTemplate(const Value& spec, const char* owner, bool selects, FieldErrors& errors) {
  if (selects) { checkSelects(spec, errors); }
  const Value& pod_template = spec["template"];
  checkTemplateMeta(pod_template, errors);
  const Value& pod = pod_template["spec"];
  // a StatefulSet's pods are looked at when they are made
  if (std::string_view{owner} != "StatefulSet") { add(errors, checkPodSpec(pod, "spec.template.spec")); }
  if (pod["restartPolicy"].str() != "Always") {
    errors.push_back(fieldNotSupported("spec.template.spec.restartPolicy", pod["restartPolicy"], {"Always"}));
  }
  if (!pod["activeDeadlineSeconds"].isNull()) {
    errors.push_back(fieldForbidden("spec.template.spec.activeDeadlineSeconds",
                                    fmt::format("activeDeadlineSeconds in {} is not Supported", owner)));
  }
}

/// No more of a kind of pods than there are pods.
void checkStatus(const Value& status, std::initializer_list<const char*> parts, FieldErrors& errors) {
  checkCounts(status, "status", {"replicas"}, errors);
  checkCounts(status, "status", parts, errors);
  for (const char* part : parts) {
    if (status[part].intOr(0) <= status["replicas"].intOr(0)) { continue; }
    errors.push_back(
        fieldInvalid(fmt::format("status.{}", part), status[part], "cannot be greater than status.replicas"));
  }
  if (status["availableReplicas"].intOr(0) > status["readyReplicas"].intOr(0)) {
    errors.push_back(fieldInvalid("status.availableReplicas", status["availableReplicas"],
                                  "cannot be greater than readyReplicas"));
  }
}

void checkFixedSelector(const Value& spec, const Value& old, FieldErrors& errors) {
  if (old.isNull() || spec["selector"] == old["spec"]["selector"]) { return; }
  errors.push_back(fieldInvalid("spec.selector", goSelector(spec["selector"]), "field is immutable"));
}

FieldErrors checkDeployment(const Value& deployment, const Value& old) {
  FieldErrors errors;
  const Value& spec = deployment["spec"];
  checkCounts(spec, "spec",
              {"replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"}, errors);
  if (checkSelector(spec["selector"], "deployment", errors)) {
    checkTemplate(spec, "ReplicaSet", true, errors);
  }
  checkStrategy(spec["strategy"], errors);
  const Value& deadline = spec["progressDeadlineSeconds"];
  if (!deadline.isNull() && deadline.intOr(0) <= spec["minReadySeconds"].intOr(0)) {
    errors.push_back(
        fieldInvalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"));
  }
  checkStatus(deployment["status"], {"updatedReplicas", "readyReplicas", "availableReplicas"}, errors);
  checkFixedSelector(spec, old, errors);
  return errors;
}

FieldErrors checkReplicaSet(const Value& set, const Value& old) {
  FieldErrors errors;
  const Value& spec = set["spec"];
  checkCounts(spec, "spec", {"replicas", "minReadySeconds"}, errors);
  if (checkSelector(spec["selector"], "deployment", errors)) {
    checkTemplate(spec, "ReplicaSet", true, errors);
  }
  checkStatus(set["status"], {"fullyLabeledReplicas", "readyReplicas", "availableReplicas"}, errors);
  checkFixedSelector(spec, old, errors);
  return errors;
}

void checkUpdateStrategy(const Value& strategy, FieldErrors& errors) {
  const auto type = strategy["type"].str();
  const Value& update = strategy["rollingUpdate"];
  const std::string field = "spec.updateStrategy";
  if (type == "RollingUpdate") {
    checkCounts(update, "spec.updateStrategy.rollingUpdate", {"partition"}, errors);
  } else if (type != "OnDelete") {
    const std::string shown = fmt::format(
        "apps.StatefulSetUpdateStrategy{{Type:{}, RollingUpdate:(*apps.RollingUpdateStatefulSetStrategy)"
        "(nil)}}",
        goQuote(type));
    errors.push_back(fieldInvalid(field, shown, "must be 'RollingUpdate' or 'OnDelete'"));
  } else if (!update.isNull()) {
    const std::string shown = fmt::format(
        "apps.RollingUpdateStatefulSetStrategy{{Partition:{}, MaxUnavailable:(*intstr.IntOrString)(nil)}}",
        update["partition"].intOr(0));
    errors.push_back(
        fieldInvalid(field + ".rollingUpdate", shown, "only allowed for updateStrategy 'RollingUpdate'"));
  }
}

/// Pods on a node, of a percentage or a number.
bool isNone(const Value& amount) { return amountOf(amount, 100, Round::Down) == 0; }

void checkDaemonStrategy(const Value& strategy, FieldErrors& errors) {
  const auto type = strategy["type"].str();
  const std::string field = "spec.updateStrategy";
  if (type == "OnDelete") { return; }
  if (type != "RollingUpdate") {
    errors.push_back(fieldNotSupported(field, json::print(strategy), {"RollingUpdate", "OnDelete"}));
    return;
  }
  const Value& update = strategy["rollingUpdate"];
  for (const char* name : {"maxUnavailable", "maxSurge"}) {
    const std::string here = fmt::format("{}.rollingUpdate.{}", field, name);
    checkShare(errors, here, update[name]);
    checkNotAboveAll(errors, here, update[name]);
  }
  if (!isNone(update["maxUnavailable"]) && !isNone(update["maxSurge"])) {
    errors.push_back(fieldInvalid(field + ".rollingUpdate.maxSurge", goIntOrString(update["maxSurge"]),
                                  "may not be set when maxUnavailable is non-zero"));
  } else if (isNone(update["maxUnavailable"]) && isNone(update["maxSurge"])) {
    errors.push_back(
        fieldRequired(field + ".rollingUpdate.maxUnavailable", "cannot be 0 when maxSurge is 0"));
  }
}

FieldErrors checkDaemonSet(const Value& set, const Value& old) {
  FieldErrors errors;
  const Value& spec = set["spec"];
  add(errors, checkRequirements(spec["selector"], "spec.selector"));
  const bool readable = errors.empty();
  if (spec["selector"].isObject() && spec["selector"]["matchLabels"].members().empty() &&
      spec["selector"]["matchExpressions"].items().empty()) {
    errors.push_back(fieldInvalid("spec.selector", goSelector(spec["selector"]),
                                  "empty selector is invalid for daemonset"));
  }
  checkTemplate(spec, "DaemonSet", readable, errors);
  checkCounts(spec, "spec", {"minReadySeconds", "revisionHistoryLimit"}, errors);
  checkDaemonStrategy(spec["updateStrategy"], errors);
  checkCounts(set["status"], "status",
              {"currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady",
               "observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable",
               "collisionCount"},
              errors);
  checkFixedSelector(spec, old, errors);
  return errors;
}

bool onlyMutableDiffers(Value spec, Value old) {
  for (const char* field : {"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
                            "persistentVolumeClaimRetentionPolicy", "minReadySeconds"}) {
    spec.erase(field);
    old.erase(field);
  }
  return spec == old;
}

FieldErrors checkStatefulSet(const Value& set, const Value& old) {
  FieldErrors errors;
  const Value& spec = set["spec"];
  const auto policy = spec["podManagementPolicy"].str();
  if (policy != "OrderedReady" && policy != "Parallel") {
    errors.push_back(fieldInvalid("spec.podManagementPolicy", spec["podManagementPolicy"],
                                  "must be 'OrderedReady' or 'Parallel'"));
  }
  checkUpdateStrategy(spec["updateStrategy"], errors);
  for (const char* when : {"whenDeleted", "whenScaled"}) {
    checkKnown(errors, fmt::format("spec.persistentVolumeClaimRetentionPolicy.{}", when),
               spec["persistentVolumeClaimRetentionPolicy"][when], {"Retain", "Delete"});
  }
  checkCounts(spec, "spec", {"replicas", "minReadySeconds"}, errors);
  checkCounts(spec["ordinals"], "spec.ordinals", {"start"}, errors);
  if (checkSelector(spec["selector"], "statefulset", errors)) {
    checkTemplate(spec, "StatefulSet", true, errors);
  }
  if (const auto service = spec["serviceName"].str(); old.isNull() && !service.empty()) {
    for (const std::string& why : dnsLabelErrors(service)) {
      errors.push_back(fieldInvalid("spec.serviceName", spec["serviceName"], why));
    }
  }
  checkStatus(set["status"], {"readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"},
              errors);
  if (!old.isNull() && !onlyMutableDiffers(spec, old["spec"])) {
    errors.push_back(fieldForbidden("spec", kFixedSet));
  }
  return errors;
}

}  // namespace

FieldErrors checkWorkload(const Resource& r, const json::Value& object, const json::Value& old) {
  if (r.kind == "Deployment") { return checkDeployment(object, old); }
  if (r.kind == "ReplicaSet") { return checkReplicaSet(object, old); }
  if (r.kind == "DaemonSet") { return checkDaemonSet(object, old); }
  return r.kind == "StatefulSet" ? checkStatefulSet(object, old) : checkJob(object, old);
}

FieldErrors checkRevision(const json::Value& revision, const json::Value& old) {
  FieldErrors errors;
  if (revision["revision"].intOr(0) < 0) {
    errors.push_back(fieldInvalid("revision", revision["revision"], "must be greater than or equal to 0"));
  }
  if (revision["data"].isNull()) { errors.push_back(fieldRequired("data", "data is mandatory")); }
  if (!old.isNull() && revision["data"] != old["data"]) {
    errors.push_back(fieldInvalid("data", json::print(revision["data"]), "field is immutable"));
  }
  return errors;
}

FieldErrors checkScale(const json::Value& scale) {
  FieldErrors errors;
  checkCounts(scale["spec"], "spec", {"replicas"}, errors);
  return errors;
}

std::vector<std::string> workloadWarnings(const Resource& r, const json::Value& object) {
  std::vector<std::string> out;
  if (r.kind != "Deployment" && r.kind != "Job") { return out; }
  for (const std::string& why : dnsLabelErrors(object["metadata"]["name"].str())) {
    out.push_back(
        fmt::format("metadata.name: this is used in Pod names and hostnames, which can result in surprising "
                    "behavior; a DNS label is recommended: [{}]",
                    why));
  }
  return out;
}

}  // namespace gs::apiserver
