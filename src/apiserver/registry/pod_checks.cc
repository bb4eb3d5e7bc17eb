// Pods: what is required of a new one, and of a template. (pod_update_checks.cc: what may change later.)
#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/kind_checks.h"
#include "apiserver/registry/pod_parts.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr const char* kMirrorNote = "kubernetes.io/config.mirror";

/// Of 32 bits, without leading zeros or a plus.
bool isCost(std::string_view text) {
  const bool begins_well = text == "0" || text.starts_with('-') || text.find_first_not_of("123456789") > 0;
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return begins_well && error == std::errc{} && end == text.data() + text.size();
}

/// `is_pod`: and not the template of one.
FieldErrors checkSpec(const Value& spec, const std::string& field, bool is_pod) {
  FieldErrors errors;
  PodAround pod{spec, checkVolumes(spec["volumes"], field + ".volumes", errors), is_pod};
  checkPodClaims(spec["resourceClaims"], field + ".resourceClaims", errors);
  checkContainers(pod, field + ".containers", errors);
  checkInitContainers(pod, field + ".initContainers", errors);
  append(errors, checkLabels(spec["nodeSelector"], field + ".nodeSelector"));
  checkPodSecurity(spec, field + ".securityContext", errors);
  if (spec["affinity"].isObject()) { checkAffinity(spec["affinity"], field + ".affinity", errors); }
  checkSpread(spec["topologySpreadConstraints"], field + ".topologySpreadConstraints", errors);
  checkTolerations(spec["tolerations"], field + ".tolerations", errors);
  checkPodSettings(pod, field, errors);
  return errors;
}

}  // namespace

FieldErrors checkChangedPodNotes(const Value& pod, const Value& old) {
  FieldErrors errors;
  const Value& now = pod["metadata"]["annotations"];
  const Value& had = old["metadata"]["annotations"];
  const auto refuse = [&](std::string_view key, const char* doing) {
    const bool of_apparmor = isAppArmorNote(key);
    if (!of_apparmor && key != kMirrorNote) { return; }
    errors.push_back(fieldForbidden(
        fmt::format("metadata.annotations[{}]", key),
        fmt::format("may not {} {}", doing, of_apparmor ? "AppArmor annotations" : "mirror pod annotation")));
  };
  for (const auto& [key, value] : had.members()) {
    if (const Value* kept = now.find(key); kept == nullptr || *kept != value) {
      refuse(key, "remove or update");
    }
  }
  for (const auto& [key, value] : now.members()) {
    if (had.find(key) == nullptr) { refuse(key, "add"); }
  }
  append(errors, checkPodNotes(pod, "metadata.annotations"));
  return errors;
}

FieldErrors checkPodNotes(const Value& pod, const std::string& field) {
  constexpr const char* kCost = "controller.kubernetes.io/pod-deletion-cost";
  FieldErrors errors;
  const Value& notes = pod["metadata"]["annotations"];
  if (notes.find(kMirrorNote) != nullptr && pod["spec"]["nodeName"].str().empty()) {
    errors.push_back(fieldInvalid(fmt::format("{}[{}]", field, kMirrorNote), notes[kMirrorNote],
                                  "must set spec.nodeName if mirror pod annotation is set"));
  }
  if (const Value* cost = notes.find(kCost); cost != nullptr && !isCost(cost->str())) {
    errors.push_back(fieldInvalid(fmt::format("{}[{}]", field, kCost), *cost, "must be a 32bit integer"));
  }
  checkAppArmorNotes(pod, field, errors);
  return errors;
}

FieldErrors checkPodSpec(const json::Value& spec, const std::string& field) {
  return checkSpec(spec, field, false);
}

FieldErrors checkPodContent(const json::Value& pod) { return checkSpec(pod["spec"], "spec", true); }

FieldErrors checkPod(const json::Value& pod) {
  const Value& spec = pod["spec"];
  FieldErrors errors = checkPodNotes(pod, "metadata.annotations");
  append(errors, checkPodContent(pod));
  checkAppArmorMatches(pod, "spec", errors);
  if (!spec["ephemeralContainers"].items().empty()) {
    errors.push_back(fieldForbidden("spec.ephemeralContainers", "cannot be set on create"));
  }
  if (!spec["nodeName"].str().empty() && !spec["schedulingGates"].items().empty()) {
    errors.push_back(
        fieldForbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"));
  }
  return errors;
}

}  // namespace gs::apiserver
