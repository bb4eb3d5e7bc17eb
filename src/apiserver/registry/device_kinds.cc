// The kinds of resource.k8s.io: what is required of each, and what a write adds or drops.
#include <fmt/format.h>

#include <array>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/device_parts.h"
#include "apiserver/registry/fill_in.h"
#include "apiserver/registry/kind_checks.h"
#include "base/ascii.h"
#include "kapi/time.h"

namespace gs::apiserver {
namespace {

using json::Value;

// ---- defaults

void defaultTolerations(Value& owner) {
  eachObject(owner, "tolerations", [](Value& toleration) { fillIn(toleration, "operator", "Equal"); });
}

void defaultRequest(Value& request) {
  fillIn(request, "allocationMode", "ExactCount");
  if (request["allocationMode"].str() == "ExactCount") { fillIn(request, "count", 1); }
  defaultTolerations(request);
}

void defaultClaimSpec(Value& owner) {
  ifObject(owner, "spec", [](Value& spec) {
    ifObject(spec, "devices", [](Value& devices) {
      eachObject(devices, "requests", [](Value& request) {
        ifObject(request, "exactly", defaultRequest);
        eachObject(request, "firstAvailable", defaultRequest);
      });
    });
  });
}

void defaultAllocation(Value& claim) {
  ifObject(claim, "status", [](Value& status) {
    ifObject(status, "allocation", [](Value& allocation) {
      ifObject(allocation, "devices",
               [](Value& devices) { eachObject(devices, "results", defaultTolerations); });
    });
  });
}

// ---- what is behind feature gates that are off, and dropped

/// And no requests are null, as they come back from etcd.
void dropOfClaimSpec(Value& owner) {
  ifObject(owner, "spec", [](Value& spec) {
    ifObject(spec, "devices", [](Value& devices) {
      if (devices["requests"].items().empty()) { devices.set("requests", nullptr); }
      eachObject(devices, "requests", [](Value& request) {
        ifObject(request, "exactly", [](Value& exactly) { exactly.erase("derivedAttributes"); });
        eachObject(request, "firstAvailable", [](Value& one) { one.erase("derivedAttributes"); });
      });
    });
  });
}

void dropOfDevice(Value& device) {
  device.erase("nodeAllocatableResources");
  eachObject(device, "consumesCounters", [](Value& use) { use.erase("compatibilityGroups"); });
  ifObject(device, "attributes", [](Value& attributes) {
    for (auto& [name, attribute] : attributes.object()) {
      for (const char* list : {"ints", "bools", "strings", "versions"}) {
        if (attribute.isObject()) { attribute.erase(list); }
      }
    }
  });
}

void dropGated(const Resource& r, Value& object) {
  if (r.kind == "ResourceClaim") { dropOfClaimSpec(object); }
  if (r.kind == "ResourceClaimTemplate") { ifObject(object, "spec", dropOfClaimSpec); }
  if (r.kind != "ResourceSlice") { return; }
  ifObject(object, "spec", [](Value& spec) {
    spec.erase("partitionTypeAttribute");
    spec.erase("skipNodeOperations");
    eachObject(spec, "devices", dropOfDevice);
  });
}

// ---- checks

/// Labels and annotations are all that a template gives its claims.
void checkClaimMeta(const Value& meta, FieldErrors& errors) {
  const std::string field = "spec.metadata";
  append(errors, checkAnnotations(meta["annotations"], field + ".annotations"));
  append(errors, checkLabels(meta["labels"], field + ".labels"));
  for (const auto& [name, value] : meta.members()) {
    if (name == "annotations" || name == "labels" || value.isNull()) { continue; }
    errors.push_back(fieldForbidden(fmt::format("{}.{}", field, name), "cannot be set"));
  }
}

FieldErrors checkClaim(const Value& claim, const Value& old) {
  FieldErrors errors;
  if (old.isNull()) {
    checkClaimSpec(claim["spec"], "spec", errors);
    return errors;
  }
  if (claim["spec"] != old["spec"]) { errors.push_back(fieldInvalid("spec", Value{}, "field is immutable")); }
  if (claim["status"] != old["status"]) { checkClaimStatus(claim, old, errors); }
  return errors;
}

FieldErrors checkClaimTemplate(const Value& object, const Value& old) {
  FieldErrors errors;
  const Value& spec = object["spec"];
  checkClaimMeta(spec["metadata"], errors);
  checkClaimSpec(spec["spec"], "spec.spec", errors);
  if (!old.isNull() && spec != old["spec"]) {
    errors.push_back(fieldInvalid("spec", goDeviceJson(spec), "field is immutable"));
  }
  return errors;
}

FieldErrors checkDeviceClass(const Value& device_class) {
  FieldErrors errors;
  const Value& spec = device_class["spec"];
  checkDeviceSelectors(spec["selectors"], "spec.selectors", errors);
  if (!hasTooMany(errors, "spec.config", spec["config"], kMostConfigs)) {
    for (std::size_t i = 0; i < spec["config"].items().size(); ++i) {
      checkOpaqueConfig(spec["config"].items()[i]["opaque"], fmt::format("spec.config[{}].opaque", i),
                        errors);
    }
  }
  const Value& resource = spec["extendedResourceName"];
  if (!resource.isNull()) { checkExtendedNameTagged(resource, "spec.extendedResourceName", errors); }
  return errors;
}

FieldErrors checkTaintRule(const Value& rule, const Value& old) {
  FieldErrors errors;
  const Value& devices = rule["spec"]["deviceSelector"];
  const std::string field = "spec.deviceSelector";
  if (!devices["driver"].isNull()) { checkDriverName(devices["driver"], field + ".driver", errors); }
  if (!devices["pool"].isNull()) { checkPoolName(devices["pool"], field + ".pool", errors); }
  if (!devices["device"].isNull()) { checkDeviceLabel(devices["device"], field + ".device", errors); }
  checkDeviceTaint(rule["spec"]["taint"], old["spec"]["taint"]["effect"], "spec.taint", errors);
  if (rule["status"] != old["status"]) {
    checkConditions(rule["status"]["conditions"], "status.conditions", errors);
  }
  return errors;
}

}  // namespace

FieldErrors checkDeviceKind(const Resource& r, const json::Value& object, const json::Value& old) {
  if (r.kind == "ResourceClaim") { return checkClaim(object, old); }
  if (r.kind == "ResourceClaimTemplate") { return checkClaimTemplate(object, old); }
  if (r.kind == "DeviceClass") { return checkDeviceClass(object); }
  if (r.kind == "DeviceTaintRule") { return checkTaintRule(object, old); }
  FieldErrors errors;
  checkResourceSlice(object["spec"], old["spec"], errors);
  return errors;
}

void defaultDeviceKind(const Resource& r, json::Value& object) {
  if (r.kind == "ResourceClaim") {
    defaultClaimSpec(object);
    defaultAllocation(object);
  }
  if (r.kind == "ResourceClaimTemplate") { ifObject(object, "spec", defaultClaimSpec); }
}

void defaultTaintTimes(const Resource& r, json::Value& object, Now now) {
  if (!r.isDevices()) { return; }
  const auto give = [&](Value& taint) { fillInMissing(taint, "timeAdded", kapi::timeText(now.wall)); };
  ifObject(object, "spec", [&](Value& spec) {
    if (r.kind == "DeviceTaintRule") { ifObject(spec, "taint", give); }
    if (r.kind == "ResourceSlice") {
      eachObject(spec, "devices", [&](Value& device) { eachObject(device, "taints", give); });
    }
  });
}

void beginDeviceKind(const Resource& r, json::Value& object) {
  dropGated(r, object);
  if (r.has_status) { object.set("status", json::Object{}); }
}

void keepDeviceKind(const Resource& r, json::Value& next) { dropGated(r, next); }

void keepTaintTime(const Resource& r, const json::Value& old, json::Value& next, Now now) {
  if (!r.isDevices()) { return; }
  if (r.kind != "DeviceTaintRule") { return; }
  const Value& had = old["spec"]["taint"];
  const Value& taint = next["spec"]["taint"];
  if (taint["effect"] == had["effect"] || taint["timeAdded"] != had["timeAdded"]) { return; }
  next.child("spec").child("taint").set("timeAdded", kapi::timeText(now.wall));
}

std::vector<std::string> deviceWarnings(const Resource& r, const json::Value& object) {
  const auto driver = object["spec"]["driver"].str();
  if (r.kind != "ResourceSlice" || inLowerCase(driver) == driver) { return {}; }
  return {fmt::format("spec.driver: driver names should be lowercase; {} contains uppercase characters",
                      goQuote(driver))};
}

}  // namespace gs::apiserver
