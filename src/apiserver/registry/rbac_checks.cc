// Roles and their bindings: kept, and nobody is kept from anything.
#include <fmt/format.h>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/fill_in.h"
#include "apiserver/registry/kind_checks.h"
#include "apiserver/registry/template_checks.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr const char* kRbac = "rbac.authorization.k8s.io";

bool hasAny(const Value& list) { return !list.items().empty(); }

void checkPaths(const Value& rule, bool namespaced, const std::string& field, FieldErrors& errors) {
  const Value& paths = rule["nonResourceURLs"];
  const std::string at = field + ".nonResourceURLs";
  if (namespaced) {
    errors.push_back(fieldInvalid(at, goTexts(paths), "namespaced rules cannot apply to non-resource URLs"));
  }
  if (hasAny(rule["apiGroups"]) || hasAny(rule["resources"]) || hasAny(rule["resourceNames"])) {
    errors.push_back(fieldInvalid(at, goTexts(paths),
                                  "rules cannot apply to both regular resources and non-resource URLs"));
  }
}

void checkRule(const Value& rule, bool namespaced, const std::string& field, FieldErrors& errors) {
  if (!hasAny(rule["verbs"])) {
    errors.push_back(fieldRequired(field + ".verbs", "verbs must contain at least one value"));
  }
  if (hasAny(rule["nonResourceURLs"])) { return checkPaths(rule, namespaced, field, errors); }
  if (!hasAny(rule["apiGroups"])) {
    errors.push_back(
        fieldRequired(field + ".apiGroups", "resource rules must supply at least one api group"));
  }
  if (!hasAny(rule["resources"])) {
    errors.push_back(fieldRequired(field + ".resources", "resource rules must supply at least one resource"));
  }
}

/// Roles whose rules are those of others.
void checkAggregation(const Value& aggregation, FieldErrors& errors) {
  if (!aggregation.isObject()) { return; }
  const std::string field = "aggregationRule.clusterRoleSelectors";
  const auto& selectors = aggregation["clusterRoleSelectors"].items();
  if (selectors.empty()) {
    errors.push_back(
        fieldRequired(field, "at least one clusterRoleSelector required if aggregationRule is non-nil"));
  }
  for (std::size_t i = 0; i < selectors.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", field, i);
    FieldErrors found = checkRequirements(selectors[i], at);
    if (!found.empty()) {
      found.push_back(fieldInvalid(at, std::string{"\"null\""}, "invalid label selector."));
    }
    append(errors, std::move(found));
  }
}

void checkSubject(const Value& subject, bool namespaced, const std::string& field, FieldErrors& errors) {
  const bool account = subject["kind"].str() == "ServiceAccount";
  if (subject["name"].str().empty()) {
    errors.push_back(fieldRequired(field + ".name"));
  } else if (account) {
    refuseFor(errors, field + ".name", subject["name"], dnsSubdomainErrors(subject["name"].str()));
  }
  if (account && !namespaced && subject["namespace"].str().empty()) {
    errors.push_back(fieldRequired(field + ".namespace"));
  }
  const Texts kinds{"ServiceAccount", "User", "Group"};
  const std::size_t before = errors.size();
  checkKnown(errors, field + ".kind", subject["kind"], kinds);
  if (errors.size() > before) { return; }
  checkKnown(errors, field + ".apiGroup", subject["apiGroup"], {account ? "" : kRbac});
}

}  // namespace

FieldErrors checkRole(const Resource& r, const json::Value& role) {
  FieldErrors errors;
  const auto& rules = role["rules"].items();
  for (std::size_t i = 0; i < rules.size(); ++i) {
    checkRule(rules[i], r.namespaced, fmt::format("rules[{}]", i), errors);
  }
  checkAggregation(role["aggregationRule"], errors);
  return errors;
}

FieldErrors checkRoleBinding(const Resource& r, const json::Value& binding, const json::Value& old) {
  FieldErrors errors;
  const Value& role = binding["roleRef"];
  checkKnown(errors, "roleRef.apiGroup", role["apiGroup"], {kRbac});
  checkKnown(errors, "roleRef.kind", role["kind"],
             r.namespaced ? Texts{"Role", "ClusterRole"} : Texts{"ClusterRole"});
  if (role["name"].str().empty()) { errors.push_back(fieldRequired("roleRef.name")); }
  refuseFor(errors, "roleRef.name", role["name"], pathSegmentErrors(role["name"].str()));
  const auto& subjects = binding["subjects"].items();
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    checkSubject(subjects[i], r.namespaced, fmt::format("subjects[{}]", i), errors);
  }
  if (!old.isNull() && role != old["roleRef"]) {
    const std::string shown =
        fmt::format("rbac.RoleRef{{APIGroup:{}, Kind:{}, Name:{}}}", goQuote(role["apiGroup"].str()),
                    goQuote(role["kind"].str()), goQuote(role["name"].str()));
    errors.push_back(fieldInvalid("roleRef", shown, "cannot change roleRef"));
  }
  return errors;
}

void defaultRole(json::Value& role) {
  if (role["rules"].isArray() && role["rules"].items().empty()) { role.erase("rules"); }
}

void defaultRoleBinding(json::Value& binding) {
  if (binding["roleRef"].isNull()) { binding.set("roleRef", json::Object{}); }
  ifObject(binding, "roleRef", [](Value& role) { fillIn(role, "apiGroup", kRbac); });
  eachObject(binding, "subjects", [](Value& subject) {
    const auto kind = subject["kind"].str();
    if (kind == "User" || kind == "Group") { fillIn(subject, "apiGroup", kRbac); }
  });
}

}  // namespace gs::apiserver
