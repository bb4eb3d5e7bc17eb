// Volumes of pods, and where containers mount them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/pod_parts.h"

namespace gs::apiserver {
namespace {

using json::Value;
using Names = std::set<std::string, std::less<>>;

constexpr std::int64_t kMostOfAMode = 0777;

void checkMode(const Value& mode, const std::string& field, FieldErrors& errors) {
  if (mode.isNull() || (mode.intOr(0) >= 0 && mode.intOr(0) <= kMostOfAMode)) { return; }
  errors.push_back(fieldInvalid(field, mode, "must be a number between 0 and 0777 (octal), both inclusive"));
}

void needed(const Value& object, const char* name, const std::string& field, FieldErrors& errors) {
  if (object[name].str().empty()) { errors.push_back(fieldRequired(fmt::format("{}.{}", field, name))); }
}

void checkKeys(const Value& items, const std::string& field, FieldErrors& errors) {
  for (std::size_t i = 0; i < items.items().size(); ++i) {
    const Value& item = items.items()[i];
    const std::string at = fmt::format("{}[{}]", field, i);
    needed(item, "key", at, errors);
    needed(item, "path", at, errors);
    refuseFor(errors, at + ".path", item["path"], keyPathErrors(item["path"].str()));
    checkMode(item["mode"], at + ".mode", errors);
  }
}

void checkDownwardFile(const Value& file, const std::string& field, FieldErrors& errors) {
  needed(file, "path", field, errors);
  refuseFor(errors, field + ".path", file["path"], keyPathErrors(file["path"].str()));
  if (file["fieldRef"].isObject()) {
    checkFieldRef(file["fieldRef"], field + ".fieldRef", true, errors);
    if (file["resourceFieldRef"].isObject()) {
      errors.push_back(fieldInvalid(field, Value{"resource"},
                                    "fieldRef and resourceFieldRef can not be specified simultaneously"));
    }
  } else if (file["resourceFieldRef"].isObject()) {
    checkResourceRef(file["resourceFieldRef"], field + ".resourceFieldRef", true, errors);
  } else {
    errors.push_back(fieldRequired(field, "one of fieldRef and resourceFieldRef is required"));
  }
  checkMode(file["mode"], field + ".mode", errors);
}

// ---- what a volume is

void checkEmptyDir(const Value& source, const std::string& field, FieldErrors& errors) {
  if (source["sizeLimit"].str().starts_with('-')) {
    errors.push_back(
        fieldForbidden(field + ".sizeLimit", "SizeLimit field must be a valid resource quantity"));
  }
}

void checkSecretVolume(const Value& source, const std::string& field, FieldErrors& errors) {
  needed(source, "secretName", field, errors);
  checkMode(source["defaultMode"], field + ".defaultMode", errors);
  checkKeys(source["items"], field + ".items", errors);
}

void checkConfigMapVolume(const Value& source, const std::string& field, FieldErrors& errors) {
  needed(source, "name", field, errors);
  checkMode(source["defaultMode"], field + ".defaultMode", errors);
  checkKeys(source["items"], field + ".items", errors);
}

void checkDownward(const Value& source, const std::string& field, FieldErrors& errors) {
  checkMode(source["defaultMode"], field + ".defaultMode", errors);
  for (const Value& file : source["items"].items()) { checkDownwardFile(file, field, errors); }
}

void checkClaimVolume(const Value& source, const std::string& field, FieldErrors& errors) {
  needed(source, "claimName", field, errors);
}

void checkCsi(const Value& source, const std::string& field, FieldErrors& errors) {
  checkCsiDriverName(source["driver"], field + ".driver", errors);
  const Value& secret = source["nodePublishSecretRef"];
  if (!secret.isObject()) { return; }
  if (secret["name"].str().empty()) {
    errors.push_back(fieldRequired(field + ".nodePublishSecretRef.name"));
  } else {
    refuseFor(errors, field + ".name", secret["name"], dnsSubdomainErrors(secret["name"].str()));
  }
}

void checkToken(const Value& token, const std::string& field, const std::string& of_path,
                FieldErrors& errors) {
  constexpr std::int64_t kLeast = 600;
  constexpr std::int64_t kMost = std::int64_t{1} << 32;
  const auto seconds = token["expirationSeconds"].intOr(0);
  if (seconds < kLeast) {
    errors.push_back(fieldInvalid(field + ".expirationSeconds", Value{seconds},
                                  "may not specify a duration less than 10 minutes"));
  }
  if (seconds > kMost) {
    errors.push_back(fieldInvalid(field + ".expirationSeconds", Value{seconds},
                                  "may not specify a duration larger than 2^32 seconds"));
  }
  if (token["path"].str().empty()) {
    errors.push_back(fieldRequired(of_path));
  } else {
    refuseFor(errors, of_path, token["path"], keyPathErrors(token["path"].str()));
  }
}

/// Two files of one path. `shown`: as what the message names.
void checkPaths(const Value& items, const Value& shown, const std::string& field, Names& paths,
                FieldErrors& errors) {
  for (const Value& item : items.items()) {
    const auto path = item["path"].str();
    if (path.empty() || paths.emplace(path).second) { continue; }
    const Value& named = shown.isNull() ? item["path"] : shown;
    errors.push_back(fieldInvalid(field, named, "conflicting duplicate paths"));
  }
}

void checkProjection(const Value& source, const std::string& at, const std::string& field, Names& paths,
                     FieldErrors& errors) {
  int given = 0;
  for (const char* kind : {"secret", "configMap"}) {
    if (!source[kind].isObject()) { continue; }
    ++given;
    const std::string here = fmt::format("{}.{}", at, kind);
    needed(source[kind], "name", here, errors);
    checkKeys(source[kind]["items"], here + ".items", errors);
    const Value& name = source[kind]["name"];
    checkPaths(source[kind]["items"], name.isNull() ? Value{""} : name, field, paths, errors);
  }
  if (source["downwardAPI"].isObject()) {
    ++given;
    for (const Value& file : source["downwardAPI"]["items"].items()) {
      checkDownwardFile(file, at + ".downwardAPI", errors);
    }
    checkPaths(source["downwardAPI"]["items"], {}, field, paths, errors);
  }
  if (source["serviceAccountToken"].isObject()) {
    ++given;
    checkToken(source["serviceAccountToken"], at + ".serviceAccountToken", field + ".path", errors);
  }
  if (given > 1) {
    errors.push_back(fieldForbidden(at, "may not specify more than 1 volume type per source"));
  }
}

void checkProjected(const Value& source, const std::string& field, FieldErrors& errors) {
  checkMode(source["defaultMode"], field + ".defaultMode", errors);
  Names paths;
  for (std::size_t i = 0; i < source["sources"].items().size(); ++i) {
    checkProjection(source["sources"].items()[i], fmt::format("{}.sources[{}]", field, i), field, paths,
                    errors);
  }
}

void checkEphemeral(const Value& source, const std::string& field, FieldErrors& errors) {
  if (!source["volumeClaimTemplate"].isObject()) {
    errors.push_back(fieldRequired(field + ".volumeClaimTemplate"));
  }
}

struct VolumeKind {
  const char* name;
  const char* as_second;  // as a message names it that refuses a second one
  void (*check)(const Value& source, const std::string& field, FieldErrors& errors);
};

void anything(const Value& /*source*/, const std::string& /*field*/, FieldErrors& /*errors*/) {}

/// In the order in which the real server looks at them. What old drivers take is not checked.
constexpr std::array<VolumeKind, 29> kVolumeKinds{
    {{"emptyDir", "emptyDir", checkEmptyDir},
     {"hostPath", "hostPath", checkHostPath},
     {"gitRepo", "gitRepo", anything},
     {"gcePersistentDisk", "gcePersistentDisk", anything},
     {"awsElasticBlockStore", "awsElasticBlockStore", anything},
     {"secret", "secret", checkSecretVolume},
     {"nfs", "nfs", checkNfs},
     {"iscsi", "iscsi", anything},
     {"glusterfs", "glusterfs", anything},
     {"flocker", "flocker", anything},
     {"persistentVolumeClaim", "persistentVolumeClaim", checkClaimVolume},
     {"rbd", "rbd", anything},
     {"cinder", "cinder", anything},
     {"cephfs", "cephFS", anything},
     {"quobyte", "quobyte", anything},
     {"downwardAPI", "downwarAPI", checkDownward},
     {"fc", "fc", anything},
     {"flexVolume", "flexVolume", anything},
     {"configMap", "configMap", checkConfigMapVolume},
     {"azureFile", "azureFile", anything},
     {"vsphereVolume", "vsphereVolume", anything},
     {"photonPersistentDisk", "photonPersistentDisk", anything},
     {"portworxVolume", "portworxVolume", anything},
     {"azureDisk", "azureDisk", anything},
     {"storageos", "storageos", anything},
     {"projected", "projected", checkProjected},
     {"scaleIO", "scaleIO", anything},
     {"csi", "csi", checkCsi},
     {"ephemeral", "ephemeral", checkEphemeral}}};

void checkSource(const Value& volume, const std::string& field, FieldErrors& errors) {
  bool any = false;
  for (const VolumeKind& kind : kVolumeKinds) {
    const Value& source = volume[kind.name];
    if (!source.isObject()) { continue; }
    if (any) {
      errors.push_back(fieldForbidden(fmt::format("{}.{}", field, kind.as_second),
                                      "may not specify more than 1 volume type"));
    } else {
      kind.check(source, fmt::format("{}.{}", field, kind.name), errors);
    }
    any = true;
  }
  if (!any && !volume["image"].isObject()) {
    errors.push_back(fieldRequired(field, "must specify a volume type"));
  }
}

// ---- mounts

void checkPropagation(const Value& mount, bool privileged, const std::string& field, FieldErrors& errors) {
  const Value& propagation = mount["mountPropagation"];
  const std::string here = field + ".mountPropagation";
  checkKnownIfThere(errors, here, propagation, {"Bidirectional", "HostToContainer", "None"});
  if (propagation.str() == "Bidirectional" && !privileged) {
    errors.push_back(
        fieldForbidden(here, "Bidirectional mount propagation is available only to privileged containers"));
  }
}

void checkRecursiveReadOnly(const Value& mount, const std::string& field, FieldErrors& errors) {
  const auto how = mount["recursiveReadOnly"].str();
  const std::string here = field + ".recursiveReadOnly";
  if (how == "Enabled" || how == "IfPossible") {
    if (!mount["readOnly"].boolOr(false)) {
      errors.push_back(fieldForbidden(here, "may only be specified when readOnly is true"));
    }
    const Value& propagation = mount["mountPropagation"];
    if (!propagation.isNull() && propagation.str() != "None") {
      errors.push_back(
          fieldForbidden(here, "may only be specified when mountPropagation is None or not specified"));
    }
  } else {
    checkKnownIfThere(errors, here, mount["recursiveReadOnly"], {"Disabled", "Enabled", "IfPossible"});
  }
}

/// Some messages name the list, not the mount: `list`.
void checkMount(const PodAround& pod, const Value& mount, const std::string& at, const std::string& list,
                FieldErrors& errors) {
  const auto name = mount["name"].str();
  needed(mount, "name", at, errors);
  if (!pod.volumes.contains(name)) { errors.push_back(fieldNotFound(at + ".name", mount["name"])); }
  needed(mount, "mountPath", at, errors);
  const auto sub_path = mount["subPath"].str();
  if (!sub_path.empty()) {
    refuseFor(errors, list + ".subPath", mount["subPath"], descendingPathErrors(sub_path));
  }
  const auto expression = mount["subPathExpr"].str();
  if (!expression.empty()) {
    if (!sub_path.empty()) {
      errors.push_back(fieldInvalid(at + ".subPathExpr", mount["subPathExpr"],
                                    "subPathExpr and subPath are mutually exclusive"));
    }
    refuseFor(errors, list + ".subPathExpr", mount["subPathExpr"], descendingPathErrors(expression));
  }
  checkRecursiveReadOnly(mount, list, errors);
}

/// Block devices are of claims.
void checkDevice(const PodAround& pod, const Value& device, const std::string& at, FieldErrors& errors) {
  const auto name = device["name"].str();
  needed(device, "name", at, errors);
  const bool there = pod.volumes.contains(name);
  if (!there) { errors.push_back(fieldNotFound(at + ".name", device["name"])); }
  for (const Value& volume : pod.spec["volumes"].items()) {
    const bool of_claim = volume["persistentVolumeClaim"].isObject() || volume["ephemeral"].isObject();
    if (!there || volume["name"].str() != name || of_claim) { continue; }
    errors.push_back(
        fieldInvalid(at + ".name", device["name"],
                     "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"));
    break;
  }
  needed(device, "devicePath", at, errors);
}

Value memberText(const Value& object, const char* member) {
  return object[member].isNull() ? Value{""} : object[member];
}

/// Names and paths of a list of a container's. Of two with one name the last one counts.
struct Taken {
  std::map<std::string_view, std::string_view> path_of;
  std::set<std::string_view> paths;
};

Taken takenBy(const Value& list, const char* path) {
  Taken out;
  for (const Value& one : list.items()) { out.path_of[one["name"].str()] = one[path].str(); }
  for (const auto& [name, at] : out.path_of) { out.paths.insert(at); }
  return out;
}

/// None of `list`, whose paths are in `path`, has a name or a path of `others`.
void checkApartFrom(const Taken& others, const char* of, const Value& list, const char* path,
                    const std::string& field, FieldErrors& errors) {
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    const Value& one = list.items()[i];
    const std::string at = fmt::format("{}[{}]", field, i);
    if (others.path_of.contains(one["name"].str())) {
      errors.push_back(fieldInvalid(at + ".name", memberText(one, "name"),
                                    fmt::format("must not already exist in {}", of)));
    }
    if (others.paths.contains(one[path].str())) {
      errors.push_back(fieldInvalid(at + "." + path, memberText(one, path),
                                    fmt::format("must not already exist as a path in {}", of)));
    }
  }
}

/// Mounts and devices of one container, which share names and paths with nothing.
void checkApart(const Value& container, const std::string& field, FieldErrors& errors) {
  const Value& mounts = container["volumeMounts"];
  const Value& devices = container["volumeDevices"];
  checkApartFrom(takenBy(devices, "devicePath"), "volumeDevices", mounts, "mountPath",
                 field + ".volumeMounts", errors);
  checkApartFrom(takenBy(mounts, "mountPath"), "volumeMounts", devices, "devicePath",
                 field + ".volumeDevices", errors);
}

void checkDevices(const PodAround& pod, const Value& container, const std::string& field,
                  FieldErrors& errors) {
  const auto& devices = container["volumeDevices"].items();
  Names names;
  Names paths;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string at = fmt::format("{}.volumeDevices[{}]", field, i);
    checkDevice(pod, devices[i], at, errors);
    const auto name = devices[i]["name"].str();
    const auto path = devices[i]["devicePath"].str();
    if (!name.empty() && !names.emplace(name).second) {
      errors.push_back(fieldInvalid(at + ".name", devices[i]["name"], "must be unique"));
    }
    if (paths.contains(path)) {
      errors.push_back(
          fieldInvalid(at + ".devicePath", memberText(devices[i], "devicePath"), "must be unique"));
    }
    if (!backstepErrors(path).empty()) {
      errors.push_back(
          fieldInvalid(at + ".devicePath", devices[i]["devicePath"], "can not contain backsteps ('..')"));
    } else {
      paths.emplace(path);
    }
  }
  if (!devices.empty()) { checkApart(container, field, errors); }
}

}  // namespace

std::set<std::string, std::less<>> checkVolumes(const json::Value& volumes, const std::string& field,
                                                FieldErrors& errors) {
  Names valid;
  for (std::size_t i = 0; i < volumes.items().size(); ++i) {
    const Value& volume = volumes.items()[i];
    const std::string at = fmt::format("{}[{}]", field, i);
    const auto name = volume["name"].str();
    FieldErrors wrong;
    checkSource(volume, at, wrong);
    if (name.empty()) {
      wrong.push_back(fieldRequired(at + ".name"));
    } else {
      refuseFor(wrong, at + ".name", volume["name"], dnsLabelErrors(name));
    }
    if (valid.contains(name)) { wrong.push_back(fieldDuplicate(at + ".name", goQuote(name))); }
    if (wrong.empty()) { valid.emplace(name); }
    append(errors, std::move(wrong));
  }
  return valid;
}

void checkMounts(const PodAround& pod, const json::Value& container, const std::string& field,
                 FieldErrors& errors) {
  const auto& mounts = container["volumeMounts"].items();
  const bool privileged = container["securityContext"]["privileged"].boolOr(false);
  const std::string list = field + ".volumeMounts";
  Names paths;
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", list, i);
    checkMount(pod, mounts[i], at, list, errors);
    if (!paths.emplace(mounts[i]["mountPath"].str()).second) {
      const Value& path = mounts[i]["mountPath"];
      errors.push_back(fieldInvalid(at + ".mountPath", path.isNull() ? Value{""} : path, "must be unique"));
    }
    checkPropagation(mounts[i], privileged, list, errors);
  }
  checkDevices(pod, container, field, errors);
}

}  // namespace gs::apiserver
