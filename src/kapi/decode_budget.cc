// PodDisruptionBudgets (policy/v1).
#include <algorithm>
#include <utility>

#include "kapi/decode.h"
#include "kapi/fields.h"
#include "kapi/kinds.h"
#include "kapi/named.h"
#include "kapi/selectors.h"

namespace gs::kapi {
namespace {

using json::View;

// More than people write. Over it a budget protects every pod of its namespace, and counts nobody as gone.
constexpr std::size_t kMostSelected = 4096;  // requirements of a selector, and their values
constexpr std::size_t kMostDisrupted = 4096;

/// nullopt: it protects nobody, because it says nothing, or what nobody can read.
std::optional<model::LabelSelector> protectedPods(const View& v) {
  ReadSelector read = readSelector(v);
  if (!read.is_whole) { return std::nullopt; }
  if (read.parts > kMostSelected) { return model::LabelSelector{}; }
  if (read.selector.requirements.empty()) { return std::nullopt; }
  return std::move(read.selector);
}

constexpr KindInfo kDisruptionBudgetInfo{
    "policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true, decodedBy<decodeDisruptionBudget>};

}  // namespace

constinit const Kind kDisruptionBudget{kDisruptionBudgetInfo};

model::DisruptionBudget decodeDisruptionBudget(const View& v) {
  auto out = namedOf<model::DisruptionBudget>(v);
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
