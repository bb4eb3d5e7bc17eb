// PodDisruptionBudgets (policy/v1).
#include <algorithm>
#include <utility>

#include "kapi/decode.h"
#include "kapi/fields.h"
#include "kapi/kinds.h"

namespace gs::kapi {
namespace {

using json::View;

// More than people write. Over it a budget protects every pod of its namespace, and counts nobody as gone.
constexpr std::size_t kMostSelected = 4096;  // requirements of a selector, and their values
constexpr std::size_t kMostDisrupted = 4096;

std::optional<model::LabelRequirement::Op> budgetOperator(std::string_view name) {
  using Op = model::LabelRequirement::Op;
  if (name == "In") { return Op::In; }
  if (name == "NotIn") { return Op::NotIn; }
  if (name == "Exists") { return Op::Exists; }
  if (name == "DoesNotExist") { return Op::DoesNotExist; }
  return std::nullopt;
}

/// nullopt: it protects nobody, because it says nothing, or what nobody can read.
std::optional<model::LabelSelector> protectedPods(const View& v) {
  model::LabelSelector out;
  std::size_t selected = 0;
  for (const auto [key, value] : v["matchLabels"].members()) {
    out.requirements.push_back({std::string{key}, model::LabelRequirement::Op::In, {text(value)}});
    ++selected;
  }
  for (const View e : v["matchExpressions"].items()) {
    const auto op = budgetOperator(e["operator"].str());
    if (!op) { return std::nullopt; }
    model::LabelRequirement r{text(e["key"]), *op, {}};
    for (const View value : e["values"].items()) { r.values.push_back(text(value)); }
    std::sort(r.values.begin(), r.values.end());
    r.values.erase(std::unique(r.values.begin(), r.values.end()), r.values.end());
    selected += 1 + r.values.size();
    out.requirements.push_back(std::move(r));
  }
  if (selected > kMostSelected) { return model::LabelSelector{}; }
  if (out.requirements.empty()) { return std::nullopt; }
  std::sort(out.requirements.begin(), out.requirements.end());
  out.requirements.erase(std::unique(out.requirements.begin(), out.requirements.end()),
                         out.requirements.end());
  return out;
}

constexpr KindInfo kDisruptionBudgetInfo{
    "policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true, decodedBy<decodeDisruptionBudget>};

}  // namespace

constinit const Kind kDisruptionBudget{kDisruptionBudgetInfo};

model::DisruptionBudget decodeDisruptionBudget(const View& v) {
  model::DisruptionBudget out;
  out.key = objectKey(v);
  out.uid = uidField(v);
  out.revision = objectRevision(v);
  out.pods = protectedPods(v["spec"]["selector"]);
  const View status = v["status"];
  out.allowed = status["disruptionsAllowed"].intOr(0);
  const auto disrupted = status["disruptedPods"].members();
  if (disrupted.size() > kMostDisrupted) { return out; }
  for (const auto [name, since] : disrupted) { out.disrupted.emplace_back(name); }
  std::sort(out.disrupted.begin(), out.disrupted.end());
  return out;
}

}  // namespace gs::kapi
