// What the API server adds to Deployments, ReplicaSets, StatefulSets, DaemonSets and Jobs.
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>

#include "apiserver/registry/fill_in.h"
#include "apiserver/registry/kind_checks.h"

namespace gs::apiserver {
namespace {

using json::Object;
using json::Value;

constexpr const char* kTemplateGeneration = "deprecated.daemonset.template.generation";
constexpr const char* kControllerUid = "batch.kubernetes.io/controller-uid";

void orDefault(Value& object, const char* key, Value value) {
  if (object[key].isNull()) { object.set(key, std::move(value)); }
}

/// Of the wrong type: refused when it is decoded.
bool isMissingOrObject(const Value& v) { return v.isNull() || v.isObject(); }

void defaultTemplate(Value& spec) {
  if (!isMissingOrObject(spec["template"]) || !isMissingOrObject(spec["template"]["spec"])) { return; }
  Value& pod = spec.child("template").child("spec");
  if (pod["containers"].isArray() && pod["containers"].items().empty()) { pod.erase("containers"); }
  defaultPodSpec(pod);
}

void defaultDeployment(Value& spec) {
  orDefault(spec, "replicas", 1);
  orDefault(spec, "revisionHistoryLimit", 10);
  orDefault(spec, "progressDeadlineSeconds", 600);
  if (!isMissingOrObject(spec["strategy"])) { return; }
  Value& strategy = spec.child("strategy");
  fillIn(strategy, "type", "RollingUpdate");
  if (strategy["type"].str() != "RollingUpdate" || !isMissingOrObject(strategy["rollingUpdate"])) { return; }
  orDefault(strategy.child("rollingUpdate"), "maxUnavailable", "25%");
  orDefault(strategy.child("rollingUpdate"), "maxSurge", "25%");
}

void defaultClaims(Value& spec) {
  if (!spec["volumeClaimTemplates"].isArray()) { return; }
  for (Value& claim : spec.child("volumeClaimTemplates").array()) {
    if (!claim.isObject() || !isMissingOrObject(claim["spec"]) || !isMissingOrObject(claim["status"])) {
      continue;
    }
    claim.set("kind", "PersistentVolumeClaim");
    claim.set("apiVersion", "v1");
    orDefault(claim.child("spec"), "volumeMode", "Filesystem");
    orDefault(claim.child("status"), "phase", "Pending");
  }
}

void defaultStatefulSet(Value& spec) {
  orDefault(spec, "replicas", 1);
  fillIn(spec, "podManagementPolicy", "OrderedReady");
  orDefault(spec, "revisionHistoryLimit", 10);
  defaultClaims(spec);
  if (isMissingOrObject(spec["persistentVolumeClaimRetentionPolicy"])) {
    Value& retention = spec.child("persistentVolumeClaimRetentionPolicy");
    fillIn(retention, "whenDeleted", "Retain");
    fillIn(retention, "whenScaled", "Retain");
  }
  if (!isMissingOrObject(spec["updateStrategy"])) { return; }
  Value& strategy = spec.child("updateStrategy");
  const bool named = !strategy["type"].str().empty();
  fillIn(strategy, "type", "RollingUpdate");
  if (strategy["type"].str() != "RollingUpdate" || !isMissingOrObject(strategy["rollingUpdate"])) { return; }
  if (named && strategy["rollingUpdate"].isNull()) { return; }  // only what has no type gets all
  orDefault(strategy.child("rollingUpdate"), "partition", 0);
}

void defaultDaemonSet(Value& spec) {
  orDefault(spec, "revisionHistoryLimit", 10);
  if (!isMissingOrObject(spec["updateStrategy"])) { return; }
  Value& strategy = spec.child("updateStrategy");
  fillIn(strategy, "type", "RollingUpdate");
  const bool rolls = strategy["type"].str() == "RollingUpdate";
  if (!isMissingOrObject(strategy["rollingUpdate"]) || (!rolls && strategy["rollingUpdate"].isNull())) {
    return;
  }
  orDefault(strategy.child("rollingUpdate"), "maxUnavailable", rolls ? 1 : 0);
  orDefault(strategy.child("rollingUpdate"), "maxSurge", 0);
}

void labelAsTemplate(Value& job) {
  const Value& labels = job["spec"]["template"]["metadata"]["labels"];
  const bool has_labels =
      job["metadata"]["labels"].isObject() && !job["metadata"]["labels"].members().empty();
  if (has_labels || !labels.isObject() || labels.members().empty()) { return; }
  job.child("metadata").set("labels", labels);
}

void defaultJob(Value& job) {
  Value& spec = job.child("spec");
  if (spec["completions"].isNull() && spec["parallelism"].isNull()) { spec.set("completions", 1); }
  orDefault(spec, "parallelism", 1);
  orDefault(spec, "backoffLimit",
            spec["backoffLimitPerIndex"].isNull() ? 6 : std::numeric_limits<std::int32_t>::max());
  orDefault(spec, "completionMode", "NonIndexed");
  orDefault(spec, "suspend", false);
  orDefault(spec, "manualSelector", false);
  orDefault(spec, "podReplacementPolicy",
            spec["podFailurePolicy"].isNull() ? "TerminatingOrFailed" : "Failed");
  ifObject(spec, "podFailurePolicy", [](Value& policy) {
    if (policy["rules"].isArray() && policy["rules"].items().empty()) { policy.erase("rules"); }
    eachObject(policy, "rules", [](Value& rule) {
      eachObject(rule, "onPodConditions", [](Value& pattern) { fillIn(pattern, "status", "True"); });
    });
  });
  if (isMissingOrObject(job["metadata"])) { labelAsTemplate(job); }
}

}  // namespace

void defaultWorkload(const Resource& r, json::Value& object) {
  if (!isMissingOrObject(object["spec"])) { return; }
  Value& spec = object.child("spec");
  defaultTemplate(spec);
  if (r.kind == "Deployment") { defaultDeployment(spec); }
  if (r.kind == "ReplicaSet") { orDefault(spec, "replicas", 1); }
  if (r.kind == "StatefulSet") { defaultStatefulSet(spec); }
  if (r.kind == "DaemonSet") { defaultDaemonSet(spec); }
  if (r.kind == "Job") { defaultJob(object); }
}

void keepWorkload(const Resource& r, const json::Value& old, json::Value& next) {
  if (r.kind != "DaemonSet") { return; }
  const auto had = old["metadata"]["annotations"][kTemplateGeneration].str();
  std::int64_t number = 1;
  (void)std::from_chars(had.data(), had.data() + had.size(), number);
  if (old["spec"]["template"] != next["spec"]["template"]) { ++number; }
  next.child("metadata").child("annotations").set(kTemplateGeneration, std::to_string(number));
}

/// A job selects its pods by its uid, unless its selector is made by hand.
void beginWorkload(const Resource& r, json::Value& object) {
  Value status = Object{};
  if (r.kind == "ReplicaSet" || r.kind == "StatefulSet") { status.set("replicas", 0); }
  if (r.kind == "StatefulSet") { status.set("availableReplicas", 0); }
  if (r.kind == "DaemonSet") {
    for (const char* count :
         {"currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"}) {
      status.set(count, 0);
    }
    orDefault(object.child("metadata").child("annotations"), kTemplateGeneration, "1");
  }
  object.set("status", std::move(status));
  if (r.kind != "Job" || object["spec"]["manualSelector"].boolOr(false)) { return; }
  const bool labelled_alike =
      object["metadata"]["labels"] == object["spec"]["template"]["metadata"]["labels"];
  const bool had_labels = object["spec"]["template"]["metadata"]["labels"].isObject();
  const Value uid = object["metadata"]["uid"];
  const Value name = object["metadata"]["name"];
  Value& spec = object.child("spec");
  orDefault(spec.child("selector").child("matchLabels"), kControllerUid, uid);
  Value& labels = spec.child("template").child("metadata").child("labels");
  orDefault(labels, kControllerUid, uid);
  orDefault(labels, "controller-uid", uid);
  orDefault(labels, "batch.kubernetes.io/job-name", name);
  orDefault(labels, "job-name", name);
  if (labelled_alike && had_labels) { object.child("metadata").set("labels", labels); }
}

}  // namespace gs::apiserver
