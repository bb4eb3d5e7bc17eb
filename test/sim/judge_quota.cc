// Quotas: GPUs of each model that pods of a namespace may have at once (docs/use/extender.md).
#include <fmt/format.h>

#include <algorithm>

#include "test/sim/cluster.h"
#include "test/sim/judge.h"

namespace gs::sim {

using json::Value;

void Judge::quotasChanged(const apiserver::HistoryEntry& entry) {
  if (entry.key.name != kQuotaMap) { return; }
  Value table;
  if (entry.after != nullptr) {
    if (auto parsed = json::parse((*entry.after)["data"]["gpu_quota"].str())) { table = *std::move(parsed); }
  }
  for (const char* ns : kNamespaces) {
    Quota quota;
    const Value& said = table[ns]["quota"];
    quota.there = said.isObject();
    for (const char* model : kModels) {
      if (said[model].isNumber()) { quota.limits[model] = said[model].intOr(0); }
    }
    if (quotas_[ns].set(std::move(quota), now_)) { last_change_ = now_; }
  }
}

void Judge::noQuotas() {
  for (auto& [ns, quota] : quotas_) { (void)quota.set({}, now_); }
}

bool Judge::Quota::allows(const std::string& model, std::int64_t gpus) const {
  const auto limit = limits.find(model);
  return !there || gpus == 0 || (limit != limits.end() && gpus <= limit->second);
}

/// What pods of that namespace have of that model which were bound before `known`, but for this one. A node
/// that is gone has no model, and of a pod nothing may speak any more.
std::int64_t Judge::usedOfModel(const std::string& ns, const std::string& model, Mono known,
                                const std::string& but) const {
  std::int64_t used = 0;
  for (const auto& [uid, pod] : pods_) {
    const bool unspoken = known != Mono::max() && pod.isUnspoken();
    const bool counts = uid != but && pod.live() && pod.ns == ns && modelOf(pod.node) == model && !unspoken;
    const auto node = past_nodes_.find(pod.node);
    const bool was_away =
        known != Mono::max() &&
        (node == past_nodes_.end() || !node->second.all(known, now_, [](const Node& n) { return n.there; }));
    const auto leased =
        std::count_if(leases_.begin(), leases_.end(), [&, &id = uid, &on = pod.node](const auto& lease) {
          return known == Mono::max() && lease.first.node == on && lease.second.holders.contains(id);
        });
    if (counts) { used += std::max<std::int64_t>(0, leased - pod.gpus - std::ssize(pod.ids)); }
    if (counts && pod.bound_at < known && !was_away) {
      const auto started = known == Mono::max() ? kubelet_.devicesAtStart(uid) : std::nullopt;
      const bool sees_some =
          started && !started->empty();  // as its agent says, whatever node it was annotated for
      // Its agent may say more, where an id was one of two GPUs for a while: who waits may be told so.
      const auto said =
          std::count_if(gpus_.begin(), gpus_.end(), [&, &id = uid, &on = pod.node](const auto& g) {
            return known == Mono::max() && g.first.node == on && g.second.in_use.contains(id);
          });
      const auto seen = std::max(sees_some ? 1 + std::count(started->begin(), started->end(), ',') : 0, said);
      used += std::max({std::int64_t{pod.gpus}, static_cast<std::int64_t>(pod.ids.size()),
                        static_cast<std::int64_t>(pod.named.size()), std::int64_t{seen}});
    }
  }
  return used;
}

void Judge::quotaOn(const std::string& uid, const Pod& pod, Mono decided) {
  const auto asked = std::max(std::int64_t{pod.gpus}, static_cast<std::int64_t>(pod.ids.size()));
  const auto quota = quotas_.find(pod.ns);
  if (asked == 0 || quota == quotas_.end()) { return; }
  const std::string model = modelOf(pod.node);
  const std::int64_t all = asked + usedOfModel(pod.ns, model, decided - kKnown, uid);
  // Before the first one is heard of there was none. What is said between two outages is heard after both.
  const Mono from = decided - 3 * kKnown;
  if (!quota->second.all(from, decided, [&](const Quota& q) { return !q.allows(model, all); })) { return; }
  wrong(fmt::format("{} was bound to {}, and its namespace has {} GPUs of model {}, more than its quota",
                    pod.text(), pod.node, all, model));
}

/// As things are now.
bool Judge::isWithinQuota(const Pod& pod, const std::string& node, std::int64_t asked) const {
  const auto quota = quotas_.find(pod.ns);
  if (quota == quotas_.end()) { return true; }
  const std::string model = modelOf(node);
  return quota->second.now().allows(model, asked + usedOfModel(pod.ns, model, Mono::max(), ""));
}

}  // namespace gs::sim
