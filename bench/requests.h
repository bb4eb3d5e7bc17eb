// What the pods of benchmarks ask for: whole GPUs by a claim, and of cpu and memory what goes with them.
#pragma once

#include <cstdint>

#include "sched/doors/door.h"
#include "sched/request/request.h"

namespace gs::sched {

inline PodRequest benchRequest(std::int64_t gpus) {
  PodRequest r;
  r.door = &kClaimDoor;
  r.devices.emplace();
  r.devices->count = gpus;
  r.resources = {1'000 * gpus, gpus << 30, 0, {{model::kNvidiaGpu, gpus}}};
  return r;
}

}  // namespace gs::sched
