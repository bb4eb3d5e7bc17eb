#include "apiserver/registry/template_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "apiserver/meta/label_selector.h"
#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/kind_checks.h"
#include "apiserver/registry/pod_parts.h"

namespace gs::apiserver {
namespace {

using json::Value;

std::string goRequirements(const Value& requirements) {
  if (!requirements.isArray()) { return "[]v1.LabelSelectorRequirement(nil)"; }
  std::string out;
  for (const Value& r : requirements.items()) {
    out += fmt::format("{}v1.LabelSelectorRequirement{{Key:{}, Operator:{}, Values:{}}}",
                       out.empty() ? "" : ", ", goQuote(r["key"].str()), goQuote(r["operator"].str()),
                       goTexts(r["values"]));
  }
  return fmt::format("[]v1.LabelSelectorRequirement{{{}}}", out);
}

void checkRequirement(const Value& r, const std::string& field, FieldErrors& errors) {
  const auto op = r["operator"].str();
  const bool none = r["values"].items().empty();
  if (op == "In" || op == "NotIn") {
    if (none) {
      errors.push_back(
          fieldRequired(field + ".values", "must be specified when `operator` is 'In' or 'NotIn'"));
    }
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (!none) {
      errors.push_back(fieldForbidden(field + ".values",
                                      "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
    }
  } else {
    errors.push_back(fieldInvalid(field + ".operator", r["operator"], "not a valid selector operator"));
  }
  for (const std::string& why : qualifiedNameErrors(r["key"].str())) {
    errors.push_back(fieldInvalid(field + ".key", r["key"], why));
  }
  for (std::size_t i = 0; i < r["values"].items().size(); ++i) {
    const Value& value = r["values"].items()[i];
    for (const std::string& why : labelValueErrors(value.str())) {
      errors.push_back(fieldInvalid(fmt::format("{}.values[{}]", field, i), value, why));
    }
  }
}

}  // namespace

std::string goLabels(const json::Value& labels) {
  if (!labels.isObject()) { return "map[string]string(nil)"; }
  std::map<std::string, std::string> sorted;
  for (const auto& [key, value] : labels.members()) { sorted[key] = value.str(); }
  std::string out;
  for (const auto& [key, value] : sorted) {
    out += fmt::format("{}{}:{}", out.empty() ? "" : ", ", goQuote(key), goQuote(value));
  }
  return fmt::format("map[string]string{{{}}}", out);
}

std::string goSelector(const json::Value& selector) {
  if (selector.isNull()) { return "\"null\""; }
  return fmt::format("v1.LabelSelector{{MatchLabels:{}, MatchExpressions:{}}}",
                     goLabels(selector["matchLabels"]), goRequirements(selector["matchExpressions"]));
}

FieldErrors checkRequirements(const json::Value& selector, const std::string& field) {
  FieldErrors found = checkLabels(selector["matchLabels"], field + ".matchLabels");
  const auto& requirements = selector["matchExpressions"].items();
  for (std::size_t i = 0; i < requirements.size(); ++i) {
    checkRequirement(requirements[i], fmt::format("{}.matchExpressions[{}]", field, i), found);
  }
  return found;
}

bool checkSelector(const json::Value& selector, const char* owner, FieldErrors& errors) {
  if (selector.isNull()) {
    errors.push_back(fieldRequired("spec.selector"));
    return true;  // it selects nothing
  }
  const auto& requirements = selector["matchExpressions"].items();
  FieldErrors found = checkRequirements(selector, "spec.selector");
  const bool valid = found.empty();
  if (!valid) {
    const std::string shown = goSelector(selector);
    found.push_back(std::string_view{owner} == "statefulset"
                        ? FieldError{"spec.selector", "Invalid", "Invalid value: " + shown}
                        : fieldInvalid("spec.selector", shown, "invalid label selector"));
  }
  if (*owner != '\0' && requirements.empty() && selector["matchLabels"].members().empty()) {
    found.push_back(fieldInvalid("spec.selector", goSelector(selector),
                                 fmt::format("empty selector is invalid for {}", owner)));
  }
  errors.insert(errors.end(), found.begin(), found.end());
  return valid;
}

void checkSelects(const json::Value& spec, FieldErrors& errors) {
  const Value& labels = spec["template"]["metadata"]["labels"];
  if (selects(spec["selector"], labels)) { return; }
  errors.push_back(fieldInvalid("spec.template.metadata.labels", goLabels(labels),
                                "`selector` does not match template `labels`"));
}

void checkTemplateMeta(const json::Value& pod_template, FieldErrors& errors) {
  const Value& meta = pod_template["metadata"];
  append(errors, checkLabels(meta["labels"], "spec.template.labels"));
  append(errors, checkAnnotations(meta["annotations"], "spec.template.annotations"));
  append(errors, checkPodNotes(pod_template, "spec.template.annotations"));
  checkAppArmorMatches(pod_template, "spec.template.spec", errors);
}

void checkCounts(const json::Value& object, const char* field, std::initializer_list<const char*> names,
                 FieldErrors& errors) {
  for (const char* name : names) {
    if (object[name].intOr(0) >= 0) { continue; }
    errors.push_back(
        fieldInvalid(fmt::format("{}.{}", field, name), object[name], "must be greater than or equal to 0"));
  }
}

}  // namespace gs::apiserver
