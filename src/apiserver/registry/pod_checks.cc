// Pods: what is required of one, and what may change later.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/kind_checks.h"
#include "kapi/quantity.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr const char* kMayChange =
    "pod updates may not change fields other than "
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec."
    "tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it "
    "was "
    "previously negative)\n";

void checkQuantities(const Value& resources, const std::string& field, FieldErrors& errors) {
  for (const char* part : {"limits", "requests"}) {
    for (const auto& [name, amount] : resources[part].members()) {
      const auto milli = kapi::milliOf(amount);
      const bool whole = name.find('/') != std::string::npos;  // extended resources
      if (!milli || !whole || *milli % 1000 == 0) { continue; }
      const std::string shown = fmt::format(
          "resource.Quantity{{i:resource.int64Amount{{value:{}, scale:-3}}, "
          "d:resource.infDecAmount{{Dec:(*inf.Dec)(nil)}}, s:{}, Format:\"DecimalSI\"}}",
          *milli, goQuote(amount.str()));
      errors.push_back(
          fieldInvalid(fmt::format("{}.{}[{}]", field, part, name), shown, "must be an integer"));
    }
  }
  for (const auto& [name, request] : resources["requests"].members()) {
    const bool extended = name.find('/') != std::string::npos;
    const Value* limit = resources["limits"].find(name);
    if (limit == nullptr) {
      if (extended) {
        errors.push_back(
            fieldRequired(field + ".limits", "Limit must be set for non overcommitable resources"));
      }
      continue;
    }
    if (extended && *limit != request) {
      errors.push_back(fieldInvalid(field + ".requests", request,
                                    fmt::format("must be equal to {} limit of {}", name, limit->str())));
    } else if (kapi::milliOf(request).value_or(0) > kapi::milliOf(*limit).value_or(0)) {
      errors.push_back(
          fieldInvalid(field + ".requests", request,
                       fmt::format("must be less than or equal to {} limit of {}", name, limit->str())));
    }
  }
}

bool knownFieldPath(std::string_view path) {
  static constexpr std::array kKnown{
      "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
      "status.hostIP", "status.hostIPs",     "status.podIP", "status.podIPs"};
  const bool subscripted =
      (path.starts_with("metadata.annotations['") || path.starts_with("metadata.labels['")) &&
      path.ends_with("']");
  return subscripted || std::find(kKnown.begin(), kKnown.end(), path) != kKnown.end();
}

void checkEnv(const Value& env, const std::string& field, FieldErrors& errors) {
  for (std::size_t i = 0; i < env.items().size(); ++i) {
    const Value& variable = env.items()[i];
    const std::string at = fmt::format("{}[{}]", field, i);
    if (variable["name"].str().empty()) { errors.push_back(fieldRequired(at + ".name")); }
    const Value& ref = variable["valueFrom"]["fieldRef"];
    if (!ref.isObject()) { continue; }
    const auto path = ref["fieldPath"].str();
    if (path.empty()) {
      errors.push_back(fieldRequired(at + ".valueFrom.fieldRef.fieldPath"));
    } else if (!knownFieldPath(path)) {
      errors.push_back(
          fieldInvalid(at + ".valueFrom.fieldRef.fieldPath", Value{path},
                       fmt::format("error converting fieldPath: field label not supported: {}", path)));
    }
  }
}

void checkContainer(const Value& c, const std::string& field, std::set<std::string>& names,
                    FieldErrors& errors) {
  const std::string name{c["name"].str()};
  if (name.empty()) {
    errors.push_back(fieldRequired(field + ".name"));
  } else if (const auto why = dnsLabelErrors(name); !why.empty()) {
    for (const std::string& one : why) { errors.push_back(fieldInvalid(field + ".name", Value{name}, one)); }
  } else if (!names.insert(name).second) {
    errors.push_back(fieldDuplicate(field + ".name", goQuote(name)));
  }
  if (c["image"].str().empty()) { errors.push_back(fieldRequired(field + ".image")); }
  const auto policy = c["imagePullPolicy"].str();
  if (policy != "Always" && policy != "IfNotPresent" && policy != "Never") {
    errors.push_back(fieldNotSupported(field + ".imagePullPolicy", c["imagePullPolicy"],
                                       {"Always", "IfNotPresent", "Never"}));
  }
  checkEnv(c["env"], field + ".env", errors);
  checkQuantities(c["resources"], field + ".resources", errors);
}

void checkTolerations(const Value& tolerations, const std::string& list, FieldErrors& errors) {
  for (std::size_t i = 0; i < tolerations.items().size(); ++i) {
    const Value& t = tolerations.items()[i];
    const std::string field = fmt::format("{}[{}]", list, i);
    const auto op = t["operator"].str();
    if (op == "Exists" && !t["value"].str().empty()) {
      errors.push_back(
          fieldInvalid(field + ".operator", t["value"], "value must be empty when `operator` is 'Exists'"));
    }
    if (t["key"].str().empty() && op != "Exists") {
      errors.push_back(
          fieldInvalid(field + ".operator", Value{op},
                       "operator must be Exists when `key` is empty, which means \"match all values and "
                       "all keys\""));
    }
    if (!op.empty() && op != "Exists" && op != "Equal") {
      errors.push_back(fieldNotSupported(field + ".operator", t["operator"], {"Equal", "Exists"}));
    }
  }
}

// ---- updates

/// The spec without what an update may change.
Value fixedPart(const Value& pod) {
  Value spec = pod["spec"];
  for (const char* part : {"containers", "initContainers"}) {
    if (!spec[part].isArray()) { continue; }
    for (Value& c : spec.child(part).array()) { c.erase("image"); }
  }
  spec.erase("activeDeadlineSeconds");
  spec.erase("tolerations");
  return spec;
}

void checkGates(const Value& pod, const Value& old, FieldErrors& errors) {
  const auto& had = old["spec"]["schedulingGates"].items();
  const auto& has = pod["spec"]["schedulingGates"].items();
  for (std::size_t i = 0; i < has.size(); ++i) {
    if (std::find(had.begin(), had.end(), has[i]) != had.end()) { continue; }
    errors.push_back(fieldForbidden(
        fmt::format("spec.schedulingGates[{}].name", i),
        fmt::format("only deletion is allowed, but found new scheduling gate '{}'", has[i]["name"].str())));
  }
}

}  // namespace

FieldErrors checkPod(const json::Value& pod) { return checkPodSpec(pod["spec"], "spec"); }

FieldErrors checkPodSpec(const json::Value& spec, const std::string& field) {
  FieldErrors errors;
  std::set<std::string> names;
  if (spec["containers"].items().empty()) { errors.push_back(fieldRequired(field + ".containers")); }
  for (const char* part : {"containers", "initContainers"}) {
    for (std::size_t i = 0; i < spec[part].items().size(); ++i) {
      checkContainer(spec[part].items()[i], fmt::format("{}.{}[{}]", field, part, i), names, errors);
    }
  }
  const auto restart = spec["restartPolicy"].str();
  if (restart != "Always" && restart != "OnFailure" && restart != "Never") {
    errors.push_back(
        fieldNotSupported(field + ".restartPolicy", spec["restartPolicy"], {"Always", "OnFailure", "Never"}));
  }
  for (auto& error : checkLabels(spec["nodeSelector"], field + ".nodeSelector")) {
    errors.push_back(std::move(error));
  }
  checkTolerations(spec["tolerations"], field + ".tolerations", errors);
  return errors;
}

FieldErrors checkPodUpdate(const json::Value& pod, const json::Value& old) {
  FieldErrors errors;
  const Value& spec = pod["spec"];
  const auto names = [](const Value& containers) {
    std::vector<std::string> out;
    for (const Value& c : containers.items()) { out.emplace_back(c["name"].str()); }
    return out;
  };
  if (spec["containers"].items().size() != old["spec"]["containers"].items().size() ||
      names(spec["containers"]) != names(old["spec"]["containers"])) {
    return {fieldForbidden("spec.containers", "pod updates may not add or remove containers")};
  }
  for (std::size_t i = 0; i < spec["containers"].items().size(); ++i) {
    if (spec["containers"].items()[i]["image"].str().empty()) {
      errors.push_back(fieldRequired(fmt::format("spec.containers[{}].image", i)));
    }
  }
  const Value& deadline = spec["activeDeadlineSeconds"];
  if (deadline.isNull() && !old["spec"]["activeDeadlineSeconds"].isNull()) {
    errors.push_back(fieldInvalid("spec.activeDeadlineSeconds", std::string{"\"null\""},
                                  "must not update from a positive integer to nil value"));
  }
  for (const Value& had : old["spec"]["tolerations"].items()) {
    const auto& has = spec["tolerations"].items();
    const bool kept = std::any_of(has.begin(), has.end(), [&](const Value& t) {
      return t["key"] == had["key"] && t["operator"] == had["operator"] && t["value"] == had["value"] &&
             t["effect"] == had["effect"];
    });
    if (kept) { continue; }
    errors.push_back(fieldForbidden("spec.tolerations",
                                    "existing toleration can not be modified except its tolerationSeconds"));
    break;
  }
  checkGates(pod, old, errors);
  const bool gated = !old["spec"]["schedulingGates"].items().empty();
  Value now = fixedPart(pod);
  Value before = fixedPart(old);
  if (gated || !before["schedulingGates"].isNull()) {
    for (Value* one : {&now, &before}) {
      one->erase("schedulingGates");
      one->erase("nodeSelector");
      one->erase("affinity");
    }
  }
  if (errors.empty() && !(now == before)) { errors.push_back(fieldForbidden("spec", kMayChange)); }
  return errors;
}

}  // namespace gs::apiserver
