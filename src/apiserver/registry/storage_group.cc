// The kinds of storage.k8s.io: classes of volumes, and what CSI drivers say of themselves, of nodes, of the
// room that is left, and of volumes that are attached. What of a volume an attachment holds itself is taken
// as it is.
#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/fill_in.h"
#include "apiserver/registry/kind_checks.h"
#include "apiserver/registry/pod_parts.h"
#include "apiserver/registry/template_checks.h"
#include "base/ascii.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr const char* kStays = "field is immutable";

FieldError tooLongBy(const std::string& field, std::size_t most) {
  return {field, "TooLong", fmt::format("Too long: may not be more than {} bytes", most)};
}

std::size_t textBytes(const Value& texts) {
  std::size_t out = 0;
  for (const auto& [key, value] : texts.members()) { out += key.size() + value.str().size(); }
  return out;
}

// ---- StorageClasses

void checkProvisioner(const Value& provisioner, FieldErrors& errors) {
  if (provisioner.str().empty()) {
    errors.push_back(fieldRequired("provisioner"));
    return;
  }
  const std::string lower = inLowerCase(provisioner.str());
  refuseFor(errors, "provisioner", Value{lower}, qualifiedNameErrors(lower));
}

void checkParameters(const Value& parameters, FieldErrors& errors) {
  constexpr std::size_t kMost = 512;
  constexpr std::size_t kMostBytes = std::size_t{256} << 10;
  if (parameters.members().size() > kMost) {
    errors.push_back(tooLongBy("parameters", kMost));
    return;
  }
  if (parameters.find("") != nullptr) {
    errors.push_back(fieldInvalid("parameters", Value{""}, "field can not be empty."));
  }
  if (textBytes(parameters) > kMostBytes) { errors.push_back(tooLongBy("parameters", kMostBytes)); }
}

using Topology = std::map<std::string, std::set<std::string>>;

Topology checkTopology(const Value& term, const std::string& field, FieldErrors& errors) {
  Topology out;
  const auto& all = term["matchLabelExpressions"].items();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string at = fmt::format("{}.matchLabelExpressions[{}]", field, i);
    const auto& values = all[i]["values"].items();
    if (values.empty()) { errors.push_back(fieldRequired(at + ".values")); }
    std::set<std::string> seen;
    for (std::size_t j = 0; j < values.size(); ++j) {
      if (seen.emplace(values[j].str()).second) { continue; }
      errors.push_back(fieldDuplicate(fmt::format("{}.values[{}]", at, j), goQuote(values[j].str())));
    }
    const std::string key{all[i]["key"].str()};
    refuseFor(errors, at + ".key", Value{key}, qualifiedNameErrors(key));
    if (out.contains(key)) { errors.push_back(fieldDuplicate(at + ".key", goQuote(key))); }
    out[key] = std::move(seen);
  }
  return out;
}

/// One that says nothing counts as there before, as in a real server.
void checkTopologies(const Value& terms, FieldErrors& errors) {
  std::set<Topology> seen{{}};
  for (std::size_t i = 0; i < terms.items().size(); ++i) {
    const std::string at = fmt::format("allowedTopologies[{}]", i);
    if (seen.insert(checkTopology(terms.items()[i], at, errors)).second) { continue; }
    errors.push_back(fieldDuplicate(at + ".matchLabelExpressions", goQuote("")));
  }
}

FieldErrors checkStorageClass(const Value& made, const Value& old) {
  FieldErrors errors;
  checkProvisioner(made["provisioner"], errors);
  checkParameters(made["parameters"], errors);
  if (!made["reclaimPolicy"].str().empty()) {
    checkKnown(errors, "reclaimPolicy", made["reclaimPolicy"], {"Delete", "Retain"});
  }
  checkKnown(errors, "volumeBindingMode", made["volumeBindingMode"], {"Immediate", "WaitForFirstConsumer"});
  checkTopologies(made["allowedTopologies"], errors);
  if (old.isNull()) { return errors; }
  for (const char* field : {"parameters", "provisioner", "reclaimPolicy"}) {
    if (made[field] == old[field]) { continue; }
    errors.push_back(fieldForbidden(field, fmt::format("updates to {} are forbidden.", field)));
  }
  if (made["volumeBindingMode"] != old["volumeBindingMode"]) {
    errors.push_back(fieldInvalid("volumeBindingMode", made["volumeBindingMode"], kStays));
  }
  return errors;
}

// ---- what drivers say

void checkNodeDriver(const Value& driver, const std::string& field, FieldErrors& errors) {
  constexpr std::size_t kLongestId = 256;
  checkCsiDriverName(driver["name"], field + ".name", errors);
  const auto id = driver["nodeID"].str();
  if (id.empty()) { errors.push_back(fieldRequired(field + ".nodeID")); }
  if (id.size() > kLongestId) {
    errors.push_back(fieldInvalid(field + ".nodeID", driver["nodeID"],
                                  fmt::format("must be {} characters or less", kLongestId)));
  }
  checkNotNegative(errors, field + ".allocatable.count", driver["allocatable"]["count"]);
}

void checkTopologyKeys(const Value& driver, const std::string& field, FieldErrors& errors) {
  std::set<std::string_view> seen;
  for (const Value& key : driver["topologyKeys"].items()) {
    if (key.str().empty()) { errors.push_back(fieldRequired(field)); }
    if (!seen.insert(key.str()).second) { errors.push_back(fieldDuplicate(field, goQuote(key.str()))); }
    refuseFor(errors, field, key, qualifiedNameErrors(key.str()));
  }
}

FieldErrors checkCsiNode(const Value& node, const Value& old) {
  FieldErrors errors;
  std::map<std::string_view, const Value*> drivers;
  const auto& all = node["spec"]["drivers"].items();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string at = fmt::format("spec.drivers[{}]", i);
    checkNodeDriver(all[i], at, errors);
    const auto name = all[i]["name"].str();
    if (!drivers.emplace(name, &all[i]).second) {
      errors.push_back(fieldDuplicate(at + ".name", goQuote(name)));
    }
    checkTopologyKeys(all[i], at, errors);
  }
  for (const Value& had : old["spec"]["drivers"].items()) {
    const auto at = drivers.find(had["name"].str());
    if (at == drivers.end() || *at->second == had) { continue; }
    errors.push_back(fieldInvalid("spec.drivers", json::print(*at->second), kStays));
  }
  return errors;
}

void checkTokens(const Value& tokens, FieldErrors& errors) {
  constexpr std::int64_t kLeast = 600;
  constexpr std::int64_t kMost = std::int64_t{1} << 32;
  std::set<std::string_view> audiences;
  for (std::size_t i = 0; i < tokens.items().size(); ++i) {
    const Value& token = tokens.items()[i];
    const std::string at = fmt::format("spec.tokenRequests[{}]", i);
    if (!audiences.insert(token["audience"].str()).second) {
      errors.push_back(fieldDuplicate(at + ".audience", goQuote(token["audience"].str())));
      continue;
    }
    const Value& seconds = token["expirationSeconds"];
    if (seconds.isNull()) { continue; }
    const std::string field = at + ".expirationSeconds";
    if (seconds.intOr(0) < kLeast) {
      errors.push_back(fieldInvalid(field, seconds, "may not specify a duration less than 10 minutes"));
    }
    if (seconds.intOr(0) > kMost) {
      errors.push_back(fieldInvalid(field, seconds, "may not specify a duration larger than 2^32 seconds"));
    }
  }
}

FieldErrors checkCsiDriver(const Value& driver, const Value& old) {
  FieldErrors errors;
  const Value& spec = driver["spec"];
  checkKnownIfThere(errors, "spec.fsGroupPolicy", spec["fsGroupPolicy"],
                    {"File", "None", "ReadWriteOnceWithFSType"});
  checkTokens(spec["tokenRequests"], errors);
  for (const Value& mode : spec["volumeLifecycleModes"].items()) {
    checkKnown(errors, "spec.volumeLifecycleModes", mode, {"Persistent", "Ephemeral"});
  }
  if (const Value& period = spec["nodeAllocatableUpdatePeriodSeconds"];
      period.isInt() && period.intOr(0) < 10) {
    errors.push_back(fieldInvalid("spec.nodeAllocatableUpdatePeriodSeconds", period,
                                  "must be greater than or equal to 10 seconds"));
  }
  if (old.isNull()) { return errors; }
  if (spec["attachRequired"] != old["spec"]["attachRequired"]) {
    // so it is called there
    errors.push_back(fieldInvalid("spec.attachedRequired", spec["attachRequired"], kStays));
  }
  const Value& modes = spec["volumeLifecycleModes"];
  if (modes != old["spec"]["volumeLifecycleModes"]) {
    errors.push_back(
        fieldInvalid("spec.volumeLifecycleModes", goTexts(modes, "storage.VolumeLifecycleMode"), kStays));
  }
  return errors;
}

FieldErrors checkCapacityLeft(const Value& left, const Value& old) {
  FieldErrors errors = checkRequirements(left["nodeTopology"], "nodeTopology");
  const Value& of = left["storageClassName"];
  refuseFor(errors, "storageClassName", of, dnsSubdomainErrors(of.str()));
  if (!left["capacity"].isNull() && compareAmounts(left["capacity"], Value{"0"}) < 0) {
    errors.push_back(fieldInvalid("capacity", left["capacity"], "must be greater than or equal to 0"));
  }
  if (old.isNull()) { return errors; }
  if (left["nodeTopology"] != old["nodeTopology"]) {
    errors.push_back(fieldInvalid("nodeTopology", goSelector(left["nodeTopology"]), kStays));
  }
  if (of != old["storageClassName"]) { errors.push_back(fieldInvalid("storageClassName", of, kStays)); }
  return errors;
}

// ---- attachments

void checkAttached(const Value& source, FieldErrors& errors) {
  const std::string field = "spec.source";
  const char* one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
  const Value& name = source["persistentVolumeName"];
  const bool is_inline = source["inlineVolumeSpec"].isObject();
  if (!is_inline && name.isNull()) {
    errors.push_back(fieldRequired(field, one));
  } else if (is_inline && !name.isNull()) {
    errors.push_back(fieldForbidden(field, one));
  } else if (!is_inline && name.str().empty()) {
    errors.push_back(
        fieldRequired(field + ".persistentVolumeName", "must specify non empty persistentVolumeName"));
  }
}

void checkAttachStatus(const Value& status, FieldErrors& errors) {
  constexpr std::size_t kMostBytes = std::size_t{256} << 10;
  constexpr std::size_t kLongestMessage = 1024;
  if (textBytes(status["attachmentMetadata"]) > kMostBytes) {
    errors.push_back(tooLongBy("status.attachmentMetadata", kMostBytes));
  }
  for (const char* error : {"attachError", "detachError"}) {
    const std::string at = fmt::format("status.{}", error);
    if (status[error]["message"].str().size() > kLongestMessage) {
      errors.push_back(tooLongBy(at + ".message", kMostBytes));  // of another limit, as a real server says it
    }
    if (status[error]["errorCode"].intOr(0) < 0) {
      errors.push_back(fieldInvalid(at + ".errorCode", status[error]["errorCode"],
                                    "must be between 0 and 2147483647, inclusive"));
    }
  }
}

FieldErrors checkAttachment(const Value& attachment, const Value& old) {
  FieldErrors errors;
  const Value& spec = attachment["spec"];
  if (spec["attacher"].str().empty()) { errors.push_back(fieldRequired("spec.attacher")); }
  checkAttached(spec["source"], errors);
  refuseFor(errors, "spec.nodeName", spec["nodeName"], dnsSubdomainErrors(spec["nodeName"].str()));
  checkAttachStatus(attachment["status"], errors);
  if (!old.isNull()) {
    if (spec != old["spec"]) { errors.push_back(fieldInvalid("spec", json::print(spec), kStays)); }
    return errors;
  }
  checkCsiDriverName(spec["attacher"], "spec.attacher", errors);
  const Value& volume = spec["source"]["persistentVolumeName"];
  if (!volume.isNull()) {
    refuseFor(errors, "spec.source.persistentVolumeName", volume, dnsSubdomainErrors(volume.str()));
  }
  return errors;
}

/// Behind a feature gate that 1.33 has off: kept where it was there before.
void dropDriverPeriod(Value& driver, const Value& old) {
  const char* field = "nodeAllocatableUpdatePeriodSeconds";
  if (!driver["spec"].isObject() || !old["spec"][field].isNull()) { return; }
  driver.child("spec").erase(field);
}

}  // namespace

FieldErrors checkStorageGroup(const Resource& r, const json::Value& object, const json::Value& old) {
  if (r.kind == "StorageClass") { return checkStorageClass(object, old); }
  if (r.kind == "CSINode") { return checkCsiNode(object, old); }
  if (r.kind == "CSIDriver") { return checkCsiDriver(object, old); }
  if (r.kind == "CSIStorageCapacity") { return checkCapacityLeft(object, old); }
  return checkAttachment(object, old);
}

void defaultStorageGroup(const Resource& r, json::Value& object) {
  if (r.kind == "StorageClass") {
    fillInMissing(object, "reclaimPolicy", "Delete");
    fillInMissing(object, "volumeBindingMode", "Immediate");
  }
  if (r.kind != "CSIDriver") { return; }
  ifObjectOrMissing(object, "spec", [](Value& spec) {
    fillInMissing(spec, "attachRequired", true);
    for (const char* off : {"podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"}) {
      fillInMissing(spec, off, false);
    }
    fillInMissing(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
    const Value& modes = spec["volumeLifecycleModes"];
    const bool has_none = modes.isNull() || (modes.isArray() && modes.items().empty());
    if (has_none) { spec.set("volumeLifecycleModes", json::Array{"Persistent"}); }
  });
}

void beginStorageGroup(const Resource& r, json::Value& object) {
  if (r.kind == "CSIDriver") { dropDriverPeriod(object, {}); }
  if (r.has_status) { object.set("status", json::Object{{"attached", false}}); }
}

void keepStorageGroup(const Resource& r, const json::Value& old, json::Value& next) {
  if (r.kind != "CSIDriver") { return; }
  dropDriverPeriod(next, old);
  if (next["spec"] == old["spec"]) { return; }  // else counted from the first change on, as by a real server
  next.child("metadata").set("generation", old["metadata"]["generation"].intOr(0) + 1);
}

}  // namespace gs::apiserver
