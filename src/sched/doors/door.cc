#include "sched/doors/door.h"

#include <fmt/format.h>
#include <algorithm>

#include "model/annotations.h"

namespace gs::sched {
namespace {

PodRequest baseRequest(const model::Pod& pod) {
  PodRequest r;
  r.resources = pod.requests;
  r.node_selector = pod.node_selector;
  r.tolerations = pod.tolerations;
  std::sort(r.tolerations.begin(), r.tolerations.end());
  r.tolerations.erase(std::unique(r.tolerations.begin(), r.tolerations.end()), r.tolerations.end());
  return r;
}

std::string joined(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// The conventions that this pod uses besides plain nvidia.com/gpu, by the key that says so.
std::vector<std::string> doorsUsed(const model::Pod& pod) {
  std::vector<std::string> used;
  if (pod.annotation(model::kClaimKey) != nullptr) {
    used.push_back(fmt::format("annotation {}", model::kClaimKey));
  }
  if (pod.annotation(model::kMapKey) != nullptr) {
    used.push_back(fmt::format("annotation {}", model::kMapKey));
  }
  for (const char* resource : {model::kVcudaCore, model::kVcudaMemory}) {
    if (pod.requests.get(resource) > 0) {
      used.push_back(fmt::format("resource {}", resource));
      break;
    }
  }
  return used;
}

}  // namespace

std::string claimName(const model::Pod& pod) {
  const std::string* name = pod.annotation(model::kClaimKey);
  return name == nullptr ? std::string{} : *name;
}

DoorResult readPod(const model::Pod& pod, const model::GpuClaim* claim) {
  if (!pod.scheduling_gates.empty()) {
    return Blocked{"SchedulingGated",
                   fmt::format("waiting for scheduling gates: {}", joined(pod.scheduling_gates))};
  }
  const std::vector<std::string> used = doorsUsed(pod);
  if (used.size() > 1) {
    return Blocked{"TwoDoors", fmt::format("the pod asks for GPUs in {} ways: {}; keep one", used.size(),
                                           fmt::join(used, " and "))};
  }
  if (!pod.unsupported.empty()) {
    return Blocked{
        "Unsupported:" + joined(pod.unsupported),
        fmt::format("{} is not supported by this scheduler yet; remove it or use another schedulerName",
                    fmt::join(pod.unsupported, " and "))};
  }
  if (pod.annotation(model::kClaimKey) != nullptr) { return claimDoor(pod, claim, baseRequest(pod)); }
  if (!used.empty()) {
    return Blocked{"NoSuchDoor", fmt::format("{} is not served by this scheduler yet", used.front())};
  }
  if (pod.requests.get(model::kNvidiaGpu) > 0) { return plainDoor(pod, baseRequest(pod)); }
  return baseRequest(pod);
}

}  // namespace gs::sched
