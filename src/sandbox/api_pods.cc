// What the API server adds to a new pod.
#include "sandbox/api.h"

namespace gs::sandbox {
namespace {

void setDefault(json::Value& object, const char* key, json::Value value) {
  if (object.find(key) == nullptr) { object.set(key, std::move(value)); }
}

json::Value notReadyToleration(const char* key) {
  return json::Object{
      {"key", key}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", 300}};
}

void defaultContainer(json::Value& container) {
  setDefault(container, "imagePullPolicy", "IfNotPresent");
  setDefault(container, "terminationMessagePath", "/dev/termination-log");
  setDefault(container, "terminationMessagePolicy", "File");
  json::Value& resources = container.child("resources");
  const json::Object limits = resources["limits"].members();
  for (const auto& [name, amount] : limits) { setDefault(resources.child("requests"), name.c_str(), amount); }
}

}  // namespace

void defaultPod(json::Value& pod) {
  json::Value& spec = pod.child("spec");
  setDefault(spec, "restartPolicy", "Always");
  setDefault(spec, "dnsPolicy", "ClusterFirst");
  setDefault(spec, "terminationGracePeriodSeconds", 30);
  setDefault(spec, "schedulerName", "default-scheduler");
  setDefault(spec, "securityContext", json::Object{});
  setDefault(spec, "enableServiceLinks", true);
  setDefault(spec, "serviceAccountName", "default");
  setDefault(spec, "serviceAccount", "default");
  setDefault(spec, "priority", 0);
  setDefault(spec, "preemptionPolicy", "PreemptLowerPriority");
  auto& tolerations = spec.child("tolerations").array();
  tolerations.push_back(notReadyToleration("node.kubernetes.io/not-ready"));
  tolerations.push_back(notReadyToleration("node.kubernetes.io/unreachable"));
  for (const char* kind : {"containers", "initContainers"}) {
    if (spec.find(kind) == nullptr || !spec[kind].isArray()) { continue; }
    for (auto& container : spec.child(kind).array()) {
      if (container.isObject()) { defaultContainer(container); }
    }
  }
  pod.set("status", json::Object{{"phase", "Pending"}, {"qosClass", "BestEffort"}});
}

}  // namespace gs::sandbox
