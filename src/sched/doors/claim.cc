// The claim door: annotation gpu.scheduling/claim names a GpuClaim of the pod's namespace (R44).
#include <fmt/format.h>

#include "sched/doors/exact.h"

namespace gs::sched {
namespace {

/// R46: a claim pod with nvidia.com/gpu limits must name the claim's count, and a shared one must have none.
std::optional<Blocked> limitsDisagree(const model::Pod& pod, const model::GpuClaim& claim) {
  const std::int64_t limit = pod.requests.get(model::kNvidiaGpu);
  if (limit == 0) { return std::nullopt; }
  if (claim.exclusivity == model::Exclusivity::Shared) {
    return Blocked{
        "LimitOnShared",
        fmt::format("claim {} is Shared, but the pod sets resources.limits[\"{}\"]={}; remove the limit",
                    claim.key.name, model::kNvidiaGpu, limit)};
  }
  if (limit != claim.count) {
    return Blocked{
        "LimitNotCount",
        fmt::format("resources.limits[\"{}\"]={} but claim {} has spec.devices.count={}; make them equal",
                    model::kNvidiaGpu, limit, claim.key.name, claim.count)};
  }
  return std::nullopt;
}

std::optional<AskedBy> claimAsked(const model::Pod& pod) {
  return pod.annotation(model::kClaimKey) != nullptr ? std::optional{AskedBy{"annotation", model::kClaimKey}}
                                                     : std::nullopt;
}

DoorResult claimRequest(const model::Pod& pod, const Objects& named, PodRequest base) {
  const model::GpuClaim* claim = named.claim;
  if (claimName(pod).empty()) {
    return Blocked{"ClaimNameEmpty",
                   fmt::format("annotation gpu.scheduling/claim is empty; write the name of a GpuClaim in "
                               "namespace {}",
                               pod.key.ns)};
  }
  if (claim == nullptr) {
    return Blocked{"ClaimMissing", fmt::format("gpuclaim \"{}\" not found in namespace {}; create it",
                                               claimName(pod), pod.key.ns)};
  }
  if (!claim->invalid.empty()) {
    return Blocked{"ClaimInvalid",
                   fmt::format("gpuclaim \"{}\" is invalid: {}", claim->key.name, claim->invalid)};
  }
  if (!claim->gang_ref.empty()) { return Blocked{"Gang", "gangs are not supported yet"}; }
  if (auto blocked = limitsDisagree(pod, *claim)) { return *std::move(blocked); }
  base.match_labels = claim->match_labels;
  DeviceRequest d;
  d.count = claim->count;
  d.policy = claim->policy;
  if (model::readsIds(claim->policy)) { d.prefer_ids = claim->prefer_ids; }
  d.shared = claim->exclusivity == model::Exclusivity::Shared;
  d.topology = claim->topology;
  d.min_bandwidth_gbps = claim->topology ? claim->min_bandwidth_gbps : 0;
  base.devices = std::move(d);
  return base;
}

}  // namespace

std::string claimName(const model::Pod& pod) {
  const std::string* name = pod.annotation(model::kClaimKey);
  return name == nullptr ? std::string{} : *name;
}

constinit const Door kClaimDoor{.name = "claim",
                                .by_id = true,
                                .kept_by = kOurEnforcers,
                                .written = kExactKeys,
                                .asked = claimAsked,
                                .request = claimRequest,
                                .holdings = addExact,
                                .annotations = exactAnnotations};

}  // namespace gs::sched
