// PersistentVolumes and PersistentVolumeClaims: kept, and bound to each other by
// sandbox/controllers/volumes.h.
#include <fmt/format.h>

#include <array>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/fill_in.h"
#include "apiserver/registry/kind_checks.h"
#include "kapi/time.h"

namespace gs::apiserver {
namespace {

using json::Value;

const Texts kAccessModes{"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"};
const Texts kReclaimPolicies{"Delete", "Recycle", "Retain"};
constexpr const char* kStorage = "storage";
constexpr std::array kSources{"gcePersistentDisk",
                              "awsElasticBlockStore",
                              "hostPath",
                              "glusterfs",
                              "nfs",
                              "rbd",
                              "iscsi",
                              "cinder",
                              "cephfs",
                              "fc",
                              "flocker",
                              "flexVolume",
                              "azureFile",
                              "vsphereVolume",
                              "quobyte",
                              "azureDisk",
                              "photonPersistentDisk",
                              "portworxVolume",
                              "scaleIO",
                              "local",
                              "storageos",
                              "csi"};

void checkModes(const Value& spec, std::string_view detail, FieldErrors& errors) {
  const auto& modes = spec["accessModes"].items();
  if (modes.empty()) { errors.push_back(fieldRequired("spec.accessModes", detail)); }
  for (const Value& mode : modes) { checkKnown(errors, "spec.accessModes", mode, kAccessModes); }
}

void checkClass(const Value& spec, FieldErrors& errors) {
  const auto name = spec["storageClassName"].str();
  if (name.empty()) { return; }
  refuseFor(errors, "spec.storageClassName", spec["storageClassName"], dnsSubdomainErrors(name));
}

void checkSource(const Value& spec, FieldErrors& errors) {
  std::size_t sources = 0;
  for (const char* source : kSources) {
    if (spec[source].isNull()) { continue; }
    if (++sources > 1) {
      errors.push_back(
          fieldForbidden(fmt::format("spec.{}", source), "may not specify more than 1 volume type"));
    }
  }
  if (sources == 0) { errors.push_back(fieldRequired("spec", "must specify a volume type")); }
  const Value& csi = spec["csi"];
  if (!csi.isObject()) { return; }
  for (const char* field : {"driver", "volumeHandle"}) {
    if (csi[field].str().empty()) { errors.push_back(fieldRequired(fmt::format("spec.csi.{}", field))); }
  }
}

void refuseChange(const Value& now, const Value& old, const char* field, const char* what,
                  FieldErrors& errors) {
  if (now == old) { return; }
  errors.push_back(fieldForbidden(field, what));
}

/// Where it is given up or taken once, nothing else changes with it.
Value withoutBinding(const Value& claim_spec) {
  Value out = claim_spec;
  for (const char* field : {"volumeName", "resources", "volumeAttributesClassName"}) { out.erase(field); }
  return out;
}

}  // namespace

FieldErrors checkPersistentVolume(const json::Value& volume, const json::Value& old) {
  FieldErrors errors;
  const Value& spec = volume["spec"];
  checkModes(spec, "", errors);
  if (spec["capacity"].members().empty()) {
    errors.push_back(fieldRequired("spec.capacity"));
  } else if (spec["capacity"].find(kStorage) == nullptr || spec["capacity"].members().size() > 1) {
    errors.push_back(fieldNotSupported("spec.capacity", spec["capacity"], {kStorage}));
  }
  checkSource(spec, errors);
  checkKnown(errors, "spec.persistentVolumeReclaimPolicy", spec["persistentVolumeReclaimPolicy"],
             kReclaimPolicies);
  checkClass(spec, errors);
  if (old.isNull()) { return errors; }
  for (const char* source : kSources) {
    refuseChange(spec[source], old["spec"][source], "spec.persistentvolumesource",
                 "spec.persistentvolumesource is immutable after creation", errors);
  }
  return errors;
}

FieldErrors checkPersistentVolumeClaim(const json::Value& claim, const json::Value& old) {
  FieldErrors errors;
  const Value& spec = claim["spec"];
  checkModes(spec, "at least 1 access mode is required", errors);
  if (spec["resources"]["requests"].find(kStorage) == nullptr) {
    errors.push_back(fieldRequired("spec.resources[storage]"));
  }
  checkClass(spec, errors);
  if (old.isNull()) { return errors; }
  const Value& before = old["spec"];
  const bool is_bound_now = before["volumeName"].str().empty();
  refuseChange(withoutBinding(spec), withoutBinding(before), "spec",
               "spec is immutable after creation except resources.requests and volumeAttributesClassName for "
               "bound claims",
               errors);
  if (!is_bound_now) {
    refuseChange(
        spec["volumeName"], before["volumeName"], "spec",
        "spec is immutable after creation except resources.requests and volumeAttributesClassName for "
        "bound claims",
        errors);
  }
  return errors;
}

void defaultPersistentVolume(json::Value& volume) {
  ifObject(volume, "spec", [](Value& spec) {
    fillIn(spec, "persistentVolumeReclaimPolicy", "Retain");
    fillInMissing(spec, "volumeMode", "Filesystem");
  });
}

void defaultPersistentVolumeClaim(json::Value& claim) {
  ifObject(claim, "spec", [](Value& spec) { fillInMissing(spec, "volumeMode", "Filesystem"); });
}

void beginStorage(const Resource& r, json::Value& object, Now now) {
  Value status = json::Object{{"phase", "Pending"}};
  if (!r.namespaced) { status.set("lastPhaseTransitionTime", kapi::timeText(now.wall)); }
  object.set("status", std::move(status));
  // Admission StorageObjectInUseProtection.
  const char* protection = r.namespaced ? "kubernetes.io/pvc-protection" : "kubernetes.io/pv-protection";
  Value& meta = object.child("metadata");
  json::Array finalizers = meta["finalizers"].items();
  for (const Value& one : finalizers) {
    if (one.str() == protection) { return; }
  }
  finalizers.push_back(Value{protection});
  meta.set("finalizers", std::move(finalizers));
}

}  // namespace gs::apiserver
