#include "sched/filters/new_node.h"

#include <algorithm>

#include "model/node_affinity.h"
#include "sched/doors/door.h"
#include "sched/filters/filter.h"
#include "sched/ledger/quota.h"
#include "sched/policy/topology.h"

namespace gs::sched {
namespace {

/// More by id than a pod is ever given of one node.
bool asksTooMany(const PodRequest& r) {
  return r.door != nullptr && r.door->by_id && r.devices && r.devices->selection == nullptr &&
         r.devices->count > kMaxDevices;
}

bool namesItsNodes(const PodRequest& r) {
  return !r.on_node.empty() || r.node_selector.contains(model::kHostnameLabel) ||
         r.match_labels.contains(model::kHostnameLabel) || model::namesNodes(r.node_affinity);
}

/// Its affinity wants it near a pod, and there is none; or on one node with it. (One that is the first that
/// it means itself may go anywhere, and no node refuses it then.)
bool joinsAPod(const PodRequest& r, std::span<const Reason> said) {
  if (!r.near) { return false; }
  if (r.near.standing != nullptr && r.near.standing->lacksCompany()) { return true; }
  const auto& near = r.near.rules->near;
  const bool on_one_node = std::any_of(
      near.begin(), near.end(), [](const auto& term) { return term.topology_key == model::kHostnameLabel; });
  const bool is_refused = std::find(said.begin(), said.end(), Reason::PodAffinity) != said.end();
  return on_one_node && (is_refused || !r.near.rules->means_itself);
}

}  // namespace

PodReason podReasonOf(std::span<const Reason> said) {
  PodReason first = said.empty() ? PodReason::Unschedulable : rowOf(said.front()).pod_reason;
  for (const Reason reason : said) { first = std::min(first, rowOf(reason).pod_reason); }
  return first;
}

PodReason podReasonOf(std::span<const Reason> said, const PodRequest& request) {
  if (asksTooMany(request)) { return PodReason::InvalidRequest; }
  if (isOverQuota(request)) { return PodReason::QuotaExceeded; }
  if (request.volumes != nullptr) {
    if (const auto kept = request.volumes->keptFromNewNodes()) { return *kept; }
  }
  if (namesItsNodes(request)) { return PodReason::WaitsForNode; }
  if (joinsAPod(request, said)) { return PodReason::WaitsForPod; }
  return podReasonOf(said);
}

}  // namespace gs::sched
