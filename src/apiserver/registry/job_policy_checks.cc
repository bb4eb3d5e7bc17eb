// What a Job says of pods that fail and of those that are enough: podFailurePolicy and successPolicy.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <tl/expected.hpp>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/template_checks.h"

namespace gs::apiserver {
namespace {

using json::Value;
using Names = std::set<std::string, std::less<>>;

constexpr std::size_t kMostRules = 20;
constexpr std::size_t kMostPatterns = 20;
constexpr std::size_t kMostExitCodes = 255;
constexpr std::size_t kMostIndexText = std::size_t{64} * 1024;

/// One of `known`; where it is missing, the message names them.
void checkNamed(const Value& value, const Texts& known, const std::string& field, FieldErrors& errors) {
  if (!value.str().empty()) { return checkKnown(errors, field, value, known); }
  Texts quoted;
  for (const std::string& one : known) { quoted.push_back(goQuote(one)); }
  errors.push_back(fieldRequired(field, fmt::format("valid values: [{}]", fmt::join(quoted, " "))));
}

std::string goCodes(const Value& codes) {
  if (!codes.isArray()) { return "[]int32(nil)"; }
  std::vector<std::int64_t> out;
  for (const Value& code : codes.items()) { out.push_back(code.intOr(0)); }
  return fmt::format("[]int32{{{}}}", fmt::join(out, ", "));
}

void checkExitCodes(const Value& on, const std::string& field, const Names& containers, FieldErrors& errors) {
  checkNamed(on["operator"], {"In", "NotIn"}, field + ".operator", errors);
  const Value& name = on["containerName"];
  if (!name.isNull() && !containers.contains(name.str())) {
    errors.push_back(fieldInvalid(field + ".containerName", name,
                                  "must be one of the container or initContainer names in the pod template"));
  }
  const auto& codes = on["values"].items();
  if (codes.empty()) {
    errors.push_back(
        fieldInvalid(field + ".values", goCodes(on["values"]), "at least one value is required"));
  }
  (void)hasTooMany(errors, field + ".values", on["values"], kMostExitCodes);
  std::set<std::int64_t> seen;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::string at = fmt::format("{}.values[{}]", field, i);
    if (on["operator"].str() == "In" && codes[i].intOr(0) == 0) {
      errors.push_back(fieldInvalid(at, codes[i], "must not be 0 for the In operator"));
    }
    if (!seen.insert(codes[i].intOr(0)).second) {
      errors.push_back(fieldDuplicate(at, json::print(codes[i])));
    }
  }
  const auto less = [](const Value& a, const Value& b) { return a.intOr(0) < b.intOr(0); };
  if (std::is_sorted(codes.begin(), codes.end(), less)) { return; }
  errors.push_back(fieldInvalid(field + ".values", goCodes(on["values"]), "must be ordered"));
}

void checkPatterns(const Value& patterns, const std::string& field, FieldErrors& errors) {
  (void)hasTooMany(errors, field, patterns, kMostPatterns);
  for (std::size_t i = 0; i < patterns.items().size(); ++i) {
    const Value& pattern = patterns.items()[i];
    const std::string at = fmt::format("{}[{}]", field, i);
    refuseFor(errors, at + ".type", pattern["type"], qualifiedNameErrors(pattern["type"].str()));
    checkNamed(pattern["status"], {"False", "True", "Unknown"}, at + ".status", errors);
  }
}

void checkFailureRule(const Value& rule, bool per_index, const std::string& field, const Names& containers,
                      FieldErrors& errors) {
  const Value& action = rule["action"];
  if (action.str() == "FailIndex" && !per_index) {
    errors.push_back(fieldInvalid(field + ".action", action, "requires the backoffLimitPerIndex to be set"));
  }
  checkNamed(action, {"Count", "FailIndex", "FailJob", "Ignore"}, field + ".action", errors);
  const bool codes = rule["onExitCodes"].isObject();
  const bool conditions = !rule["onPodConditions"].items().empty();
  if (codes) { checkExitCodes(rule["onExitCodes"], field + ".onExitCodes", containers, errors); }
  checkPatterns(rule["onPodConditions"], field + ".onPodConditions", errors);
  if (codes == conditions) {
    errors.push_back({field, "Invalid",
                      fmt::format("Invalid value: specifying {}",
                                  codes ? "both OnExitCodes and OnPodConditions is not supported"
                                        : "one of OnExitCodes and OnPodConditions is required")});
  }
}

// ---- success

tl::expected<std::int64_t, std::string> indexOf(std::string_view text, std::int64_t completions) {
  std::int64_t out = 0;
  std::string_view digits = text;
  if (digits.starts_with('+')) { digits.remove_prefix(1); }
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (error != std::errc{} || end != digits.data() + digits.size()) {
    return tl::unexpected(fmt::format("cannot convert string to integer for index: {}", goQuote(text)));
  }
  if (out >= completions) { return tl::unexpected(fmt::format("too large index: {}", goQuote(text))); }
  return out;
}

std::string notIncreasing(std::int64_t before, std::int64_t next) {
  return fmt::format("non-increasing order, previous: {}, current: {}", before, next);
}

struct Interval {
  std::int64_t first;
  std::int64_t last;
};
/// "3" or "3-5".
tl::expected<Interval, std::string> intervalOf(std::string_view text, std::int64_t completions) {
  const auto dash = text.find('-');
  if (std::count(text.begin(), text.end(), '-') > 1) {
    return tl::unexpected(
        fmt::format("the fragment {} violates the requirement that an index interval can have at most two "
                    "parts separated by '-'",
                    goQuote(text)));
  }
  const auto first = indexOf(text.substr(0, dash), completions);
  if (!first) { return tl::unexpected(first.error()); }
  if (dash == std::string_view::npos) { return Interval{*first, *first}; }
  const auto last = indexOf(text.substr(dash + 1), completions);
  if (!last) { return tl::unexpected(last.error()); }
  if (*first >= *last) { return tl::unexpected(notIncreasing(*first, *last)); }
  return Interval{*first, *last};
}

/// How many indexes "0,3-5" names.
tl::expected<std::int64_t, std::string> countIndexes(std::string_view text, std::int64_t completions) {
  std::int64_t total = 0;
  std::optional<std::int64_t> before;
  for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    const auto interval = intervalOf(text.substr(begin, end - begin), completions);
    if (!interval) { return tl::unexpected(interval.error()); }
    if (before && *before >= interval->first) {
      return tl::unexpected(notIncreasing(*before, interval->first));
    }
    total += interval->last - interval->first + 1;
    before = interval->last;
    begin = end + 1;
  }
  return total;
}

void checkSuccessRule(const Value& rule, std::int64_t completions, const std::string& field,
                      FieldErrors& errors) {
  const Value& count = rule["succeededCount"];
  const Value& indexes = rule["succeededIndexes"];
  if (count.isNull() && indexes.isNull()) {
    errors.push_back(
        fieldRequired(field, "at least one of succeededCount or succeededIndexes must be specified"));
  }
  const auto named = countIndexes(indexes.str(), completions);
  if (indexes.str().size() > kMostIndexText) {
    errors.push_back({field + ".succeededIndexes", "TooLong",
                      fmt::format("Too long: may not be more than {} bytes", kMostIndexText)});
  }
  if (!named) {
    errors.push_back(fieldInvalid(field + ".succeededIndexes", indexes,
                                  "error parsing succeededIndexes: " + named.error()));
  }
  const std::string at = field + ".succeededCount";
  const auto refuse_above = [&](std::int64_t most, std::string_view what) {
    if (count.intOr(0) <= most) { return; }
    errors.push_back(fieldInvalid(
        at, count, fmt::format("must be less than or equal to {} (the number of {})", most, what)));
  };
  checkNotNegative(errors, at, count);
  if (count.isNull()) { return; }
  refuse_above(completions, "specified completions");
  if (indexes.isNull()) { return; }
  refuse_above(named ? *named : 0, "indexes in the specified succeededIndexes field");
}

}  // namespace

void checkFailurePolicy(const json::Value& spec, FieldErrors& errors) {
  const std::string field = "spec.podFailurePolicy.rules";
  const Value& rules = spec["podFailurePolicy"]["rules"];
  (void)hasTooMany(errors, field, rules, kMostRules);
  Names containers;
  for (const char* list : {"containers", "initContainers"}) {
    for (const Value& one : spec["template"]["spec"][list].items()) { containers.emplace(one["name"].str()); }
  }
  for (std::size_t i = 0; i < rules.items().size(); ++i) {
    checkFailureRule(rules.items()[i], !spec["backoffLimitPerIndex"].isNull(),
                     fmt::format("{}[{}]", field, i), containers, errors);
  }
}

void checkSuccessPolicy(const json::Value& spec, FieldErrors& errors) {
  const Value& policy = spec["successPolicy"];
  if (!policy.isObject()) { return; }
  if (spec["completionMode"].str() != "Indexed") {
    errors.push_back(
        fieldInvalid("spec.successPolicy", json::print(policy), "requires indexed completion mode"));
    return;
  }
  const std::string field = "spec.successPolicy.rules";
  const Value& rules = policy["rules"];
  if (rules.items().empty()) {
    errors.push_back(
        fieldRequired(field, "at least one rules must be specified when the successPolicy is specified"));
  }
  (void)hasTooMany(errors, field, rules, kMostRules);
  for (std::size_t i = 0; i < rules.items().size(); ++i) {
    checkSuccessRule(rules.items()[i], spec["completions"].intOr(0), fmt::format("{}[{}]", field, i), errors);
  }
}

}  // namespace gs::apiserver
