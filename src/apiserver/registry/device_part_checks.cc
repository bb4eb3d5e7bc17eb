// Parts that the kinds of resource.k8s.io have in common.
#include <fmt/format.h>

#include <algorithm>

#include "apiserver/registry/device_parts.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr std::size_t kLongestExpression = 10 * 1024;
constexpr std::size_t kLongestObject = 10 * 1024;
constexpr std::size_t kMostBindingConditions = 4;
constexpr std::size_t kMostConditions = 8;
constexpr std::size_t kLongestReason = 1024;
constexpr std::size_t kLongestMessage = 32 * 1024;

constexpr const char* kReasonRule =
    "a condition reason must start with alphabetic character, optionally followed by a string of "
    "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  "
    "or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is "
    "'[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

const Texts& taintEffects() {
  static const Texts kEffects{"NoExecute", "NoSchedule", "None"};
  return kEffects;
}

void checkDeviceExpression(const Value& expression, const std::string& field, FieldErrors& errors) {
  const auto text = expression.str();
  if (text.size() > kLongestExpression) {
    errors.push_back(fieldTooLong(field, kLongestExpression));
  } else if (withoutSpace(text).empty()) {
    errors.push_back(fieldInvalid(field, expression, "compilation failed: there is no expression"));
  }
}

bool isReason(std::string_view reason) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_word = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  return is_letter(reason.front()) && is_word(reason.back()) &&
         std::all_of(reason.begin(), reason.end(),
                     [&](char c) { return is_word(c) || c == ',' || c == ':'; });
}

void checkConditionReason(const Value& reason, const std::string& field, FieldErrors& errors) {
  const auto text = reason.str();
  if (text.empty()) {
    errors.push_back(fieldRequired(field));
  } else if (!isReason(text)) {
    errors.push_back(fieldInvalid(field, reason, kReasonRule));
  }
  if (text.size() > kLongestReason) { errors.push_back(fieldTooLong(field, kLongestReason)); }
}

void checkCondition(const Value& condition, const std::string& field, FieldErrors& errors) {
  if (condition["type"].str().empty()) {
    errors.push_back(fieldRequired(field + ".type", "is required"));
  } else {
    refuseFor(errors, field + ".type", condition["type"], labelKeyErrors(condition["type"].str()));
  }
  checkKnownOrMissing(errors, field + ".status", condition["status"], {"False", "True", "Unknown"});
  const Value& generation = condition["observedGeneration"];
  if (generation.intOr(0) < 0) {
    errors.push_back(
        fieldInvalid(field + ".observedGeneration", generation, "must be greater than or equal to zero"));
  }
  if (condition["lastTransitionTime"].isNull()) {
    errors.push_back(fieldRequired(field + ".lastTransitionTime"));
  }
  checkConditionReason(condition["reason"], field + ".reason", errors);
  if (condition["message"].str().size() > kLongestMessage) {
    errors.push_back(fieldTooLong(field + ".message", kLongestMessage));
  }
}

bool isAmong(const Value& list, const Value& one, std::size_t before) {
  const auto& items = list.items();
  const auto end = items.begin() + static_cast<std::ptrdiff_t>(std::min(before, items.size()));
  return std::find(items.begin(), end, one) != end;
}

/// Names of conditions of a device; `others` has none of them.
void checkBindingNames(const Value& names, const Value& others, const std::string& field,
                       FieldErrors& errors) {
  if (hasTooMany(errors, field, names, kMostBindingConditions)) { return; }
  for (std::size_t i = 0; i < names.items().size(); ++i) {
    const Value& name = names.items()[i];
    const std::string at = fmt::format("{}[{}]", field, i);
    refuseFor(errors, at, name, labelKeyErrors(name.str()));
    if (isAmong(names, name, i)) { errors.push_back(fieldDuplicate(at, goQuote(name.str()))); }
    if (isAmong(others, name, others.items().size())) {
      errors.push_back(
          fieldInvalid(at, name, "bindingFailureConditions must not overlap with bindingConditions"));
    }
  }
}

}  // namespace

void checkDeviceSelectors(const json::Value& selectors, const std::string& field, FieldErrors& errors) {
  if (hasTooMany(errors, field, selectors, kMostSelectors)) { return; }
  for (std::size_t i = 0; i < selectors.items().size(); ++i) {
    const std::string at = fmt::format("{}[{}].cel", field, i);
    const Value& cel = selectors.items()[i]["cel"];
    if (cel.isObject()) {
      checkDeviceExpression(cel["expression"], at + ".expression", errors);
    } else {
      errors.push_back(fieldRequired(at));
    }
  }
}

void checkRawObject(const json::Value& data, const std::string& field, FieldErrors& errors) {
  if (data.isNull()) {
    errors.push_back(fieldRequired(field));
  } else if (json::print(data).size() > kLongestObject) {
    errors.push_back(fieldTooLong(field, kLongestObject));
  } else if (!data.isObject()) {
    errors.push_back(fieldInvalid(field, Value{"<value omitted>"}, "must be a valid JSON object"));
  }
}

void checkOpaqueConfig(const json::Value& opaque, const std::string& field, FieldErrors& errors) {
  if (!opaque.isObject()) {
    errors.push_back(fieldRequired(field));
    return;
  }
  checkDriverNameTagged(opaque["driver"], field + ".driver", errors);
  checkRawObject(opaque["parameters"], field + ".parameters", errors);
}

void checkDeviceTolerations(const json::Value& tolerations, const std::string& field, FieldErrors& errors) {
  for (std::size_t i = 0; i < tolerations.items().size(); ++i) {
    const Value& t = tolerations.items()[i];
    const std::string at = fmt::format("{}[{}]", field, i);
    if (!t["key"].str().empty()) { refuseFor(errors, at + ".key", t["key"], labelKeyErrors(t["key"].str())); }
    if (t["operator"].str() == "Exists") {
      if (!t["value"].str().empty()) {
        errors.push_back(fieldInvalid(at + ".value", t["value"], "must be empty for operator `Exists`"));
      }
    } else if (t["operator"].str() == "Equal") {
      refuseFor(errors, at + ".value", t["value"], labelTextErrors(t["value"].str()));
    } else {
      checkKnownOrMissing(errors, at + ".operator", t["operator"], {"Equal", "Exists"});
    }
    if (!t["effect"].str().empty()) { checkKnown(errors, at + ".effect", t["effect"], taintEffects()); }
  }
}

void checkDeviceTaint(const json::Value& taint, const json::Value& old_effect, const std::string& field,
                      FieldErrors& errors) {
  refuseFor(errors, field + ".key", taint["key"], labelKeyErrors(taint["key"].str()));
  if (!taint["value"].str().empty()) {
    refuseFor(errors, field + ".value", taint["value"], labelTextErrors(taint["value"].str()));
  }
  if (old_effect.isNull() || old_effect != taint["effect"]) {
    checkKnownOrMissing(errors, field + ".effect", taint["effect"], taintEffects());
  }
}

void checkBindingConditions(const json::Value& device, const std::string& field, FieldErrors& errors) {
  const Value& good = device["bindingConditions"];
  const Value& bad = device["bindingFailureConditions"];
  checkBindingNames(good, {}, field + ".bindingConditions", errors);
  checkBindingNames(bad, good, field + ".bindingFailureConditions", errors);
  if (good.items().empty() && !bad.items().empty()) {
    errors.push_back(fieldInvalid(field + ".bindingConditions", Value{},
                                  "bindingConditions are required to use bindingFailureConditions"));
  }
  if (bad.items().empty() && !good.items().empty()) {
    errors.push_back(fieldInvalid(field + ".bindingFailureConditions", Value{},
                                  "bindingFailureConditions are required to use bindingConditions"));
  }
}

void checkConditions(const json::Value& conditions, const std::string& field, FieldErrors& errors) {
  (void)hasTooMany(errors, field, conditions, kMostConditions);
  for (std::size_t i = 0; i < conditions.items().size(); ++i) {
    const Value& condition = conditions.items()[i];
    const std::string at = fmt::format("{}[{}]", field, i);
    const auto& all = conditions.items();
    const bool again = std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i),
                                   [&](const Value& c) { return c["type"] == condition["type"]; });
    if (again) { errors.push_back(fieldDuplicate(at, goQuote(condition["type"].str()))); }
    checkCondition(condition, at, errors);
  }
}

}  // namespace gs::apiserver
