// What the API server adds to a pod: defaults, a first status.
// More comes from admission (admission/plugins.h).
#include "apiserver/registry/kind_checks.h"
#include "kapi/quantity.h"
#include "kapi/time.h"

namespace gs::apiserver {
namespace {

using json::Array;
using json::Object;
using json::Value;

void setDefault(Value& object, const char* key, Value value) {
  if (object[key].isNull()) { object.set(key, std::move(value)); }
}

/// The tag is "latest", or there is neither tag nor digest.
bool isLatest(std::string_view image) {
  if (image.find('@') != std::string_view::npos) { return false; }
  const auto slash = image.rfind('/');
  const auto colon = image.rfind(':');
  const bool tagged = colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash);
  return !tagged || image.substr(colon + 1) == "latest";
}

void defaultProbe(Value& container, const char* name) {
  if (!container[name].isObject()) { return; }
  Value& probe = container.child(name);
  setDefault(probe, "timeoutSeconds", 1);
  setDefault(probe, "periodSeconds", 10);
  setDefault(probe, "successThreshold", 1);
  setDefault(probe, "failureThreshold", 3);
  if (probe["httpGet"].isObject()) {
    setDefault(probe.child("httpGet"), "path", "/");
    setDefault(probe.child("httpGet"), "scheme", "HTTP");
  }
}

/// Limits are requests, where none are given.
void defaultRequests(Value& container) {
  if (!container["resources"].isObject()) { return; }
  Value& resources = container.child("resources");
  if (!resources["limits"].isObject() ||
      !(resources["requests"].isNull() || resources["requests"].isObject())) {
    return;
  }
  const Object limits = resources["limits"].members();
  for (const auto& [name, amount] : limits) {
    if (resources["requests"].find(name) == nullptr) { resources.child("requests").set(name, amount); }
  }
}

void defaultContainer(Value& container) {
  setDefault(container, "imagePullPolicy", isLatest(container["image"].str()) ? "Always" : "IfNotPresent");
  setDefault(container, "terminationMessagePath", "/dev/termination-log");
  setDefault(container, "terminationMessagePolicy", "File");
  setDefault(container, "resources", Object{});
  for (const char* probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    defaultProbe(container, probe);
  }
  if (container["ports"].isArray()) {
    for (Value& port : container.child("ports").array()) {
      if (port.isObject()) { setDefault(port, "protocol", "TCP"); }
    }
  }
  if (!container["env"].isArray()) { return; }
  for (Value& variable : container.child("env").array()) {
    if (!variable["valueFrom"]["fieldRef"].isObject()) { continue; }
    setDefault(variable.child("valueFrom").child("fieldRef"), "apiVersion", "v1");
  }
}

void eachContainer(Value& spec, void (*change)(Value&)) {
  for (const char* part : {"containers", "initContainers"}) {
    if (!spec[part].isArray()) { continue; }
    for (Value& container : spec.child(part).array()) {
      if (container.isObject()) { change(container); }
    }
  }
}

/// One address stands in two fields.
void defaultIps(Value& pod) {
  const Value ip = pod["status"]["podIP"];
  const Value first = pod["status"]["podIPs"].at(0)["ip"];
  if (!ip.str().empty() && pod["status"]["podIPs"].isNull()) {
    pod.child("status").set("podIPs", Array{Value{Object{{"ip", ip}}}});
  } else if (ip.isNull() && !first.str().empty()) {
    pod.child("status").set("podIP", first);
  }
}

}  // namespace

const char* qosClass(const json::Value& pod) {
  bool any = false;
  bool guaranteed = true;
  for (const char* part : {"containers", "initContainers"}) {
    for (const Value& c : pod["spec"][part].items()) {
      const Value& resources = c["resources"];
      for (const char* name : {"cpu", "memory"}) {
        const auto limit = kapi::milliOf(resources["limits"][name]).value_or(0);
        const auto request = kapi::milliOf(resources["requests"][name]).value_or(0);
        any = any || limit > 0 || request > 0;
        guaranteed = guaranteed && limit > 0 && limit == request;
      }
    }
  }
  return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

void defaultPodSpec(json::Value& spec) {
  setDefault(spec, "restartPolicy", "Always");
  setDefault(spec, "dnsPolicy", "ClusterFirst");
  setDefault(spec, "terminationGracePeriodSeconds", 30);
  setDefault(spec, "schedulerName", "default-scheduler");
  setDefault(spec, "securityContext", Object{});
  eachContainer(spec, defaultContainer);
}

void defaultPod(json::Value& pod) {
  if (!pod["spec"].isObject() && !pod["spec"].isNull()) { return; }  // refused when it is decoded
  Value& spec = pod.child("spec");
  defaultPodSpec(spec);
  setDefault(spec, "enableServiceLinks", true);
  defaultIps(pod);
  eachContainer(spec, defaultRequests);
}

void beginPod(json::Value& pod, Now now) {
  pod.set("status", Object{{"phase", "Pending"}, {"qosClass", qosClass(pod)}});
  if (pod["spec"]["schedulingGates"].items().empty()) { return; }
  pod.child("status").set(
      "conditions",
      Array{Value{Object{{"type", "PodScheduled"},
                         {"status", "False"},
                         {"lastProbeTime", nullptr},
                         {"lastTransitionTime", kapi::timeText(now.wall)},
                         {"reason", "SchedulingGated"},
                         {"message", "Scheduling is blocked due to non-empty scheduling gates"}}}});
}

}  // namespace gs::apiserver
