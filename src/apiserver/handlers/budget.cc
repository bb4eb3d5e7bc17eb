#include "apiserver/handlers/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "apiserver/meta/label_selector.h"

namespace gs::apiserver {
namespace {

using json::Value;

bool isReady(const Value& pod) {
  const auto& conditions = pod["status"]["conditions"].items();
  return pod["metadata"]["deletionTimestamp"].isNull() &&
         std::any_of(conditions.begin(), conditions.end(), [](const Value& c) {
           return c["type"].str() == "Ready" && c["status"].str() == "True";
         });
}

struct Count {
  std::int64_t all = 0;
  std::int64_t healthy = 0;
};

Count countPods(const Store& store, const std::string& ns, const Value& selector) {
  Count out;
  const auto [begin, end] = store.range("/pods");
  for (auto it = begin; it != end; ++it) {
    const Value& pod = *it->second.object;
    const auto phase = pod["status"]["phase"].str();
    if (it->first.ns != ns || phase == "Succeeded" || phase == "Failed") { continue; }
    if (!selects(selector, pod["metadata"]["labels"])) { continue; }
    ++out.all;
    out.healthy += isReady(pod) ? 1 : 0;
  }
  return out;
}

std::int64_t neededBy(const Value& spec, std::int64_t all) {
  if (spec.find("maxUnavailable") != nullptr) {
    return std::max<std::int64_t>(0, all - amountOf(spec["maxUnavailable"], all, Round::Up));
  }
  return amountOf(spec.find("minAvailable") != nullptr ? spec["minAvailable"] : Value{1}, all, Round::Up);
}

Refused violates(std::string_view budget, std::int64_t needed, std::int64_t healthy) {
  ApiError error{
      429,  "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.", {}, {},
      false};
  error.details = json::Object{
      {"causes",
       json::Array{Value{json::Object{
           {"reason", "DisruptionBudget"},
           {"message", fmt::format("The disruption budget {} needs {} healthy pods and has {} currently",
                                   budget, needed, healthy)}}}}}};
  return Refused{std::move(error)};
}

}  // namespace

Done budgetAllows(const Store& store, const json::Value& pod) {
  const auto phase = pod["status"]["phase"].str();
  if (phase == "Pending" || phase == "Succeeded" || phase == "Failed" ||
      !pod["metadata"]["deletionTimestamp"].isNull()) {
    return {};
  }
  const std::string ns{pod["metadata"]["namespace"].str()};
  std::vector<const Value*> budgets;
  const auto [begin, end] = store.range("policy/poddisruptionbudgets");
  for (auto it = begin; it != end; ++it) {
    const Value& budget = *it->second.object;
    if (it->first.ns == ns && selects(budget["spec"]["selector"], pod["metadata"]["labels"])) {
      budgets.push_back(&budget);
    }
  }
  if (budgets.empty()) { return {}; }
  if (budgets.size() > 1) {
    return plainError(
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.");
  }
  const Value& budget = *budgets.front();
  const Count count = countPods(store, ns, budget["spec"]["selector"]);
  const std::int64_t needed = neededBy(budget["spec"], count.all);
  if (count.healthy > needed) { return {}; }
  return violates(budget["metadata"]["name"].str(), needed, count.healthy);
}

}  // namespace gs::apiserver
