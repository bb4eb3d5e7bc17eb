// Where a pod may go: affinity, spreading, tolerations.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/pod_parts.h"
#include "apiserver/registry/template_checks.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr const char* kRequiredAffinity = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr const char* kPreferredAffinity = "preferredDuringSchedulingIgnoredDuringExecution";
constexpr const char* kNoSelector = "must not be specified when labelSelector is not set";

Value textOrEmpty(const Value& text) { return text.isNull() ? Value{""} : text; }

// ---- nodes

/// How many values an operator needs.
void checkCount(std::string_view op, std::size_t count, const std::string& field, FieldErrors& errors) {
  if (op == "In" || op == "NotIn") {
    if (count > 0) { return; }
    errors.push_back(fieldRequired(field, "must be specified when `operator` is 'In' or 'NotIn'"));
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (count == 0) { return; }
    errors.push_back(
        fieldForbidden(field, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
  } else if (count != 1) {
    errors.push_back(fieldRequired(field, "must be specified single value when `operator` is 'Lt' or 'Gt'"));
  }
}

bool isNodeOperator(std::string_view op) {
  return op == "In" || op == "NotIn" || op == "Exists" || op == "DoesNotExist" || op == "Gt" || op == "Lt";
}

/// `strict`: values are values of labels.
void checkNodeRequirement(const Value& r, bool strict, const std::string& field, FieldErrors& errors) {
  const auto op = r["operator"].str();
  const auto& values = r["values"].items();
  if (isNodeOperator(op)) {
    checkCount(op, values.size(), field + ".values", errors);
  } else {
    errors.push_back(
        fieldInvalid(field + ".operator", textOrEmpty(r["operator"]), "not a valid selector operator"));
  }
  refuseFor(errors, field + ".key", r["key"], qualifiedNameErrors(r["key"].str()));
  for (std::size_t i = 0; strict && i < values.size(); ++i) {
    refuseFor(errors, fmt::format("{}.values[{}]", field, i), values[i], labelValueErrors(values[i].str()));
  }
}

void checkNodeField(const Value& r, const std::string& field, FieldErrors& errors) {
  const auto op = r["operator"].str();
  const auto& values = r["values"].items();
  if (op != "In" && op != "NotIn") {
    errors.push_back(
        fieldInvalid(field + ".operator", textOrEmpty(r["operator"]), "not a valid selector operator"));
  } else if (values.size() != 1) {
    errors.push_back(
        fieldRequired(field + ".values",
                      "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"));
  }
  if (r["key"].str() != "metadata.name") {
    errors.push_back(fieldInvalid(field + ".key", textOrEmpty(r["key"]), "not a valid field selector key"));
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    refuseFor(errors, fmt::format("{}.values[{}]", field, i), values[i], dnsSubdomainErrors(values[i].str()));
  }
}

void checkTerm(const Value& term, bool strict, const std::string& field, FieldErrors& errors) {
  const auto& labels = term["matchExpressions"].items();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    checkNodeRequirement(labels[i], strict, fmt::format("{}.matchExpressions[{}]", field, i), errors);
  }
  const auto& fields = term["matchFields"].items();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    checkNodeField(fields[i], fmt::format("{}.matchFields[{}]", field, i), errors);
  }
}

void checkWeight(const Value& weight, const std::string& field, FieldErrors& errors) {
  const auto number = weight.intOr(0);
  if (number < 1 || number > 100) {
    errors.push_back(fieldInvalid(field, Value{number}, "must be in the range 1-100"));
  }
}

void checkNodeAffinity(const Value& affinity, const std::string& field, FieldErrors& errors) {
  if (affinity[kRequiredAffinity].isObject()) {
    checkNodeSelector(affinity[kRequiredAffinity], fmt::format("{}.{}", field, kRequiredAffinity), errors);
  }
  const auto& preferred = affinity[kPreferredAffinity].items();
  for (std::size_t i = 0; i < preferred.size(); ++i) {
    const std::string at = fmt::format("{}.{}[{}]", field, kPreferredAffinity, i);
    checkWeight(preferred[i]["weight"], at + ".weight", errors);
    checkTerm(preferred[i]["preference"], false, at + ".preference", errors);
  }
}

// ---- other pods

/// Keys whose values are those of the pod itself.
void checkLabelKeys(const Value& term, const char* list, const std::string& field, FieldErrors& errors) {
  const auto& keys = term[list].items();
  if (keys.empty()) { return; }
  const std::string here = fmt::format("{}.{}", field, list);
  if (!term["labelSelector"].isObject()) {
    errors.push_back(fieldForbidden(here, kNoSelector));
    return;
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    refuseFor(errors, fmt::format("{}[{}]", here, i), keys[i], qualifiedNameErrors(keys[i].str()));
  }
}

/// A key of matchLabelKeys that the selector has twice: its own, and the one that was made of the key.
void checkKeysTwice(const Value& term, const std::string& field, FieldErrors& errors) {
  std::map<std::string_view, std::size_t> places;
  const auto& keys = term["matchLabelKeys"].items();
  for (std::size_t i = 0; i < keys.size(); ++i) { places[keys[i].str()] = i; }
  const Value& selector = term["labelSelector"];
  std::set<std::string_view> seen;
  for (const auto& [key, value] : selector["matchLabels"].members()) { seen.insert(key); }
  for (const Value& expression : selector["matchExpressions"].items()) {
    const auto key = expression["key"].str();
    const auto place = places.find(key);
    if (place != places.end() && seen.contains(key)) {
      errors.push_back(fieldInvalid(fmt::format("{}[{}]", field, place->second), Value{key},
                                    "exists in both matchLabelKeys and labelSelector"));
    }
    seen.insert(key);
  }
  const auto& other = term["mismatchLabelKeys"].items();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (std::find(other.begin(), other.end(), keys[i]) == other.end()) { continue; }
    errors.push_back(fieldInvalid(fmt::format("{}.matchLabelKeys[{}]", field, i), keys[i],
                                  "exists in both matchLabelKeys and mismatchLabelKeys"));
  }
}

void checkPodTerm(const Value& term, const std::string& field, FieldErrors& errors) {
  for (const char* selector : {"labelSelector", "namespaceSelector"}) {
    append(errors, checkRequirements(term[selector], fmt::format("{}.{}", field, selector)));
  }
  for (const Value& ns : term["namespaces"].items()) {
    refuseFor(errors, field + ".namespace", ns, dnsLabelErrors(ns.str()));
  }
  checkLabelKeys(term, "matchLabelKeys", field, errors);
  checkLabelKeys(term, "mismatchLabelKeys", field, errors);
  checkKeysTwice(term, field, errors);
  const auto topology = term["topologyKey"].str();
  if (topology.empty()) { errors.push_back(fieldRequired(field + ".topologyKey", "can not be empty")); }
  refuseFor(errors, field + ".topologyKey", term["topologyKey"], qualifiedNameErrors(topology));
}

void checkPodTerms(const Value& affinity, const std::string& field, FieldErrors& errors) {
  const auto& required = affinity[kRequiredAffinity].items();
  for (std::size_t i = 0; i < required.size(); ++i) {
    checkPodTerm(required[i], fmt::format("{}.{}[{}]", field, kRequiredAffinity, i), errors);
  }
  const auto& preferred = affinity[kPreferredAffinity].items();
  for (std::size_t i = 0; i < preferred.size(); ++i) {
    const std::string at = fmt::format("{}.{}[{}]", field, kPreferredAffinity, i);
    checkWeight(preferred[i]["weight"], at + ".weight", errors);
    checkPodTerm(preferred[i]["podAffinityTerm"], at + ".podAffinityTerm", errors);
  }
}

// ---- spreading

void checkSpreadKeys(const Value& constraint, const std::string& field, FieldErrors& errors) {
  const auto& keys = constraint["matchLabelKeys"].items();
  if (keys.empty()) { return; }
  const Value& selector = constraint["labelSelector"];
  std::set<std::string_view> selected;
  for (const auto& [key, value] : selector["matchLabels"].members()) { selected.insert(key); }
  for (const Value& e : selector["matchExpressions"].items()) { selected.insert(e["key"].str()); }
  if (!selector.isObject()) { errors.push_back(fieldForbidden(field, kNoSelector)); }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", field, i);
    refuseFor(errors, at, keys[i], qualifiedNameErrors(keys[i].str()));
    if (selected.contains(keys[i].str())) {
      errors.push_back(fieldInvalid(at, keys[i], "exists in both matchLabelKeys and labelSelector"));
    }
  }
}

void checkPositive(const Value& number, const std::string& field, FieldErrors& errors) {
  if (number.intOr(0) > 0) { return; }
  errors.push_back(fieldInvalid(field, Value{number.intOr(0)}, "must be greater than zero"));
}

void checkConstraint(const Value& c, const std::string& field, FieldErrors& errors) {
  checkPositive(c["maxSkew"], field + ".maxSkew", errors);
  if (c["topologyKey"].str().empty()) {
    errors.push_back(fieldRequired(field + ".topologyKey", "can not be empty"));
  }
  const auto action = c["whenUnsatisfiable"].str();
  checkKnown(errors, field + ".whenUnsatisfiable", c["whenUnsatisfiable"],
             {"DoNotSchedule", "ScheduleAnyway"});
  if (!c["minDomains"].isNull()) {
    checkPositive(c["minDomains"], field + ".minDomains", errors);
    if (action != "DoNotSchedule") {
      errors.push_back(fieldInvalid(
          field + ".minDomains", c["minDomains"],
          fmt::format("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {}", action)));
    }
  }
  for (const char* policy : {"nodeAffinityPolicy", "nodeTaintsPolicy"}) {
    checkKnownIfThere(errors, fmt::format("{}.{}", field, policy), c[policy], {"Honor", "Ignore"});
  }
  checkSpreadKeys(c, field + ".matchLabelKeys", errors);
  append(errors, checkRequirements(c["labelSelector"], field + ".labelSelector"));
}

// ---- tolerations

void checkToleration(const Value& t, const std::string& field, FieldErrors& errors) {
  const auto op = t["operator"].str();
  const auto key = t["key"].str();
  if (!key.empty()) { refuseFor(errors, field + ".key", t["key"], qualifiedNameErrors(key)); }
  if (key.empty() && op != "Exists") {
    errors.push_back(
        fieldInvalid(field + ".operator", Value{op},
                     "operator must be Exists when `key` is empty, which means \"match all values and all "
                     "keys\""));
  }
  if (!t["tolerationSeconds"].isNull() && t["effect"].str() != "NoExecute") {
    errors.push_back(fieldInvalid(field + ".effect", textOrEmpty(t["effect"]),
                                  "effect must be 'NoExecute' when `tolerationSeconds` is set"));
  }
  if (op.empty() || op == "Equal") {
    if (const Texts wrong = labelValueErrors(t["value"].str()); !wrong.empty()) {
      errors.push_back(fieldInvalid(field + ".operator", textOrEmpty(t["value"]),
                                    fmt::format("{}", fmt::join(wrong, ";"))));
    }
  } else if (op != "Exists") {
    checkKnown(errors, field + ".operator", t["operator"], {"Equal", "Exists"});
  } else if (!t["value"].str().empty()) {
    errors.push_back(
        fieldInvalid(field + ".operator", t["value"], "value must be empty when `operator` is 'Exists'"));
  }
  if (!t["effect"].str().empty()) { checkTaintEffect(t["effect"], false, field + ".effect", errors); }
}

}  // namespace

void checkNodeSelector(const json::Value& selector, const std::string& field, FieldErrors& errors) {
  const auto& terms = selector["nodeSelectorTerms"].items();
  const std::string list = field + ".nodeSelectorTerms";
  if (terms.empty()) { errors.push_back(fieldRequired(list, "must have at least one node selector term")); }
  for (std::size_t i = 0; i < terms.size(); ++i) {
    checkTerm(terms[i], true, fmt::format("{}[{}]", list, i), errors);
  }
}

void checkAffinity(const json::Value& affinity, const std::string& field, FieldErrors& errors) {
  if (affinity["nodeAffinity"].isObject()) {
    checkNodeAffinity(affinity["nodeAffinity"], field + ".nodeAffinity", errors);
  }
  for (const char* kind : {"podAffinity", "podAntiAffinity"}) {
    if (affinity[kind].isObject()) {
      checkPodTerms(affinity[kind], fmt::format("{}.{}", field, kind), errors);
    }
  }
}

void checkSpread(const json::Value& constraints, const std::string& field, FieldErrors& errors) {
  const auto& all = constraints.items();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", field, i);
    checkConstraint(all[i], at, errors);
    const bool again = std::any_of(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end(), [&](auto& c) {
      return c["topologyKey"].str() == all[i]["topologyKey"].str() &&
             c["whenUnsatisfiable"].str() == all[i]["whenUnsatisfiable"].str();
    });
    if (again) {
      errors.push_back(fieldDuplicate(at + ".{topologyKey, whenUnsatisfiable}",
                                      goQuote(fmt::format("{{{}, {}}}", all[i]["topologyKey"].str(),
                                                          all[i]["whenUnsatisfiable"].str()))));
    }
  }
}

void checkTolerations(const json::Value& tolerations, const std::string& field, FieldErrors& errors) {
  for (std::size_t i = 0; i < tolerations.items().size(); ++i) {
    checkToleration(tolerations.items()[i], fmt::format("{}[{}]", field, i), errors);
  }
}

void checkTaintEffect(const json::Value& effect, bool needed, const std::string& field, FieldErrors& errors) {
  if (needed && effect.str().empty()) {
    errors.push_back(fieldRequired(field));
  } else {
    checkKnown(errors, field, effect, {"NoSchedule", "PreferNoSchedule", "NoExecute"});
  }
}

}  // namespace gs::apiserver
