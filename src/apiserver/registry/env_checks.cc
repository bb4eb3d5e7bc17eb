// Variables of containers, and where their values come from.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/pod_parts.h"
#include "base/ascii.h"

namespace gs::apiserver {
namespace {

using json::Value;

const Texts kResourcePaths{"limits.cpu",   "limits.ephemeral-storage",   "limits.memory",
                           "requests.cpu", "requests.ephemeral-storage", "requests.memory"};
const Texts kEnvFields{
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs",     "status.podIP", "status.podIPs"};
const Texts kVolumeFields{"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace",
                          "metadata.uid"};
/// What a path may name at all, whatever it is used for.
const Texts kFields{"metadata.annotations", "metadata.labels",    "metadata.name",
                    "metadata.namespace",   "metadata.uid",       "spec.nodeName",
                    "spec.restartPolicy",   "spec.schedulerName", "spec.serviceAccountName",
                    "status.phase",         "status.hostIP",      "status.hostIPs",
                    "status.podIP",         "status.podIPs"};

bool isIn(const Texts& texts, std::string_view text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

/// "metadata.labels['a']" -> metadata.labels, a.
std::optional<std::pair<std::string_view, std::string_view>> subscripted(std::string_view path) {
  if (!path.ends_with("']")) { return std::nullopt; }
  path.remove_suffix(2);
  const auto open = path.find("['");
  if (open == std::string_view::npos || open == 0) { return std::nullopt; }
  return std::pair{path.substr(0, open), path.substr(open + 2)};
}

/// Why the API knows no such path; "": it does.
std::string whyUnknownPath(std::string_view version, std::string_view path) {
  if (version != "v1") { return fmt::format("unsupported pod version: {}", version); }
  if (const auto parts = subscripted(path)) {
    if (parts->first == "metadata.annotations" || parts->first == "metadata.labels") { return {}; }
    return fmt::format("field label does not support subscript: {}", path);
  }
  if (path == "spec.host" || isIn(kFields, path)) { return {}; }
  return fmt::format("field label not supported: {}", path);
}

/// The unit of a resource's file or variable.
void checkDivisor(std::string_view resource, const Value& divisor, const std::string& field,
                  FieldErrors& errors) {
  static const Texts kBytes{"1",   "1k",  "1M",  "1G",  "1T",  "1P", "1E",
                            "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"};
  constexpr const char* kBytesText = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei";
  const auto unit = divisor.str();
  if (unit.empty() || unit == "0") { return; }
  const auto what = resource.substr(std::min(resource.find('.') + 1, resource.size()));
  const bool is_cpu = what == "cpu";
  const char* name = what == "memory"                 ? "memory"
                     : what == "ephemeral-storage"    ? "local ephemeral storage"
                     : what.starts_with("hugepages-") ? "hugepages"
                                                      : nullptr;
  if (is_cpu && unit != "1m" && unit != "1") {
    errors.push_back(fieldInvalid(field, Value{resource},
                                  "only divisor's values 1m and 1 are supported with the cpu resource"));
  } else if (!is_cpu && name != nullptr && !isIn(kBytes, unit)) {
    errors.push_back(fieldInvalid(
        field, Value{resource},
        fmt::format("only divisor's values {} are supported with the {} resource", kBytesText, name)));
  }
}

/// A key of a ConfigMap or a Secret.
void checkKeyRef(const Value& ref, const std::string& field, FieldErrors& errors) {
  refuseFor(errors, field + ".name", ref["name"], dnsSubdomainErrors(ref["name"].str()));
  if (ref["key"].str().empty()) {
    errors.push_back(fieldRequired(field + ".key"));
  } else {
    refuseFor(errors, field + ".key", ref["key"], configKeyErrors(ref["key"].str()));
  }
}

void checkValueFrom(const Value& variable, const std::string& field, FieldErrors& errors) {
  const Value& from = variable["valueFrom"];
  int sources = 0;
  if (from["fieldRef"].isObject()) {
    ++sources;
    checkFieldRef(from["fieldRef"], field + ".fieldRef", false, errors);
  }
  if (from["resourceFieldRef"].isObject()) {
    ++sources;
    checkResourceRef(from["resourceFieldRef"], field + ".resourceFieldRef", false, errors);
  }
  for (const char* kind : {"configMapKeyRef", "secretKeyRef"}) {
    if (!from[kind].isObject()) { continue; }
    ++sources;
    checkKeyRef(from[kind], fmt::format("{}.{}", field, kind), errors);
  }
  const Value none{""};
  if (sources == 0) {
    errors.push_back(fieldInvalid(
        field, none,
        "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"));
  } else if (!variable["value"].str().empty()) {
    errors.push_back(fieldInvalid(field, none, "may not be specified when `value` is not empty"));
  } else if (sources > 1) {
    errors.push_back(fieldInvalid(field, none, "may not have more than one field specified at a time"));
  }
}

}  // namespace

void checkFieldRef(const json::Value& ref, const std::string& field, bool in_volume, FieldErrors& errors) {
  const auto path = ref["fieldPath"].str();
  if (ref["apiVersion"].str().empty()) {
    errors.push_back(fieldRequired(field + ".apiVersion"));
  } else if (path.empty()) {
    errors.push_back(fieldRequired(field + ".fieldPath"));
  } else if (const auto why = whyUnknownPath(ref["apiVersion"].str(), path); !why.empty()) {
    errors.push_back(
        fieldInvalid(field + ".fieldPath", ref["fieldPath"], "error converting fieldPath: " + why));
  } else if (const auto parts = subscripted(path)) {
    const std::string key =
        parts->first == "metadata.annotations" ? inLowerCase(parts->second) : std::string{parts->second};
    refuseFor(errors, field, Value{key}, qualifiedNameErrors(key));
  } else {
    const Texts& known = in_volume ? kVolumeFields : kEnvFields;
    checkKnown(errors, field + ".fieldPath", path == "spec.host" ? Value{"spec.nodeName"} : Value{path},
               known);
  }
}

void checkResourceRef(const json::Value& ref, const std::string& field, bool in_volume, FieldErrors& errors) {
  const auto resource = ref["resource"].str();
  const bool pages = resource.starts_with("requests.hugepages-") || resource.starts_with("limits.hugepages-");
  if (in_volume && ref["containerName"].str().empty()) {
    errors.push_back(fieldRequired(field + ".containerName"));
  } else if (resource.empty()) {
    errors.push_back(fieldRequired(field + ".resource"));
  } else if (!pages) {
    checkKnown(errors, field + ".resource", ref["resource"], kResourcePaths);
  }
  if (pages || isIn(kResourcePaths, resource)) {
    checkDivisor(resource, ref["divisor"], field + ".divisor", errors);
  }
}

void checkEnv(const json::Value& env, const std::string& field, FieldErrors& errors) {
  const auto& variables = env.items();
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Value& variable = variables[i];
    const auto name = variable["name"].str();
    const bool fine = !name.empty() && envNameErrors(name).empty() && variable["valueFrom"].isNull();
    if (fine) { continue; }
    const std::string at = fmt::format("{}[{}]", field, i);
    if (name.empty()) { errors.push_back(fieldRequired(at + ".name")); }
    refuseFor(errors, at + ".name", variable["name"], envNameErrors(name));
    if (!variable["valueFrom"].isNull()) { checkValueFrom(variable, at + ".valueFrom", errors); }
  }
}

void checkEnvFrom(const json::Value& sources, const std::string& field, FieldErrors& errors) {
  for (std::size_t i = 0; i < sources.items().size(); ++i) {
    const Value& source = sources.items()[i];
    const std::string at = fmt::format("{}[{}]", field, i);
    refuseFor(errors, at + ".prefix", source["prefix"], envNameErrors(source["prefix"].str()));
    int given = 0;
    for (const char* kind : {"configMapRef", "secretRef"}) {
      if (!source[kind].isObject()) { continue; }
      ++given;
      const std::string here = fmt::format("{}.{}.name", at, kind);
      const auto name = source[kind]["name"].str();
      if (name.empty()) {
        errors.push_back(fieldRequired(here));
      } else {
        refuseFor(errors, here, source[kind]["name"], dnsSubdomainErrors(asPrefix(name)));
      }
    }
    if (given == 0) {
      errors.push_back(fieldInvalid(field, Value{""}, "must specify one of: `configMapRef` or `secretRef`"));
    } else if (given > 1) {
      errors.push_back(
          fieldInvalid(field, Value{""}, "may not have more than one field specified at a time"));
    }
  }
}

}  // namespace gs::apiserver
