// Who is to have a lease: the form in which placements and repairs say it to the lease desk.
#pragma once

#include <vector>

#include "model/annotations.h"
#include "scheduler/core/context.h"
#include "scheduler/leases/lease_desk.h"

namespace gs::scheduler {

/// What one reservation covers.
struct Devices {
  model::NodeName node;
  std::vector<int> ids;
  bool shared = false;
};

/// For the lease of device `id`, with the UUID that its agent says now.
[[nodiscard]] inline Claimant claimantOf(const Context& context, const model::Uid& uid,
                                         const model::ObjectKey& pod, const model::ReservationId& reservation,
                                         const Devices& devices, int id) {
  Claimant c;
  c.uid = uid;
  c.pod = pod;
  c.reservation = reservation;
  c.node = devices.node;
  c.gpu = id;
  c.devices = model::printAllocation(devices.node, devices.ids);
  c.shared = devices.shared;
  c.gpu_uuid = context.gpuUuid(devices.node, id);
  return c;
}

}  // namespace gs::scheduler
