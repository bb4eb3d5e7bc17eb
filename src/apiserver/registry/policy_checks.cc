// ValidatingAdmissionPolicies and their bindings: kept; their expressions are neither compiled nor evaluated.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/fill_in.h"
#include "apiserver/registry/kind_checks.h"
#include "apiserver/registry/template_checks.h"

namespace gs::apiserver {
namespace {

using json::Object;
using json::Value;

void checkNamedRules(const Value& match, const char* list, const std::string& field, FieldErrors& errors) {
  for (std::size_t i = 0; i < match[list].items().size(); ++i) {
    const Value& rule = match[list].items()[i];
    const std::string at = fmt::format("{}.{}[{}]", field, list, i);
    std::set<std::string_view> names;
    for (std::size_t n = 0; n < rule["resourceNames"].items().size(); ++n) {
      const Value& name = rule["resourceNames"].items()[n];
      const std::string here = fmt::format("{}.resourceNames[{}]", at, n);
      refuseFor(errors, here, name, pathSegmentErrors(name.str()));
      if (!names.insert(name.str()).second) { errors.push_back(fieldDuplicate(here, goQuote(name.str()))); }
    }
    checkAdmissionRule(rule, at, errors);
  }
}

void checkMatchResources(const Value& match, const std::string& field, FieldErrors& errors) {
  if (!match.isObject()) { return; }
  checkKnown(errors, field + ".matchPolicy", match["matchPolicy"], {"Equivalent", "Exact"});
  for (const char* selector : {"namespaceSelector", "objectSelector"}) {
    append(errors, checkRequirements(match[selector], fmt::format("{}.{}", field, selector)));
  }
  checkNamedRules(match, "resourceRules", field, errors);
  checkNamedRules(match, "excludeResourceRules", field, errors);
}

void checkExpression(const Value& object, const char* name, const std::string& field, std::string_view detail,
                     FieldErrors& errors) {
  if (!withoutSpace(object[name].str()).empty()) { return; }
  errors.push_back(fieldRequired(fmt::format("{}.{}", field, name), detail));
}

void checkMatchConditions(const Value& conditions, const std::string& field, FieldErrors& errors) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < conditions.items().size(); ++i) {
    const Value& condition = conditions.items()[i];
    const std::string at = fmt::format("{}[{}]", field, i);
    checkExpression(condition, "expression", at, "", errors);
    const auto name = condition["name"].str();
    if (name.empty()) {
      errors.push_back(fieldRequired(at + ".name"));
      continue;
    }
    refuseFor(errors, at + ".name", condition["name"], qualifiedNameErrors(name));
    if (!names.insert(name).second) { errors.push_back(fieldDuplicate(at + ".name", goQuote(name))); }
  }
}

void checkValidation(const Value& validation, const std::string& field, FieldErrors& errors) {
  checkExpression(validation, "expression", field, "expression is not specified", errors);
  const auto message = validation["message"].str();
  const auto inner = withoutSpace(message);
  if (!message.empty() && inner.empty()) {
    errors.push_back(
        fieldInvalid(field + ".message", validation["message"], "message must be non-empty if specified"));
  } else if (inner.find_first_of("\n\r") != std::string_view::npos) {
    errors.push_back(
        fieldInvalid(field + ".message", validation["message"], "message must not contain line breaks"));
  }
  const auto expression = validation["messageExpression"].str();
  if (!expression.empty() && withoutSpace(expression).empty()) {
    errors.push_back(fieldInvalid(field + ".messageExpression", validation["messageExpression"],
                                  "must be non-empty if specified"));
  }
  checkKnownIfThere(errors, field + ".reason", validation["reason"],
                    {"Forbidden", "Invalid", "RequestEntityTooLarge"});
}

FieldErrors checkPolicy(const Value& policy) {
  FieldErrors errors;
  const Value& spec = policy["spec"];
  checkKnown(errors, "spec.failurePolicy", spec["failurePolicy"], {"Fail", "Ignore"});
  const Value& match = spec["matchConstraints"];
  if (!match.isObject()) {
    errors.push_back(fieldRequired("spec.matchConstraints"));
  } else {
    checkMatchResources(match, "spec.matchConstraints", errors);
    if (match["resourceRules"].items().empty()) {
      errors.push_back(fieldRequired("spec.matchConstraints.resourceRules"));
    }
  }
  checkMatchConditions(spec["matchConditions"], "spec.matchConditions", errors);
  for (std::size_t i = 0; i < spec["variables"].items().size(); ++i) {
    const std::string at = fmt::format("spec.variables[{}]", i);
    checkExpression(spec["variables"].items()[i], "name", at, "name is not specified", errors);
    checkExpression(spec["variables"].items()[i], "expression", at, "expression is not specified", errors);
  }
  const auto& validations = spec["validations"].items();
  if (validations.empty() && spec["auditAnnotations"].items().empty()) {
    for (const char* list : {"spec.validations", "spec.auditAnnotations"}) {
      errors.push_back(fieldRequired(list, "validations or auditAnnotations must contain at least one item"));
    }
  }
  for (std::size_t i = 0; i < validations.size(); ++i) {
    checkValidation(validations[i], fmt::format("spec.validations[{}]", i), errors);
  }
  return errors;
}

void checkParamRef(const Value& ref, FieldErrors& errors) {
  if (!ref.isObject()) { return; }
  const std::string field = "spec.paramRef";
  const bool named = !ref["name"].str().empty();
  const bool selected = ref["selector"].isObject();
  if (selected) { append(errors, checkRequirements(ref["selector"], field + ".selector")); }
  if (named && selected) {
    for (const char* one : {".name", ".selector"}) {
      errors.push_back(fieldForbidden(field + one, "name and selector are mutually exclusive"));
    }
  }
  if (!named && !selected) {
    errors.push_back(fieldRequired(field, "one of name or selector must be specified"));
  }
  checkKnownOrMissing(errors, field + ".parameterNotFoundAction", ref["parameterNotFoundAction"],
                      {"Deny", "Allow"});
}

FieldErrors checkPolicyBinding(const Value& binding) {
  FieldErrors errors;
  const Value& spec = binding["spec"];
  if (spec["policyName"].str().empty()) {
    errors.push_back(fieldRequired("spec.policyName"));
  } else {
    refuseFor(errors, "spec.policyName", spec["policyName"], dnsSubdomainErrors(spec["policyName"].str()));
  }
  checkParamRef(spec["paramRef"], errors);
  checkMatchResources(spec["matchResources"], "spec.matchResources", errors);
  const std::string field = "spec.validationActions";
  const auto& actions = spec["validationActions"].items();
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", field, i);
    checkKnown(errors, at, actions[i], {"Audit", "Deny", "Warn"});
    if (!seen.insert(actions[i].str()).second) {
      errors.push_back(fieldDuplicate(at, goQuote(actions[i].str())));
    }
  }
  if (seen.contains("Deny") && seen.contains("Warn")) {
    errors.push_back(fieldInvalid(
        field, goTexts(spec["validationActions"], "admissionregistration.ValidationAction"),
        "must not contain both Deny and Warn (repeating the same validation failure information in the API "
        "response and headers serves no purpose)"));
  }
  if (seen.empty()) { errors.push_back(fieldRequired(field, "at least one validation action is required")); }
  return errors;
}

void defaultMatch(Value& match) {
  fillInMissing(match, "matchPolicy", "Equivalent");
  fillInMissing(match, "namespaceSelector", Object{});
  fillInMissing(match, "objectSelector", Object{});
  for (const char* rules : {"resourceRules", "excludeResourceRules"}) {
    eachObject(match, rules, [](Value& rule) { fillInMissing(rule, "scope", "*"); });
  }
}

}  // namespace

FieldErrors checkAdmissionPolicy(const Resource& resource, const json::Value& object) {
  return resource.is(kPoliciesId) ? checkPolicy(object) : checkPolicyBinding(object);
}

void defaultAdmissionPolicy(const Resource& resource, json::Value& object) {
  const bool policy = resource.is(kPoliciesId);
  if (policy && object["spec"].isNull()) { object.set("spec", Object{}); }
  ifObject(object, "spec", [&](Value& spec) {
    if (policy) { fillInMissing(spec, "failurePolicy", "Fail"); }
    ifObject(spec, policy ? "matchConstraints" : "matchResources", defaultMatch);
  });
}

std::vector<std::string> policyWarnings(const Resource& resource, const json::Value& object) {
  if (!resource.is(kPoliciesId)) { return {}; }
  return {
      fmt::format("the sandbox evaluates no CEL: ValidatingAdmissionPolicy {} is kept, and refuses nothing",
                  goQuote(object["metadata"]["name"].str()))};
}

}  // namespace gs::apiserver
