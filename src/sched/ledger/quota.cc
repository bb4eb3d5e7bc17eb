#include "sched/ledger/quota.h"

#include <algorithm>
#include <limits>

#include "sched/policy/tightest.h"

namespace gs::sched {
namespace {

constexpr std::int64_t kMostGpus = std::numeric_limits<std::int64_t>::max() / kWholeMilli;

bool isOneOf(const model::Node& node, const std::string& label, const std::vector<std::string>& values) {
  const auto it = node.labels.find(label);
  return it != node.labels.end() && std::binary_search(values.begin(), values.end(), it->second);
}

}  // namespace

std::optional<QuotaRoom> quotaRoom(const model::Quotas& quotas, const model::QuotaLabels& labels,
                                   const Ledger& ledger, const std::string& ns) {
  const auto quota = quotas.find(ns);
  if (quota == quotas.end()) { return std::nullopt; }
  QuotaRoom room{labels.model, {}, labels.pool, {quota->second.pools.begin(), quota->second.pools.end()}};
  for (const auto& [model, gpus] : quota->second.gpus) {
    const std::int64_t limit = std::clamp<std::int64_t>(gpus, 0, kMostGpus) * kWholeMilli;
    room.models[model] = limit - ledger.gpuUse(ns, model);
  }
  return room;
}

QuotaTerms termsOf(const QuotaRoom& room, std::int64_t milli) {
  QuotaTerms terms{room.model_label, {}, room.pool_label, room.pools};
  for (const auto& [model, left] : room.models) {
    if (milli <= left) { terms.models.push_back(model); }
  }
  return terms;
}

std::optional<QuotaTerms> quotaTerms(const model::Quotas& quotas, const model::QuotaLabels& labels,
                                     const Ledger& ledger, const std::string& ns, std::int64_t milli) {
  const auto room = quotaRoom(quotas, labels, ledger, ns);
  return room ? std::optional{termsOf(*room, milli)} : std::nullopt;
}

std::optional<QuotaBound> quotaBound(const model::Quotas& quotas, const model::QuotaLabels& labels,
                                     const Ledger& ledger, const std::string& ns, std::int64_t milli) {
  auto terms = quotaTerms(quotas, labels, ledger, ns, milli);
  return terms ? std::optional{QuotaBound{ns, milli, *std::move(terms)}} : std::nullopt;
}

std::int64_t gpuMilli(const PodRequest& request) {
  return request.devices ? std::min(request.devices->count, kMostGpus) * kWholeMilli : 0;
}

bool passesQuota(const model::Node& node, const QuotaTerms& terms) {
  return isOneOf(node, terms.model_label, terms.models) &&
         (terms.pools.empty() || isOneOf(node, terms.pool_label, terms.pools));
}

}  // namespace gs::sched
