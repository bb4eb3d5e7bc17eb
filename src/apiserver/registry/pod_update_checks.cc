// What of a pod may change once it is there.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/kind_checks.h"
#include "apiserver/registry/pod_parts.h"
#include "apiserver/registry/template_checks.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr const char* kMayChange =
    "pod updates may not change fields other than "
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec."
    "tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to "
    "be set to 1 if it was previously negative)\n";
constexpr const char* kRequiredTerms = "requiredDuringSchedulingIgnoredDuringExecution";

/// False: nothing more is looked at.
bool checkSameContainers(const Value& spec, const Value& old, const char* part, FieldErrors& errors) {
  const auto& containers = spec[part].items();
  if (containers.size() != old[part].items().size()) {
    errors.push_back(
        fieldForbidden(fmt::format("spec.{}", part), "pod updates may not add or remove containers"));
    return false;
  }
  for (std::size_t i = 0; i < containers.size(); ++i) {
    if (containers[i]["image"].str().empty()) {
      errors.push_back(fieldRequired(fmt::format("spec.{}[{}].image", part, i)));
    }
  }
  return true;
}

/// It may only come earlier. False: nothing more is looked at.
bool checkNewDeadline(const Value& seconds, const Value& had, FieldErrors& errors) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::string field = "spec.activeDeadlineSeconds";
  if (seconds.isNull()) {
    if (!had.isNull()) {
      errors.push_back(fieldInvalid(field, std::string{"\"null\""},
                                    "must not update from a positive integer to nil value"));
    }
    return true;
  }
  const auto next = seconds.intOr(0);
  if (next < 0 || next > kMost) {
    errors.push_back(fieldInvalid(field, seconds, "must be between 0 and 2147483647, inclusive"));
    return false;
  }
  if (had.isNull() || had.intOr(0) >= next) { return true; }
  errors.push_back(fieldInvalid(field, seconds, "must be less than or equal to previous value"));
  return false;
}

void checkNewTolerations(const Value& spec, const Value& old, FieldErrors& errors) {
  for (const Value& had : old["tolerations"].items()) {
    const auto& has = spec["tolerations"].items();
    const bool kept = std::any_of(has.begin(), has.end(), [&](const Value& t) {
      return t["key"] == had["key"] && t["operator"] == had["operator"] && t["value"] == had["value"] &&
             t["effect"] == had["effect"];
    });
    if (kept) { continue; }
    errors.push_back(fieldForbidden("spec.tolerations",
                                    "existing toleration can not be modified except its tolerationSeconds"));
    return;
  }
  checkTolerations(spec["tolerations"], "spec.tolerations", errors);
}

/// Of two of a name the last one is told.
void checkGates(const Value& spec, const Value& old, FieldErrors& errors) {
  const auto& had = old["schedulingGates"].items();
  const auto& has = spec["schedulingGates"].items();
  for (std::size_t i = 0; i < has.size(); ++i) {
    const auto later = has.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    if (std::find(had.begin(), had.end(), has[i]) != had.end() ||
        std::find(later, has.end(), has[i]) != has.end()) {
      continue;
    }
    errors.push_back(fieldForbidden(
        fmt::format("spec.schedulingGates[{}].name", i),
        fmt::format("only deletion is allowed, but found new scheduling gate '{}'", has[i]["name"].str())));
  }
}

/// The spec without what an update may change.
Value fixedPart(Value spec) {
  for (const char* part : {"containers", "initContainers"}) {
    if (!spec[part].isArray()) { continue; }
    for (Value& c : spec.child(part).array()) { c.erase("image"); }
  }
  for (const char* field : {"activeDeadlineSeconds", "tolerations", "schedulingGates"}) { spec.erase(field); }
  return spec;
}

/// Requirements may be added at the end of a list that has some, and terms that had none get none.
bool onlyAdds(const Value& term, const Value& had) {
  const auto goes_on = [](const json::Array& now, const json::Array& before) {
    return now.size() >= before.size() && std::equal(before.begin(), before.end(), now.begin());
  };
  const auto& labels = had["matchExpressions"].items();
  const auto& fields = had["matchFields"].items();
  const bool empty = labels.empty() && fields.empty();
  if (empty) { return term["matchExpressions"].items().empty() && term["matchFields"].items().empty(); }
  return goes_on(term["matchExpressions"].items(), labels) && goes_on(term["matchFields"].items(), fields);
}

void checkNarrowed(const Value& affinity, const Value& old, FieldErrors& errors) {
  const auto& had = old[kRequiredTerms]["nodeSelectorTerms"].items();
  const Value& terms = affinity[kRequiredTerms]["nodeSelectorTerms"];
  const std::string field = fmt::format("spec.affinity.nodeAffinity.{}.nodeSelectorTerms", kRequiredTerms);
  if (!old[kRequiredTerms].isObject()) { return; }
  if (!had.empty() && had.size() != terms.items().size()) {
    errors.push_back(fieldInvalid(field, json::print(terms),
                                  "no additions/deletions to non-empty NodeSelectorTerms list are allowed"));
    return;
  }
  for (std::size_t i = 0; i < had.size(); ++i) {
    if (onlyAdds(terms.items()[i], had[i])) { continue; }
    errors.push_back(fieldInvalid(fmt::format("{}[{}]", field, i), json::print(terms.items()[i]),
                                  "only additions are allowed (no mutations or deletions)"));
  }
}

void takeFrom(Value& spec, const Value& old, const char* field) {
  spec.erase(field);
  if (const Value* had = old.find(field)) { spec.set(field, *had); }
}

/// A pod that waits at its gates may still be told where not to go.
void checkGated(Value& spec, const Value& old, FieldErrors& errors) {
  const auto& selected = old["nodeSelector"].members();
  const Value selector = spec["nodeSelector"];
  const bool kept = std::all_of(selected.begin(), selected.end(),
                                [&](const auto& one) { return selector[one.first] == one.second; });
  if (!kept) {
    errors.push_back(
        fieldInvalid("spec.nodeSelector", goLabels(selector),
                     "only additions to spec.nodeSelector are allowed (no mutations or deletions)"));
  }
  takeFrom(spec, old, "nodeSelector");
  const Value& had = old["affinity"]["nodeAffinity"];
  if (spec["affinity"]["nodeAffinity"] == had) { return; }
  checkNarrowed(spec["affinity"]["nodeAffinity"], had, errors);
  const bool nothing_else =
      spec["affinity"]["podAffinity"].isNull() && spec["affinity"]["podAntiAffinity"].isNull();
  if (old["affinity"].isNull() && nothing_else) {
    spec.erase("affinity");
  } else {
    takeFrom(spec.child("affinity"), old["affinity"], "nodeAffinity");
  }
}

}  // namespace

FieldErrors checkPodUpdate(const json::Value& pod, const json::Value& old) {
  const Value& spec = pod["spec"];
  const Value& had = old["spec"];
  FieldErrors errors = checkChangedPodNotes(pod, old);
  if (pod["status"] != old["status"]) { append(errors, checkPodClaimStatus(pod)); }
  if (spec == had) { return errors; }
  append(errors, checkPodContent(pod));
  if (!checkSameContainers(spec, had, "containers", errors) ||
      !checkSameContainers(spec, had, "initContainers", errors) ||
      !checkNewDeadline(spec["activeDeadlineSeconds"], had["activeDeadlineSeconds"], errors)) {
    return errors;
  }
  checkNewTolerations(spec, had, errors);
  checkGates(spec, had, errors);
  Value now = fixedPart(spec);
  const Value before = fixedPart(had);
  if (!had["schedulingGates"].items().empty()) { checkGated(now, had, errors); }
  if (now != before) { errors.push_back(fieldForbidden("spec", kMayChange)); }
  return errors;
}

}  // namespace gs::apiserver
