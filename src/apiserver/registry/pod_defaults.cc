// What the API server adds to a pod: defaults, a first status.
// More comes from admission (apiserver/admission/plugins.h).
#include <fmt/format.h>

#include <algorithm>

#include "apiserver/registry/fill_in.h"
#include "apiserver/registry/kind_checks.h"
#include "apiserver/registry/pod_parts.h"
#include "kapi/quantity.h"
#include "kapi/time.h"

namespace gs::apiserver {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr std::int64_t kReadableByAll = 0644;

/// The tag is "latest", or there is neither tag nor digest.
bool isLatest(std::string_view image) {
  if (image.find('@') != std::string_view::npos) { return false; }
  const auto slash = image.rfind('/');
  const auto colon = image.rfind(':');
  const bool tagged = colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash);
  return !tagged || image.substr(colon + 1) == "latest";
}

/// Rounded up to thousandths, in the form in which it was written.
Value inMilli(const Value& amount) {
  const auto text = kapi::canonicalQuantity(amount.isString() ? amount.str() : json::print(amount));
  if (!text) { return amount; }  // refused when it is decoded
  const bool exponent = text->ends_with("e-9") || text->ends_with("e-6");
  if (!exponent && !text->ends_with('n') && !text->ends_with('u')) { return amount; }
  const auto milli = kapi::quantityMilli(*text);
  if (!milli) { return amount; }
  const auto rounded = kapi::canonicalQuantity(fmt::format("{}{}", *milli, exponent ? "e-3" : "m"));
  return rounded ? Value{*rounded} : amount;
}

}  // namespace

void defaultAmounts(json::Value& owner, const char* part) {
  if (!owner[part].isObject()) { return; }
  for (auto& [name, amount] : owner.child(part).object()) { amount = inMilli(amount); }
}

namespace {

// ---- containers

void defaultHttpGet(Value& get) {
  fillIn(get, "path", "/");
  fillIn(get, "scheme", "HTTP");
}

void defaultProbe(Value& probe) {
  fillIn(probe, "timeoutSeconds", 1);
  fillIn(probe, "periodSeconds", 10);
  fillIn(probe, "successThreshold", 1);
  fillIn(probe, "failureThreshold", 3);
  ifObject(probe, "httpGet", defaultHttpGet);
  ifObject(probe, "grpc", [](Value& grpc) { fillInMissing(grpc, "service", ""); });
}

void defaultFieldRef(Value& ref) { fillIn(ref, "apiVersion", "v1"); }

void defaultContainer(Value& container) {
  const auto image = container["image"].str();
  fillIn(container, "imagePullPolicy", !image.empty() && isLatest(image) ? "Always" : "IfNotPresent");
  fillIn(container, "terminationMessagePath", "/dev/termination-log");
  fillIn(container, "terminationMessagePolicy", "File");
  fillInMissing(container, "resources", Object{});
  for (const char* probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    ifObject(container, probe, defaultProbe);
  }
  ifObject(container, "lifecycle", [](Value& lifecycle) {
    for (const char* when : {"postStart", "preStop"}) {
      ifObject(lifecycle, when, [](Value& handler) { ifObject(handler, "httpGet", defaultHttpGet); });
    }
  });
  ifObject(container, "resources", [](Value& resources) {
    defaultAmounts(resources, "limits");
    defaultAmounts(resources, "requests");
  });
  eachObject(container, "ports", [](Value& port) { fillIn(port, "protocol", "TCP"); });
  eachObject(container, "env", [](Value& variable) {
    ifObject(variable, "valueFrom", [](Value& from) { ifObject(from, "fieldRef", defaultFieldRef); });
  });
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

/// On the node's network a port of the container is one of the node.
void defaultHostPorts(Value& container) {
  eachObject(container, "ports", [](Value& port) {
    if (port["containerPort"].isInt()) { fillIn(port, "hostPort", port["containerPort"]); }
  });
}

void eachContainer(Value& spec, void (*change)(Value&)) {
  for (const char* part : {"containers", "initContainers"}) { eachObject(spec, part, change); }
}

// ---- volumes

void defaultFiles(Value& source) {
  eachObject(source, "items", [](Value& file) { ifObject(file, "fieldRef", defaultFieldRef); });
}

void defaultMode(Value& source) { fillInMissing(source, "defaultMode", kReadableByAll); }

void defaultProjection(Value& source) {
  ifObject(source, "downwardAPI", defaultFiles);
  ifObject(source, "serviceAccountToken",
           [](Value& token) { fillInMissing(token, "expirationSeconds", 3600); });
}

void defaultVolume(Value& volume) {
  const auto& members = volume.members();
  const bool is_something = std::any_of(members.begin(), members.end(), [](const auto& member) {
    return member.first != "name" && !member.second.isNull();
  });
  if (!is_something) { volume.set("emptyDir", Object{}); }
  for (const char* kind : {"secret", "configMap", "downwardAPI", "projected"}) {
    ifObject(volume, kind, defaultMode);
  }
  ifObject(volume, "hostPath", [](Value& path) { fillInMissing(path, "type", ""); });
  ifObject(volume, "downwardAPI", defaultFiles);
  ifObject(volume, "projected", [](Value& all) { eachObject(all, "sources", defaultProjection); });
  ifObject(volume, "ephemeral", [](Value& ephemeral) {
    ifObject(ephemeral, "volumeClaimTemplate", [](Value& claim) {
      ifObject(claim, "spec", [](Value& spec) { fillInMissing(spec, "volumeMode", "Filesystem"); });
    });
  });
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

// ---- a new pod

/// Requirements that say the same as the keys: "as my own label".
void addLabelKeys(Value& term, const char* keys, const char* op, const Value& labels) {
  for (const Value& key : term[keys].items()) {
    const Value* value = labels.find(key.str());
    if (value == nullptr) { continue; }
    term.child("labelSelector")
        .child("matchExpressions")
        .array()
        .emplace_back(Object{{"key", key}, {"operator", op}, {"values", Array{*value}}});
  }
}

void applyLabelKeys(Value& term, const Value& labels) {
  if (!term["labelSelector"].isObject()) { return; }
  const Value keys = term;  // its lists of keys are read while it changes
  for (const auto& [list, op] :
       {std::pair{"matchLabelKeys", "In"}, std::pair{"mismatchLabelKeys", "NotIn"}}) {
    if (!keys[list].items().empty()) { addLabelKeys(term, list, op, labels); }
  }
}

void applyAllLabelKeys(Value& pod) {
  if (!pod["spec"]["affinity"].isObject()) { return; }
  const Value labels = pod["metadata"]["labels"];
  Value& affinity = pod.child("spec").child("affinity");
  for (const char* kind : {"podAffinity", "podAntiAffinity"}) {
    ifObject(affinity, kind, [&](Value& terms) {
      eachObject(terms, "requiredDuringSchedulingIgnoredDuringExecution",
                 [&](Value& term) { applyLabelKeys(term, labels); });
      eachObject(terms, "preferredDuringSchedulingIgnoredDuringExecution", [&](Value& weighted) {
        ifObject(weighted, "podAffinityTerm", [&](Value& term) { applyLabelKeys(term, labels); });
      });
    });
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
  fillIn(spec, "restartPolicy", "Always");
  fillIn(spec, "dnsPolicy", "ClusterFirst");
  fillInMissing(spec, "terminationGracePeriodSeconds", 30);
  fillIn(spec, "schedulerName", "default-scheduler");
  // Two names of one field: the newer one wins, and answers have both.
  if (!spec["serviceAccount"].str().empty()) { fillIn(spec, "serviceAccountName", spec["serviceAccount"]); }
  if (!spec["serviceAccountName"].str().empty()) { spec.set("serviceAccount", spec["serviceAccountName"]); }
  fillInMissing(spec, "securityContext", Object{});
  defaultAmounts(spec, "overhead");
  eachObject(spec, "volumes", defaultVolume);
  eachContainer(spec, defaultContainer);
}

void defaultPod(json::Value& pod) {
  if (!pod["spec"].isObject() && !pod["spec"].isNull()) { return; }  // refused when it is decoded
  Value& spec = pod.child("spec");
  defaultPodSpec(spec);
  fillInMissing(spec, "enableServiceLinks", true);
  if (spec["terminationGracePeriodSeconds"].intOr(0) < 0) { spec.set("terminationGracePeriodSeconds", 1); }
  defaultIps(pod);
  eachContainer(spec, defaultRequests);
  if (spec["hostNetwork"].boolOr(false)) { eachContainer(spec, defaultHostPorts); }
}

void beginPod(json::Value& pod, Now now) {
  pod.set("status", Object{{"phase", "Pending"}, {"qosClass", qosClass(pod)}});
  applyAllLabelKeys(pod);
  settleAppArmor(pod);
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
