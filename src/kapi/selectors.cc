#include "kapi/selectors.h"

#include <algorithm>
#include <charconv>

#include "kapi/fields.h"

namespace gs::kapi {
namespace {

using json::View;
using LabelOp = model::LabelRequirement::Op;
using NodeOp = model::NodeRequirement::Op;

constexpr std::size_t kMaxParts = 4096;  // terms, expressions and values of one selector

template <class T>
void sortedOnce(std::vector<T>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

std::vector<std::string> textsOf(const View& v) {
  std::vector<std::string> out;
  for (const View one : v.items()) { out.push_back(text(one)); }
  sortedOnce(out);
  return out;
}

model::LabelSelector nothing() { return {{{"", LabelOp::In, {}}}}; }

std::optional<model::LabelRequirement> labelRequirement(const View& v) {
  const std::string_view op = v["operator"].str();
  model::LabelRequirement out{text(v["key"]), LabelOp::Exists, textsOf(v["values"])};
  const bool has_values = !out.values.empty();
  if (op == "In" || op == "NotIn") {
    out.op = op == "In" ? LabelOp::In : LabelOp::NotIn;
    return has_values ? std::optional{std::move(out)} : std::nullopt;
  }
  if ((op != "Exists" && op != "DoesNotExist") || has_values) { return std::nullopt; }
  out.op = op == "Exists" ? LabelOp::Exists : LabelOp::DoesNotExist;
  return out;
}

bool isWhole(const std::string& value) {
  std::string_view digits = value;
  if (digits.starts_with('+')) { digits.remove_prefix(1); }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc{} && end == digits.data() + digits.size() && !digits.empty();
}

std::optional<model::NodeRequirement> nodeRequirement(const View& v) {
  const std::string_view op = v["operator"].str();
  model::NodeRequirement out{text(v["key"]), NodeOp::Exists, textsOf(v["values"])};
  const bool has_values = !out.values.empty();
  bool is_fine = false;
  if (op == "In" || op == "NotIn") {
    out.op = op == "In" ? NodeOp::In : NodeOp::NotIn;
    is_fine = has_values;
  } else if (op == "Exists" || op == "DoesNotExist") {
    out.op = op == "Exists" ? NodeOp::Exists : NodeOp::DoesNotExist;
    is_fine = !has_values;
  } else if (op == "Gt" || op == "Lt") {
    out.op = op == "Gt" ? NodeOp::Gt : NodeOp::Lt;
    is_fine = v["values"].items().size() == 1 && isWhole(out.values.front());
  }
  return is_fine ? std::optional{std::move(out)} : std::nullopt;
}

bool isFieldRequirement(const model::NodeRequirement& r) {
  return (r.op == NodeOp::In || r.op == NodeOp::NotIn) && r.values.size() == 1;
}

std::optional<model::NodeTerm> nodeTerm(const View& v) {
  model::NodeTerm out;
  for (const View e : v["matchExpressions"].items()) {
    auto r = nodeRequirement(e);
    if (!r) { return std::nullopt; }
    out.labels.push_back(*std::move(r));
  }
  for (const View e : v["matchFields"].items()) {
    auto r = nodeRequirement(e);
    if (!r || !isFieldRequirement(*r)) { return std::nullopt; }
    out.fields.push_back(*std::move(r));
  }
  sortedOnce(out.labels);
  sortedOnce(out.fields);
  return out.labels.empty() && out.fields.empty() ? std::nullopt : std::optional{std::move(out)};
}

std::size_t partsOf(const model::NodeTerm& term) {
  std::size_t parts = 1;
  for (const auto& r : term.labels) { parts += 1 + r.values.size(); }
  return parts + 2 * term.fields.size();
}

}  // namespace

std::optional<model::LabelSelector> strictSelector(const View& v) {
  if (!v.isObject()) { return std::nullopt; }
  model::LabelSelector out;
  std::size_t parts = 0;
  for (const auto [key, value] : v["matchLabels"].members()) {
    out.requirements.push_back({std::string{key}, LabelOp::In, {text(value)}});
  }
  for (const View e : v["matchExpressions"].items()) {
    auto r = labelRequirement(e);
    if (!r) { return nothing(); }
    parts += r->values.size();
    out.requirements.push_back(*std::move(r));
  }
  if (parts + out.requirements.size() > kMaxParts) { return nothing(); }
  sortedOnce(out.requirements);
  return out;
}

std::vector<model::NodeTerm> nodeTerms(const View& v) {
  std::vector<model::NodeTerm> out;
  std::size_t parts = 0;
  for (const View one : v.items()) {
    auto term = nodeTerm(one);
    if (!term) { continue; }
    parts += partsOf(*term);
    if (parts > kMaxParts) { return {}; }
    out.push_back(*std::move(term));
  }
  return out;
}

}  // namespace gs::kapi
