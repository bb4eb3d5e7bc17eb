// Which nodes a namespace's quota leaves to one of its pods. Pure over the ledger's count of GPUs.
//
// A model may be used while what pods of the namespace use of it (Ledger::gpuUse: bound or reserved), and
// what the pod asks, is at most its limit; in milli-GPU, so parts count as parts. A node passes when its
// model may be used and, if the quota names pools, its pool is one of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/quota.h"
#include "sched/ledger/ledger.h"
#include "sched/request/request.h"

namespace gs::sched {

/// What a namespace may still use of each model that its quota names, in milli-GPU;
/// below 0 when it uses more than that.
struct QuotaRoom {
  std::string model_label;
  std::map<std::string, std::int64_t> models;
  std::string pool_label;
  std::vector<std::string> pools;  // sorted; empty: any
  friend bool operator==(const QuotaRoom&, const QuotaRoom&) = default;
};
/// nullopt: the namespace has no quota.
[[nodiscard]] std::optional<QuotaRoom> quotaRoom(const model::Quotas& quotas,
                                                 const model::QuotaLabels& labels, const Ledger& ledger,
                                                 const std::string& ns);
/// What such a room leaves to a pod that counts `milli`.
[[nodiscard]] QuotaTerms termsOf(const QuotaRoom& room, std::int64_t milli);

/// The terms, and the quota with them, for a pod that counts `milli`. nullopt: the namespace has no quota.
/// What the pod itself already holds must not be in the ledger.
[[nodiscard]] std::optional<QuotaTerms> quotaTerms(const model::Quotas& quotas,
                                                   const model::QuotaLabels& labels, const Ledger& ledger,
                                                   const std::string& ns, std::int64_t milli);
[[nodiscard]] std::optional<QuotaBound> quotaBound(const model::Quotas& quotas,
                                                   const model::QuotaLabels& labels, const Ledger& ledger,
                                                   const std::string& ns, std::int64_t milli);
/// What its devices count: each a whole one. What its shares count, their door says (Holdings::milli).
[[nodiscard]] std::int64_t gpuMilli(const PodRequest& request);
/// It leaves none of any model to the pod.
[[nodiscard]] inline bool isOverQuota(const PodRequest& request) {
  return request.quota && request.quota->terms.models.empty();
}
[[nodiscard]] bool passesQuota(const model::Node& node, const QuotaTerms& terms);

}  // namespace gs::sched
