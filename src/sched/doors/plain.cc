// The plain door: nvidia.com/gpu limits. Exact, exclusive devices where the node's agent gives containers
// what was chosen, a counted resource elsewhere (R46).
#include "sched/doors/exact.h"

namespace gs::sched {
namespace {

std::optional<AskedBy> plainAsked(const model::Pod& pod) {
  return pod.requests.get(model::kNvidiaGpu) > 0 ? std::optional{AskedBy{"resource", model::kNvidiaGpu}}
                                                 : std::nullopt;
}

DoorResult plainRequest(const model::Pod& pod, const Objects& /*named*/, PodRequest base) {
  DeviceRequest d;
  d.count = pod.requests.get(model::kNvidiaGpu);
  base.devices = std::move(d);
  return base;
}

/// Those of its devices that we gave it by id, the claim door reads.
void addCounted(const model::Pod& pod, Holdings& holdings) {
  holdings.counted += pod.requests.get(model::kNvidiaGpu);
}

}  // namespace

constinit const Door kPlainDoor{.name = "plain",
                                .yields = true,
                                .kept_by = kOurEnforcers,
                                .asked = plainAsked,
                                .request = plainRequest,
                                .holdings = addCounted,
                                .annotations = exactAnnotations};

}  // namespace gs::sched
