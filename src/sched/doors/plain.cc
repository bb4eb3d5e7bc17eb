// The plain door: nvidia.com/gpu limits. Exact, exclusive devices on a node with a GpuNodeStatus, a counted resource
// elsewhere (R46).
#include "sched/doors/door.h"

namespace gs::sched {

DoorResult plainDoor(const model::Pod& pod, PodRequest base) {
  base.door = Door::Plain;
  DeviceRequest d;
  d.count = pod.requests.get(model::kNvidiaGpu);
  base.devices = std::move(d);
  return base;
}

}  // namespace gs::sched
