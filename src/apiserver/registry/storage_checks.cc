// PersistentVolumes, and what PersistentVolumeClaims (claim_checks.cc) have in common with them. They are
// kept, and bound to each other by sandbox/controllers/volumes.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/fill_in.h"
#include "apiserver/registry/kind_checks.h"
#include "apiserver/registry/pod_parts.h"
#include "apiserver/registry/storage_parts.h"
#include "kapi/quantity.h"
#include "kapi/time.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr const char* kMountOptionsNote = "volume.beta.kubernetes.io/mount-options";

// ---- what a volume is

void checkSecretReference(const Value& secret, const std::string& field, FieldErrors& errors) {
  if (!secret.isObject()) { return; }
  const auto check = [&](const char* part, Texts (*wrong)(std::string_view)) {
    const std::string at = fmt::format("{}.{}", field, part);
    if (secret[part].str().empty()) {
      errors.push_back(fieldRequired(at));
    } else {
      refuseFor(errors, at, secret[part], wrong(secret[part].str()));
    }
  };
  check("name", [](std::string_view text) { return dnsSubdomainErrors(text); });
  check("namespace", [](std::string_view text) { return dnsLabelErrors(text); });
}

void checkCsiVolume(const Value& source, const std::string& field, FieldErrors& errors) {
  checkCsiDriverName(source["driver"], field + ".driver", errors);
  if (source["volumeHandle"].str().empty()) { errors.push_back(fieldRequired(field + ".volumeHandle")); }
  for (const char* secret :
       {"controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef",
        "nodeExpandSecretRef"}) {  // nodeStageSecretRef: as it is
    checkSecretReference(source[secret], fmt::format("{}.{}", field, secret), errors);
  }
}

void checkLocal(const Value& source, const std::string& field, FieldErrors& errors) {
  if (source["path"].str().empty()) {
    errors.push_back(fieldRequired(field + ".path"));
  } else {
    refuseFor(errors, field + ".path", source["path"], backstepErrors(source["path"].str()));
  }
}

void takenAsItIs(const Value& /*source*/, const std::string& /*field*/, FieldErrors& /*errors*/) {}

struct StorageKind {
  const char* name;
  void (*check)(const Value& source, const std::string& field, FieldErrors& errors);
  bool mounts_with_options;  // an annotation may name some
};

/// In the order in which the real server looks at them. What old drivers take is not checked.
constexpr std::array<StorageKind, 22> kStorageKinds{{{"hostPath", checkHostPath, false},
                                                     {"gcePersistentDisk", takenAsItIs, true},
                                                     {"awsElasticBlockStore", takenAsItIs, true},
                                                     {"glusterfs", takenAsItIs, true},
                                                     {"flocker", takenAsItIs, false},
                                                     {"nfs", checkNfs, true},
                                                     {"rbd", takenAsItIs, true},
                                                     {"quobyte", takenAsItIs, true},
                                                     {"cephfs", takenAsItIs, true},
                                                     {"iscsi", takenAsItIs, true},
                                                     {"cinder", takenAsItIs, true},
                                                     {"fc", takenAsItIs, false},
                                                     {"flexVolume", takenAsItIs, false},
                                                     {"azureFile", takenAsItIs, true},
                                                     {"vsphereVolume", takenAsItIs, true},
                                                     {"photonPersistentDisk", takenAsItIs, true},
                                                     {"portworxVolume", takenAsItIs, false},
                                                     {"azureDisk", takenAsItIs, true},
                                                     {"scaleIO", takenAsItIs, false},
                                                     {"local", checkLocal, false},
                                                     {"storageos", takenAsItIs, false},
                                                     {"csi", checkCsiVolume, false}}};

/// One, of which what it needs is there. A second one is not looked at.
void checkStorageKind(const Value& spec, FieldErrors& errors) {
  bool any = false;
  for (const StorageKind& kind : kStorageKinds) {
    if (!spec[kind.name].isObject()) { continue; }
    const std::string field = fmt::format("spec.{}", kind.name);
    if (any) {
      errors.push_back(fieldForbidden(field, "may not specify more than 1 volume type"));
      continue;
    }
    any = true;
    kind.check(spec[kind.name], field, errors);
    if (std::string_view{kind.name} == "local" && !spec["nodeAffinity"].isObject()) {
      errors.push_back(fieldRequired("spec.nodeAffinity", "Local volume requires node affinity"));
    }
  }
  if (!any) { errors.push_back(fieldRequired("spec", "must specify a volume type")); }
}

void checkMountOptions(const Value& volume, FieldErrors& errors) {
  const bool takes_some = std::any_of(kStorageKinds.begin(), kStorageKinds.end(), [&](const auto& kind) {
    return kind.mounts_with_options && volume["spec"][kind.name].isObject();
  });
  if (takes_some || volume["metadata"]["annotations"].find(kMountOptionsNote) == nullptr) { return; }
  errors.push_back(fieldForbidden(fmt::format("metadata.annotations.{}", kMountOptionsNote),
                                  "may not specify mount options for this volume type"));
}

// ---- how much, and where

void checkCapacity(const Value& capacity, FieldErrors& errors) {
  const std::string field = "spec.capacity";
  const auto& amounts = capacity.members();
  if (amounts.empty()) { errors.push_back(fieldRequired(field)); }
  if (capacity.find("storage") == nullptr || amounts.size() > 1) {
    const std::string shown = capacity.isNull() ? "(nil)" : json::print(capacity);
    errors.push_back(fieldNotSupported(field, "core.ResourceList" + shown, {"storage"}));
  }
  for (const auto& [name, amount] : amounts) {
    const std::string at = fmt::format("{}[{}]", field, name);
    if (const auto units = kapi::unitsOf(amount).value_or(0); units < 0) {
      errors.push_back(fieldInvalid(at, Value{units}, "must be a valid resource quantity"));
    }
    checkMoreThanNone(amount, at, errors);
  }
}

void checkVolumeNodes(const Value& affinity, FieldErrors& errors) {
  const std::string field = "spec.nodeAffinity.required";
  if (!affinity.isObject()) { return; }
  if (affinity["required"].isObject()) {
    checkNodeSelector(affinity["required"], field, errors);
  } else {
    errors.push_back(fieldRequired(field, "must specify required node constraints"));
  }
}

/// What is written over is not the root of a node.
void checkRecycled(const Value& spec, FieldErrors& errors) {
  const std::filesystem::path path{spec["hostPath"]["path"].str()};
  if (spec["persistentVolumeReclaimPolicy"].str() != "Recycle" || path.lexically_normal() != "/") { return; }
  errors.push_back(fieldForbidden("spec.persistentVolumeReclaimPolicy",
                                  "may not be 'recycle' for a hostPath mount of '/'"));
}

// ---- updates

/// A Secret for growing may be added later.
Value sourceOf(const Value& spec, const char* kind, const Value& other) {
  Value source = spec[kind];
  const bool adds =
      source.isObject() && other[kind].isObject() && other[kind]["controllerExpandSecretRef"].isNull();
  if (std::string_view{kind} == "csi" && adds) { source.erase("controllerExpandSecretRef"); }
  return source;
}

void checkSameSource(const Value& spec, const Value& old, FieldErrors& errors) {
  const bool same = std::all_of(kStorageKinds.begin(), kStorageKinds.end(), [&](const auto& kind) {
    return sourceOf(spec, kind.name, old) == old[kind.name];
  });
  if (same) { return; }
  errors.push_back(fieldForbidden("spec.persistentvolumesource",
                                  "spec.persistentvolumesource is immutable after creation"));
}

/// What a label is called today that had "beta" in its name; "": it is none of these.
std::string_view todaysName(std::string_view label) {
  static const std::map<std::string_view, std::string_view> kNames{
      {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
      {"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
      {"beta.kubernetes.io/os", "kubernetes.io/os"},
      {"beta.kubernetes.io/arch", "kubernetes.io/arch"},
      {"beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"}};
  const auto at = kNames.find(label);
  return at == kNames.end() ? std::string_view{} : at->second;
}

/// Labels of `before` by the names of today, where `now` says so.
Value renamed(Value before, const Value& now) {
  if (!before["required"]["nodeSelectorTerms"].isArray()) { return before; }
  auto& terms = before.child("required").child("nodeSelectorTerms").array();
  for (std::size_t i = 0; i < terms.size(); ++i) {
    for (const char* list : {"matchExpressions", "matchFields"}) {
      if (!terms[i][list].isArray()) { continue; }
      auto& requirements = terms[i].child(list).array();
      for (std::size_t j = 0; j < requirements.size(); ++j) {
        const auto key = now["required"]["nodeSelectorTerms"].at(i)[list].at(j)["key"].str();
        const auto today = todaysName(requirements[j]["key"].str());
        if (!today.empty() && today == key) { requirements[j].set("key", today); }
      }
    }
  }
  return before;
}

void checkSameNodes(const Value& affinity, const Value& old, FieldErrors& errors) {
  if (old.isNull() || renamed(old, affinity) == affinity) { return; }
  const std::string shown =
      affinity.isNull() ? "\"null\"" : "core.VolumeNodeAffinity" + json::print(affinity);
  errors.push_back(
      fieldInvalid("nodeAffinity", shown, "field is immutable, except for updating from beta label to GA"));
}

}  // namespace

void checkAccessModes(const json::Value& spec, std::string_view detail, FieldErrors& errors) {
  const std::string field = "spec.accessModes";
  const auto& modes = spec["accessModes"].items();
  const Texts known{"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"};
  if (modes.empty()) { errors.push_back(fieldRequired(field, detail)); }
  bool of_one_pod = false;
  bool of_others = false;
  for (const Value& mode : modes) {
    checkKnown(errors, field, mode, known);
    const bool is_known = std::find(known.begin(), known.end(), mode.str()) != known.end();
    of_one_pod = of_one_pod || mode.str() == "ReadWriteOncePod";
    of_others = of_others || (is_known && mode.str() != "ReadWriteOncePod");
  }
  if (of_one_pod && of_others) {
    errors.push_back(fieldForbidden(field, "may not use ReadWriteOncePod with other access modes"));
  }
}

void checkClassAndMode(const json::Value& spec, FieldErrors& errors) {
  const auto name = spec["storageClassName"].str();
  if (!name.empty()) {
    refuseFor(errors, "spec.storageClassName", spec["storageClassName"], dnsSubdomainErrors(name));
  }
  checkKnownIfThere(errors, "spec.volumeMode", spec["volumeMode"], {"Block", "Filesystem"});
}

void checkMoreThanNone(const json::Value& amount, const std::string& field, FieldErrors& errors) {
  const auto units = kapi::unitsOf(amount);
  const bool is_more = units ? *units > 0 : !amount.str().starts_with('-');  // of more units than are counted
  if (!is_more) { errors.push_back(fieldInvalid(field, amount, "must be greater than zero")); }
}

void checkSameVolumeMode(const json::Value& spec, const json::Value& old, FieldErrors& errors) {
  if (spec["volumeMode"] == old["volumeMode"]) { return; }
  errors.push_back(fieldInvalid("volumeMode", spec["volumeMode"], "field is immutable"));
}

void dropAttributesClass(json::Value& object, const json::Value& old) {
  const char* field = "volumeAttributesClassName";
  if (!object["spec"].isObject() || !old["spec"][field].isNull()) { return; }
  object.child("spec").erase(field);
}

FieldErrors checkPersistentVolume(const json::Value& volume, const json::Value& old) {
  FieldErrors errors;
  const Value& spec = volume["spec"];
  checkAccessModes(spec, "", errors);
  checkCapacity(spec["capacity"], errors);
  checkKnown(errors, "spec.persistentVolumeReclaimPolicy", spec["persistentVolumeReclaimPolicy"],
             {"Delete", "Recycle", "Retain"});
  checkVolumeNodes(spec["nodeAffinity"], errors);
  checkStorageKind(spec, errors);
  checkRecycled(spec, errors);
  checkClassAndMode(spec, errors);
  checkMountOptions(volume, errors);
  if (old.isNull()) { return errors; }
  checkSameSource(spec, old["spec"], errors);
  checkSameVolumeMode(spec, old["spec"], errors);
  checkSameNodes(spec["nodeAffinity"], old["spec"]["nodeAffinity"], errors);
  return errors;
}

void defaultPersistentVolume(json::Value& volume) {
  ifObjectOrMissing(volume, "spec", [](Value& spec) {
    fillIn(spec, "persistentVolumeReclaimPolicy", "Retain");
    fillInMissing(spec, "volumeMode", "Filesystem");
    defaultAmounts(spec, "capacity");
    ifObject(spec, "hostPath", [](Value& path) { fillInMissing(path, "type", ""); });
  });
}

void beginStorage(const Resource& r, json::Value& object, Now now) {
  dropAttributesClass(object, {});
  if (r.namespaced) { settleDataSources(object, {}); }
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

void keepStorage(const Resource& r, const json::Value& old, json::Value& next) {
  dropAttributesClass(next, old);
  if (r.namespaced) { settleDataSources(next, old); }
}

}  // namespace gs::apiserver
