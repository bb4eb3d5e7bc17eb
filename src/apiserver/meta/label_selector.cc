#include "apiserver/meta/label_selector.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace gs::apiserver {
namespace {

using json::Value;

bool holds(const Value& expression, const Value& labels) {
  const Value* label = labels.find(expression["key"].str());
  const auto op = expression["operator"].str();
  const auto& values = expression["values"].items();
  const bool listed = label != nullptr && std::find(values.begin(), values.end(), *label) != values.end();
  if (op == "In") { return listed; }
  if (op == "NotIn") { return !listed; }
  return op == "Exists" ? label != nullptr : label == nullptr;
}

std::string requirementText(const Value& expression) {
  const auto key = expression["key"].str();
  const auto op = expression["operator"].str();
  if (op == "Exists") { return std::string{key}; }
  if (op == "DoesNotExist") { return fmt::format("!{}", key); }
  std::vector<std::string> values;
  for (const Value& value : expression["values"].items()) { values.emplace_back(value.str()); }
  std::sort(values.begin(), values.end());
  return fmt::format("{} {} ({})", key, op == "In" ? "in" : "notin", fmt::join(values, ","));
}

}  // namespace

bool selects(const json::Value& selector, const json::Value& labels) {
  if (!selector.isObject()) { return false; }
  for (const auto& [key, value] : selector["matchLabels"].members()) {
    const Value* label = labels.find(key);
    if (label == nullptr || *label != value) { return false; }
  }
  const auto& expressions = selector["matchExpressions"].items();
  return std::all_of(expressions.begin(), expressions.end(),
                     [&](const Value& e) { return holds(e, labels); });
}

std::string selectorText(const json::Value& selector) {
  std::multimap<std::string, std::string> sorted;
  for (const auto& [key, value] : selector["matchLabels"].members()) {
    sorted.emplace(key, fmt::format("{}={}", key, value.str()));
  }
  for (const Value& expression : selector["matchExpressions"].items()) {
    sorted.emplace(expression["key"].str(), requirementText(expression));
  }
  std::string out;
  for (const auto& [key, text] : sorted) { out += (out.empty() ? "" : ",") + text; }
  return out;
}

std::int64_t amountOf(const json::Value& value, std::int64_t of, Round round) {
  if (!value.isString()) { return value.intOr(0); }
  const auto text = value.str();
  std::int64_t percent = 0;
  std::from_chars(text.data(), text.data() + text.size(), percent);
  if (!text.ends_with('%')) { return percent; }
  return (of * percent + (round == Round::Up ? 99 : 0)) / 100;
}

}  // namespace gs::apiserver
