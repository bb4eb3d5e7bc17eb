// Jobs: what is required of one, and what may change later.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apiserver/registry/kind_checks.h"
#include "apiserver/registry/template_checks.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr std::int64_t kMostIndexes = 100'000;  // at a time

bool isIndexed(const Value& spec) { return spec["completionMode"].str() == "Indexed"; }

/// "acme.io/foo"
bool isDomainPath(std::string_view text) {
  const auto slash = text.find('/');
  return slash != std::string_view::npos && slash > 0 && slash + 1 < text.size();
}

void checkOneOf(const Value& spec, const char* name, const std::vector<std::string>& known,
                FieldErrors& errors) {
  const Value& value = spec[name];
  if (value.isNull() || std::find(known.begin(), known.end(), value.str()) != known.end()) { return; }
  errors.push_back(fieldNotSupported(fmt::format("spec.{}", name), value, known));
}

void checkIndexes(const Value& spec, FieldErrors& errors) {
  if (!isIndexed(spec)) {
    for (const char* name : {"backoffLimitPerIndex", "maxFailedIndexes"}) {
      if (spec[name].isNull()) { continue; }
      errors.push_back(
          fieldInvalid(fmt::format("spec.{}", name), spec[name], "requires indexed completion mode"));
    }
    return;
  }
  if (spec["completions"].isNull()) {
    errors.push_back(fieldRequired("spec.completions", "when completion mode is Indexed"));
  }
  if (spec["parallelism"].intOr(0) > kMostIndexes) {
    errors.push_back(fieldInvalid(
        "spec.parallelism", spec["parallelism"],
        fmt::format("must be less than or equal to {} when completion mode is Indexed", kMostIndexes)));
  }
}

void checkRestart(const Value& pod, FieldErrors& errors) {
  const auto restart = pod["restartPolicy"].str();
  if (restart == "OnFailure" || restart == "Never") { return; }
  const std::string field = "spec.template.spec.restartPolicy";
  errors.push_back(restart == "Always"
                       ? fieldRequired(field, "valid values: \"OnFailure\", \"Never\"")
                       : fieldNotSupported(field, pod["restartPolicy"], {"OnFailure", "Never"}));
}

/// The labels and the selector that the server makes from its uid and name.
void checkGenerated(const Value& job, FieldErrors& errors) {
  const Value& spec = job["spec"];
  if (spec["manualSelector"].boolOr(false) || spec["selector"].isNull()) { return; }
  const Value& labels = spec["template"]["metadata"]["labels"];
  const Value& meta = job["metadata"];
  for (const auto& [key, wanted] :
       {std::pair{"batch.kubernetes.io/controller-uid", "uid"}, std::pair{"controller-uid", "uid"},
        std::pair{"batch.kubernetes.io/job-name", "name"}, std::pair{"job-name", "name"}}) {
    if (labels[key] == meta[wanted]) { continue; }
    errors.push_back(fieldInvalid(fmt::format("spec.template.metadata.labels[{}]", key), goLabels(labels),
                                  fmt::format("must be '{}'", meta[wanted].str())));
  }
  const Value made =
      json::Object{{"matchLabels", json::Object{{"batch.kubernetes.io/controller-uid", meta["uid"]}}}};
  if (spec["selector"] != made) {
    errors.push_back(
        fieldInvalid("spec.selector", goSelector(spec["selector"]), "`selector` not auto-generated"));
  }
}

// ---- updates

/// Of a job that is suspended and never started, where its pods may go may still change.
Value fixedTemplate(const Value& job, bool may_move) {
  Value out = job["spec"]["template"];
  if (!may_move) { return out; }
  for (const char* field : {"nodeSelector", "affinity", "tolerations", "schedulingGates"}) {
    if (out["spec"].isObject()) { out.child("spec").erase(field); }
  }
  for (const char* field : {"labels", "annotations"}) {
    if (out["metadata"].isObject()) { out.child("metadata").erase(field); }
  }
  return out;
}

void checkCompletions(const Value& spec, const Value& old, FieldErrors& errors) {
  const Value& completions = spec["completions"];
  if (completions == old["completions"]) { return; }
  if (!isIndexed(spec)) {
    errors.push_back(fieldInvalid("spec.completions", completions, "field is immutable"));
  } else if (!completions.isNull() && completions != spec["parallelism"]) {
    errors.push_back(fieldInvalid("spec.completions", completions,
                                  "can only be modified in tandem with spec.parallelism"));
  }
}

void checkJobUpdate(const Value& job, const Value& old, FieldErrors& errors) {
  const Value& spec = job["spec"];
  const Value& had = old["spec"];
  checkCompletions(spec, had, errors);
  if (spec["selector"] != had["selector"]) {
    errors.push_back(fieldInvalid("spec.selector", goSelector(spec["selector"]), "field is immutable"));
  }
  const bool may_move = had["suspend"].boolOr(false) && old["status"]["startTime"].isNull();
  if (fixedTemplate(job, may_move) != fixedTemplate(old, may_move)) {
    errors.push_back(fieldInvalid("spec.template", json::print(spec["template"]), "field is immutable"));
  }
  for (const char* field :
       {"completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"}) {
    if (spec[field] == had[field]) { continue; }
    errors.push_back(fieldInvalid(fmt::format("spec.{}", field), spec[field], "field is immutable"));
  }
}

}  // namespace

FieldErrors checkJob(const json::Value& job, const json::Value& old) {
  FieldErrors errors;
  const Value& spec = job["spec"];
  checkCounts(spec, "spec",
              {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
               "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"},
              errors);
  checkOneOf(spec, "completionMode", {"NonIndexed", "Indexed"}, errors);
  checkOneOf(spec, "podReplacementPolicy", {"Failed", "TerminatingOrFailed"}, errors);
  checkIndexes(spec, errors);
  if (!spec["managedBy"].isNull() && !isDomainPath(spec["managedBy"].str())) {
    errors.push_back(fieldInvalid("spec.managedBy", spec["managedBy"],
                                  "must be a domain-prefixed path (such as \"acme.io/foo\")"));
  }
  const bool valid = checkSelector(spec["selector"], "", errors);
  if (valid) { checkSelects(spec, errors); }
  checkGenerated(job, errors);
  checkTemplateMeta(spec["template"], errors);
  const Value& pod = spec["template"]["spec"];
  for (auto& error : checkPodSpec(pod, "spec.template.spec")) { errors.push_back(std::move(error)); }
  checkRestart(pod, errors);
  checkCounts(job["status"], "status", {"active", "succeeded", "failed", "ready", "terminating"}, errors);
  if (!old.isNull()) { checkJobUpdate(job, old, errors); }
  return errors;
}

}  // namespace gs::apiserver
