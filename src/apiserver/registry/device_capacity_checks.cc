// How much of a device several claims may have each.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "apiserver/registry/device_parts.h"
#include "apiserver/registry/pod_parts.h"
#include "kapi/quantity.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr std::size_t kMostOptions = 10;

FieldError wrongAmount(const std::string& field, const Value& amount, const std::string& why) {
  return fieldInvalid(field, Value{amount.str()}, why);
}

void checkOptions(const Value& policy, const Value& all, const std::string& field, FieldErrors& errors) {
  const std::string here = field + ".validValues";
  const auto& options = policy["validValues"].items();
  const Value& standard = policy["default"];
  for (std::size_t i = 1; i < options.size(); ++i) {
    if (compareAmounts(options[i - 1], options[i]) <= 0) { continue; }
    errors.push_back(
        wrongAmount(fmt::format("{}[{}]", here, i), options[i], "values must be sorted in ascending order"));
  }
  const bool few = !hasTooMany(errors, here, policy["validValues"], kMostOptions);
  if (few) {
    for (std::size_t i = 0; i < options.size(); ++i) {
      if (compareAmounts(options[i], all) <= 0) { continue; }
      errors.push_back(wrongAmount(fmt::format("{}[{}]", here, i), options[i],
                                   fmt::format("option is larger than capacity value: {}", all.str())));
    }
    refuseRepeated(
        policy["validValues"], here, [](const Value& one) { return std::string{one.str()}; }, errors);
  }
  // Of too many none is looked at.
  const bool fits = few && std::any_of(options.begin(), options.end(),
                                       [&](const Value& one) { return compareAmounts(one, standard) == 0; });
  if (!fits) {
    errors.push_back(
        wrongAmount(here, standard, "default value is not valid according to the requestPolicy"));
  }
}

/// In thousandths; nothing: more than can be added up.
std::optional<std::int64_t> summable(const Value& amount) {
  constexpr std::int64_t kMost = std::int64_t{1} << 61;
  const auto milli = kapi::milliOf(amount);
  return milli && *milli<kMost&& * milli> - kMost ? std::optional{*milli} : std::nullopt;
}

/// From `from` in steps; amounts that do not fit in thousandths are not looked at.
void checkMultiple(const Value& amount, const Value& from, const Value& step, const std::string& field,
                   FieldErrors& errors) {
  const auto value = summable(amount);
  const auto begin = summable(from);
  const auto by = summable(step);
  if (!value || !begin || by.value_or(0) == 0 || (*value - *begin) % *by == 0) { return; }
  errors.push_back(wrongAmount(
      field, amount,
      fmt::format("value is not a multiple of a given step ({}) from ({})", step.str(), from.str())));
}

/// The real server writes the sum with the suffix of its first part.
void checkOneStep(const Value& min, const Value& step, const Value& all, const std::string& field,
                  FieldErrors& errors) {
  const auto begin = summable(min);
  const auto by = summable(step);
  const Value sum{
      kapi::canonicalQuantity(fmt::format("{}m", begin.value_or(0) + by.value_or(0))).value_or("")};
  if (!begin || !by || compareAmounts(sum, all) <= 0) { return; }
  errors.push_back(wrongAmount(
      field, step, fmt::format("one step {} is larger than capacity value: {}", sum.str(), all.str())));
}

void checkStep(const Value& range, const Value& standard, const Value& all, const std::string& field,
               FieldErrors& errors) {
  const Value& step = range["step"];
  if (step.isNull()) { return; }
  if (compareAmounts(step, Value{"0"}) <= 0) {
    errors.push_back(wrongAmount(field + ".step", step, "must be greater than zero"));
    return;
  }
  checkOneStep(range["min"], step, all, field + ".step", errors);
  checkMultiple(standard, range["min"], step, field + ".step", errors);
  if (!range["max"].isNull()) { checkMultiple(range["max"], range["min"], step, field + ".step", errors); }
}

void checkRange(const Value& policy, const Value& all, const std::string& field, FieldErrors& errors) {
  const Value& range = policy["validRange"];
  const Value& standard = policy["default"];
  const Value& min = range["min"];
  const Value& max = range["max"];
  const std::string here = field + ".validRange";
  if (min.isNull()) {
    errors.push_back(fieldRequired(here + ".min", "required when validRange is defined"));
    return;
  }
  const auto refuse = [&](bool wrong, const char* part, const Value& amount, const char* why,
                          const Value& other) {
    if (!wrong) { return; }
    errors.push_back(
        wrongAmount(fmt::format("{}.{}", here, part), amount, fmt::format("{}: {}", why, other.str())));
  };
  refuse(compareAmounts(min, all) > 0, "min", min, "min is larger than capacity value", all);
  refuse(compareAmounts(standard, min) < 0, "default", standard, "default is less than min", min);
  if (!max.isNull()) {
    refuse(compareAmounts(min, max) > 0, "max", min, "min is larger than max", max);
    refuse(compareAmounts(max, all) > 0, "max", max, "max is larger than capacity value", all);
    refuse(compareAmounts(standard, max) > 0, "default", standard, "default is more than max", max);
  }
  checkStep(range, standard, all, here, errors);
}

void checkRequestPolicy(const Value& capacity, const std::string& field, FieldErrors& errors) {
  const Value& policy = capacity["requestPolicy"];
  const bool lists = !policy["validValues"].items().empty();
  const bool ranges = policy["validRange"].isObject();
  if (lists && ranges) {
    errors.push_back(fieldForbidden(field,
                                    R"(exactly one policy can be specified, cannot specify "validValues" )"
                                    R"(and "validRange" at the same time)"));
    return;
  }
  if (!lists && !ranges) { return; }
  if (policy["default"].isNull()) {
    errors.push_back(fieldRequired(field + ".default", fmt::format("required when {} is defined",
                                                                   lists ? "validValues" : "validRange")));
  } else if (lists) {
    checkOptions(policy, capacity["value"], field, errors);
  } else {
    checkRange(policy, capacity["value"], field, errors);
  }
}

}  // namespace

void checkDeviceCapacity(const json::Value& capacity, bool shares, const std::string& field,
                         FieldErrors& errors) {
  for (const auto& [name, one] : capacity.members()) {
    checkAttributeName(name, field, errors);
    if (!one["requestPolicy"].isObject()) { continue; }
    const std::string at = fmt::format("{}[{}].requestPolicy", field, name);
    if (shares) {
      checkRequestPolicy(one, at, errors);
    } else {
      errors.push_back(fieldForbidden(at, "allowMultipleAllocations must be true"));
    }
  }
}

}  // namespace gs::apiserver
