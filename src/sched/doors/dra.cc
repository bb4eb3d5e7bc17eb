// The DRA door: spec.resourceClaims names ResourceClaims of the pod's namespace, which say what devices they
// are to be allocated (R90).
#include <fmt/format.h>
#include <algorithm>

#include "sched/doors/exact.h"

namespace gs::sched {
namespace {

/// Other pods may name a claim too that was not made for it.
bool sharesClaims(const model::Pod& pod) {
  return std::any_of(pod.claims.begin(), pod.claims.end(), [](const auto& one) { return !one.is_its; });
}

std::optional<AskedBy> draAsked(const model::Pod& pod) {
  return pod.claims.empty() ? std::nullopt : std::optional{AskedBy{"field", "spec.resourceClaims"}};
}

DoorResult draRequest(const model::Pod& pod, const Objects& named, PodRequest base) {
  if (const std::int64_t limit = pod.requests.get(model::kNvidiaGpu); limit > 0) {
    return Blocked{
        "LimitBesideClaims",
        fmt::format("the pod has spec.resourceClaims and resources.limits[\"{}\"]={}, and a limit is a "
                    "claim of its own: remove one of the two",
                    model::kNvidiaGpu, limit)};
  }
  if (named.selection == nullptr) { return named.no_selection; }
  DeviceRequest d;
  d.count = named.selection->most();
  d.selection = named.selection;
  d.shared = sharesClaims(pod);
  base.devices = std::move(d);
  return base;
}

/// Which devices, the claim door reads. What a GpuClaim or a limit gives a pod is not its ResourceClaims'.
void draHoldings(const model::Pod& pod, Holdings& holdings) {
  const bool is_all = claimName(pod).empty() && pod.requests.get(model::kNvidiaGpu) == 0;
  holdings.shared = holdings.shared || (is_all && sharesClaims(pod));
}

}  // namespace

constinit const Door kDraDoor{.name = "dra",
                              .ours_alone = true,
                              .by_id = true,
                              .kept_by = kOurEnforcers,
                              .written = kExactKeys,
                              .asked = draAsked,
                              .request = draRequest,
                              .holdings = draHoldings,
                              .annotations = exactAnnotations};

}  // namespace gs::sched
