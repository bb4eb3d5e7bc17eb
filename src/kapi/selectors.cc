#include "kapi/selectors.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/sort_unique.h"
#include "kapi/decode_node_affinity.h"
#include "kapi/fields.h"

namespace gs::kapi {
namespace {

using json::View;
using LabelOp = model::LabelRequirement::Op;

constexpr std::size_t kMaxParts = 4096;  // terms, expressions and values of one selector

std::optional<LabelOp> labelOpOf(std::string_view text) {
  if (text == "In") { return LabelOp::In; }
  if (text == "NotIn") { return LabelOp::NotIn; }
  if (text == "Exists") { return LabelOp::Exists; }
  if (text == "DoesNotExist") { return LabelOp::DoesNotExist; }
  return std::nullopt;
}

std::optional<model::LabelRequirement> labelRequirement(const View& v) {
  const auto op = labelOpOf(v["operator"].str());
  if (!op) { return std::nullopt; }
  model::LabelRequirement out{text(v["key"]), *op, {}};
  for (const View one : v["values"].items()) { out.values.push_back(text(one)); }
  sortUnique(out.values);
  const bool wants_values = *op == LabelOp::In || *op == LabelOp::NotIn;
  return wants_values != out.values.empty() ? std::optional{std::move(out)} : std::nullopt;
}

std::size_t partsOf(const model::NodeTerm& term) {
  std::size_t parts = 1;
  for (const auto& r : term.labels) { parts += 1 + r.values.size(); }
  return parts + 2 * term.fields.size();
}

}  // namespace

ReadSelector readSelector(const View& v) {
  ReadSelector out;
  auto& requirements = out.selector.requirements;
  for (const auto [key, value] : v["matchLabels"].members()) {
    requirements.push_back({std::string{key}, LabelOp::In, {text(value)}});
  }
  out.parts = requirements.size();
  for (const View e : v["matchExpressions"].items()) {
    auto r = labelRequirement(e);
    out.is_whole &= r.has_value();
    if (!r) { continue; }
    out.parts += 1 + r->values.size();
    requirements.push_back(*std::move(r));
  }
  sortUnique(requirements);
  return out;
}

std::optional<model::LabelSelector> strictSelector(const View& v) {
  if (!v.isObject()) { return std::nullopt; }
  ReadSelector read = readSelector(v);
  if (read.is_whole && read.parts <= kMaxParts) { return std::move(read.selector); }
  return model::LabelSelector{{{"", LabelOp::In, {}}}};
}

std::vector<model::NodeTerm> nodeTerms(const View& v) {
  std::vector<model::NodeTerm> out;
  std::size_t parts = 0;
  for (const View one : v.items()) {
    auto term = nodeTermOf(one);
    if (term == model::NodeTerm{}) { continue; }
    parts += partsOf(term);
    if (parts > kMaxParts) { return {}; }
    out.push_back(std::move(term));
  }
  return out;
}

}  // namespace gs::kapi
