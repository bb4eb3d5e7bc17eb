// PersistentVolumeClaims: what is required of them, and what a write adds.
#include <fmt/format.h>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/fill_in.h"
#include "apiserver/registry/kind_checks.h"
#include "apiserver/registry/pod_parts.h"
#include "apiserver/registry/storage_parts.h"
#include "apiserver/registry/template_checks.h"

namespace gs::apiserver {
namespace {

using json::Object;
using json::Value;

constexpr const char* kClassNote = "volume.beta.kubernetes.io/storage-class";
constexpr const char* kClaimMayChange =
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound "
    "claims";

const Value& storageOf(const Value& amounts) {
  static const Value kNone{"0"};
  const Value* storage = amounts.find("storage");
  return storage == nullptr ? kNone : *storage;
}

// ---- where the content comes from

bool hasGroup(const Value& spec) {
  return !spec["dataSource"]["apiGroup"].isNull() || !spec["dataSourceRef"]["apiGroup"].isNull();
}

/// `any_group`: one that was wrong before may stay.
void checkDataSource(const Value& source, bool any_group, const std::string& field, FieldErrors& errors) {
  for (const char* name : {"name", "kind"}) {
    if (source[name].str().empty()) { errors.push_back(fieldRequired(fmt::format("{}.{}", field, name))); }
  }
  const auto group = source["apiGroup"].str();
  if (group.empty() && source["kind"].str() != "PersistentVolumeClaim") {
    errors.push_back(fieldInvalid(field, Value{source["kind"].str()},
                                  "must be 'PersistentVolumeClaim' when referencing the default apiGroup"));
  }
  if (!group.empty() && !any_group) {
    refuseFor(errors, field + ".apiGroup", source["apiGroup"], dnsSubdomainErrors(group));
  }
}

void checkDataSources(const Value& spec, bool any_group, FieldErrors& errors) {
  const Value& source = spec["dataSource"];
  const Value& ref = spec["dataSourceRef"];
  if (source.isObject()) { checkDataSource(source, any_group, "spec.dataSource", errors); }
  if (!ref.isObject()) { return; }
  checkDataSource(ref, any_group, "spec.dataSourceRef", errors);
  const auto ns = ref["namespace"].str();
  if (!ns.empty()) {
    refuseFor(errors, "spec.dataSourceRef.namespace", ref["namespace"], dnsLabelErrors(ns));
  }
  if (!source.isObject()) { return; }
  const std::string shown = "field.Path{name:\"dataSource\"}";
  if (!ns.empty()) {
    errors.push_back(
        fieldInvalid("spec", shown, "may not be specified when dataSourceRef.namespace is specified"));
  } else if (source["apiGroup"] != ref["apiGroup"] || source["kind"] != ref["kind"] ||
             source["name"] != ref["name"]) {
    errors.push_back(fieldInvalid("spec", shown, "must match dataSourceRef"));
  }
}

bool isClaimOrSnapshot(const Value& source) {
  const auto kind = source["kind"].str();
  const auto group = source["apiGroup"].str();
  return (kind == "PersistentVolumeClaim" && group.empty()) ||
         (kind == "VolumeSnapshot" && group == "snapshot.storage.k8s.io");
}

Value withoutNamespace(const Value& source) {
  return Object{{"apiGroup", source["apiGroup"]}, {"kind", source["kind"]}, {"name", source["name"]}};
}

// ---- updates

/// A class that stood in the annotation moves to the field.
bool movesClass(const Value& claim, const Value& old) {
  const Value& had = old["metadata"]["annotations"][kClassNote];
  const Value& has = claim["metadata"]["annotations"][kClassNote];
  return !had.isNull() && old["spec"]["storageClassName"].isNull() &&
         claim["spec"]["storageClassName"] == had && (has.isNull() || has == had);
}

/// A class may be given once to a claim that has none; `spec` is without it then.
void checkClassUpdate(const Value& claim, const Value& old, Value& spec, FieldErrors& errors) {
  if (movesClass(claim, old)) {
    spec.erase("storageClassName");
    return;
  }
  const Value& had = old["metadata"]["annotations"][kClassNote];
  const Value& has = claim["metadata"]["annotations"][kClassNote];
  if (has.str() != had.str()) {
    errors.push_back(fieldInvalid(fmt::format("metadata.annotations.{}", kClassNote), Value{has.str()},
                                  "field is immutable"));
  }
  const bool had_none = old["spec"]["storageClassName"].isNull();
  if (had_none && (had.isNull() || spec["storageClassName"] == had)) { spec.erase("storageClassName"); }
}

/// Amounts that are the same, written otherwise, are written as they were.
void writeAsBefore(Value& spec, const Value& before) {
  for (const char* part : {"limits", "requests"}) {
    if (!spec["resources"][part].isObject()) { continue; }
    for (auto& [name, amount] : spec.child("resources").child(part).object()) {
      const Value* had = before["resources"][part].find(name);
      if (had != nullptr && compareAmounts(amount, *had) == 0) { amount = *had; }
    }
  }
}

/// The spec with all that may change as it was before.
Value fixedClaimSpec(const Value& claim, const Value& old, FieldErrors& errors) {
  Value spec = claim["spec"];
  const Value& before = old["spec"];
  if (before["volumeName"].str().empty()) { spec.erase("volumeName"); }  // given once
  checkClassUpdate(claim, old, spec, errors);
  writeAsBefore(spec, before);
  const bool is_bound = claim["status"]["phase"].str() == "Bound";
  const Value* storage = before["resources"]["requests"].find("storage");
  if (is_bound && storage != nullptr && spec["resources"]["requests"].isObject()) {
    spec.child("resources").child("requests").set("storage", *storage);
  }
  return spec;
}

void checkClaimUpdate(const Value& claim, const Value& old, FieldErrors& errors) {
  if (fixedClaimSpec(claim, old, errors) != old["spec"]) {
    errors.push_back(fieldForbidden("spec", kClaimMayChange));
  }
  const Value& size = storageOf(claim["spec"]["resources"]["requests"]);
  const bool shrinks = compareAmounts(size, storageOf(old["spec"]["resources"]["requests"])) < 0;
  if (shrinks && compareAmounts(size, storageOf(old["status"]["capacity"])) <= 0) {
    errors.push_back(
        fieldForbidden("spec.resources.requests.storage", "field can not be less than status.capacity"));
  }
  checkSameVolumeMode(claim["spec"], old["spec"], errors);
}

}  // namespace

void settleDataSources(json::Value& claim, const json::Value& old) {
  if (!claim["spec"].isObject()) { return; }
  Value& spec = claim.child("spec");
  const bool had_ref = !old["spec"]["dataSourceRef"].isNull();
  // Of another namespace: behind a feature gate that is off.
  if (!had_ref && !spec["dataSourceRef"]["namespace"].str().empty()) { spec.erase("dataSourceRef"); }
  const bool had_any = had_ref || !old["spec"]["dataSource"].isNull();
  if (!had_any && spec["dataSourceRef"].isNull() && !isClaimOrSnapshot(spec["dataSource"])) {
    spec.erase("dataSource");
  }
  const Value source = spec["dataSource"];
  const Value ref = spec["dataSourceRef"];
  if (source.isObject() && ref.isNull()) { spec.set("dataSourceRef", withoutNamespace(source)); }
  if (ref.isObject() && source.isNull() && ref["namespace"].str().empty()) {
    spec.set("dataSource", withoutNamespace(ref));
  }
}

FieldErrors checkPersistentVolumeClaim(const json::Value& claim, const json::Value& old) {
  FieldErrors errors;
  const Value& spec = claim["spec"];
  append(errors, checkRequirements(spec["selector"], "spec.selector"));
  checkAccessModes(spec, "at least 1 access mode is required", errors);
  const std::string field = "spec.resources[storage]";
  if (const Value* storage = spec["resources"]["requests"].find("storage")) {
    checkMoreThanNone(*storage, field, errors);
  } else {
    errors.push_back(fieldRequired(field));
  }
  checkClassAndMode(spec, errors);
  checkDataSources(spec, hasGroup(old["spec"]), errors);
  if (!old.isNull()) { checkClaimUpdate(claim, old, errors); }
  return errors;
}

void defaultPersistentVolumeClaim(json::Value& claim) {
  ifObjectOrMissing(claim, "spec", [](Value& spec) {
    fillInMissing(spec, "volumeMode", "Filesystem");
    ifObject(spec, "resources", [](Value& resources) {
      defaultAmounts(resources, "limits");
      defaultAmounts(resources, "requests");
    });
  });
}

}  // namespace gs::apiserver
