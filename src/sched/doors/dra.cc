// The DRA door: spec.resourceClaims names ResourceClaims of the pod's namespace, which say what devices they
// are to be allocated (R90).
#include <fmt/format.h>

#include "sched/doors/exact.h"

namespace gs::sched {
namespace {

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
  base.devices = std::move(d);
  return base;
}

}  // namespace

constinit const Door kDraDoor{.name = "dra",
                              .ours_alone = true,
                              .by_id = true,
                              .kept_by = kOurEnforcers,
                              .written = kExactKeys,
                              .asked = draAsked,
                              .request = draRequest,
                              .annotations = exactAnnotations};

}  // namespace gs::sched
