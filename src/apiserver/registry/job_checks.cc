// Jobs: what is required of one, and what may change later.
#include <fmt/format.h>

#include "apiserver/meta/label_selector.h"
#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/kind_checks.h"
#include "apiserver/registry/template_checks.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr std::int64_t kMostIndexes = 100'000;  // at a time
constexpr std::int64_t kMostOfMany = 10'000;    // of more than that
constexpr std::size_t kLongestManager = 63;
constexpr std::string_view kPathCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/-._~%!$&'()*+,;=:";
constexpr const char* kPathRule =
    "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";

bool isIndexed(const Value& spec) { return spec["completionMode"].str() == "Indexed"; }

/// "acme.io/foo"
void checkManagedBy(const Value& by, FieldErrors& errors) {
  const std::string field = "spec.managedBy";
  if (by.isNull()) { return; }
  const auto text = by.str();
  const auto slash = text.find('/');
  if (text.empty()) {
    errors.push_back(fieldRequired(field));
  } else if (slash == std::string_view::npos || slash == 0 || slash + 1 == text.size()) {
    errors.push_back(fieldInvalid(field, by, "must be a domain-prefixed path (such as \"acme.io/foo\")"));
  } else {
    const auto host = text.substr(0, slash);
    const auto path = text.substr(slash + 1);
    refuseFor(errors, field, Value{host}, dnsSubdomainErrors(host));
    if (path.find_first_not_of(kPathCharacters) != std::string_view::npos) {
      errors.push_back(fieldInvalid(field, Value{path}, kPathRule));
    }
  }
  if (text.size() > kLongestManager) {
    errors.push_back(
        {field, "TooLong", fmt::format("Too long: may not be more than {} bytes", kLongestManager)});
  }
}

/// Of many indexes few may run and fail at a time.
void checkManyIndexes(const Value& spec, FieldErrors& errors) {
  if (spec["completions"].intOr(0) <= kMostIndexes || spec["backoffLimitPerIndex"].isNull()) { return; }
  if (spec["maxFailedIndexes"].isNull()) {
    errors.push_back(
        fieldRequired("spec.maxFailedIndexes",
                      fmt::format("must be specified when completions is above {}", kMostIndexes)));
  }
  for (const char* name : {"parallelism", "maxFailedIndexes"}) {
    if (spec[name].intOr(0) <= kMostOfMany) { continue; }
    errors.push_back(
        fieldInvalid(fmt::format("spec.{}", name), spec[name],
                     fmt::format("must be less than or equal to {} when completions are above {} "
                                 "and used with backoff limit per index",
                                 kMostOfMany, kMostIndexes)));
  }
}

void checkIndexed(const Value& spec, FieldErrors& errors) {
  const Value& failed = spec["maxFailedIndexes"];
  if (spec["completions"].isNull()) {
    errors.push_back(fieldRequired("spec.completions", "when completion mode is Indexed"));
  } else if (!failed.isNull() && failed.intOr(0) > spec["completions"].intOr(0)) {
    errors.push_back(
        fieldInvalid("spec.maxFailedIndexes", failed, "must be less than or equal to completions"));
  }
  if (spec["parallelism"].intOr(0) > kMostIndexes) {
    errors.push_back(fieldInvalid(
        "spec.parallelism", spec["parallelism"],
        fmt::format("must be less than or equal to {} when completion mode is Indexed", kMostIndexes)));
  }
  if (failed.intOr(0) > kMostIndexes) {
    errors.push_back(fieldInvalid("spec.maxFailedIndexes", failed,
                                  fmt::format("must be less than or equal to {}", kMostIndexes)));
  }
  checkManyIndexes(spec, errors);
}

void checkIndexes(const Value& spec, FieldErrors& errors) {
  if (!spec["maxFailedIndexes"].isNull() && spec["backoffLimitPerIndex"].isNull()) {
    errors.push_back(fieldRequired("spec.backoffLimitPerIndex", "when maxFailedIndexes is specified"));
  }
  checkKnown(errors, "spec.completionMode", spec["completionMode"], {"NonIndexed", "Indexed"});
  if (isIndexed(spec)) { return checkIndexed(spec, errors); }
  if (spec["completionMode"].str() != "NonIndexed") { return; }
  for (const char* name : {"backoffLimitPerIndex", "maxFailedIndexes"}) {
    if (spec[name].isNull()) { continue; }
    errors.push_back(
        fieldInvalid(fmt::format("spec.{}", name), spec[name], "requires indexed completion mode"));
  }
}

/// The last pod's name is a host name, too.
void checkLastName(const Value& job, FieldErrors& errors) {
  const Value& completions = job["spec"]["completions"];
  if (!isIndexed(job["spec"]) || completions.intOr(0) <= 0) { return; }
  const std::string last = fmt::format("{}-{}", job["metadata"]["name"].str(), completions.intOr(0) - 1);
  if (dnsLabelErrors(last).empty()) { return; }
  errors.push_back(fieldInvalid("metadata.name", Value{job["metadata"]["name"].str()},
                                "will not able to create pod with invalid DNS label: " + last));
}

void checkRestart(const Value& spec, FieldErrors& errors) {
  const Value& restart = spec["template"]["spec"]["restartPolicy"];
  const std::string field = "spec.template.spec.restartPolicy";
  if (restart.str() == "Always") {
    errors.push_back(fieldRequired(field, "valid values: \"OnFailure\", \"Never\""));
  } else if (restart.str() != "OnFailure" && restart.str() != "Never") {
    errors.push_back(fieldNotSupported(field, restart, {"OnFailure", "Never"}));
  } else if (!spec["podFailurePolicy"].isNull() && restart.str() != "Never") {
    errors.push_back(
        fieldInvalid(field, restart, "only \"Never\" is supported when podFailurePolicy is specified"));
  }
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
  const Value expected = json::Object{{"batch.kubernetes.io/controller-uid", meta["uid"]},
                                      {"controller-uid", meta["uid"]},
                                      {"batch.kubernetes.io/job-name", meta["name"]},
                                      {"job-name", meta["name"]}};
  const bool readable = checkRequirements(spec["selector"], "spec.selector").empty();
  if (readable && !selects(spec["selector"], expected)) {
    errors.push_back(
        fieldInvalid("spec.selector", goSelector(spec["selector"]), "`selector` not auto-generated"));
  }
}

void checkJobSelector(const Value& spec, FieldErrors& errors) {
  if (spec["selector"].isNull()) { errors.push_back(fieldRequired("spec.selector")); }
  const FieldErrors found = checkRequirements(spec["selector"], "spec.selector");
  append(errors, found);
  if (found.empty()) { checkSelects(spec, errors); }
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
  checkGenerated(job, errors);
  checkCounts(spec, "spec",
              {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
               "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"},
              errors);
  checkManagedBy(spec["managedBy"], errors);
  checkIndexes(spec, errors);
  checkFailurePolicy(spec, errors);
  checkSuccessPolicy(spec, errors);
  const bool decides = !spec["podFailurePolicy"].isNull();
  checkKnown(errors, "spec.podReplacementPolicy", spec["podReplacementPolicy"],
             decides ? Texts{"Failed"} : Texts{"Failed", "TerminatingOrFailed"});
  checkTemplateMeta(spec["template"], errors);
  append(errors, checkPodSpec(spec["template"]["spec"], "spec.template.spec"));
  checkRestart(spec, errors);
  checkJobSelector(spec, errors);
  checkLastName(job, errors);
  checkCounts(job["status"], "status", {"active", "succeeded", "failed", "ready", "terminating"}, errors);
  if (!old.isNull()) { checkJobUpdate(job, old, errors); }
  return errors;
}

}  // namespace gs::apiserver
