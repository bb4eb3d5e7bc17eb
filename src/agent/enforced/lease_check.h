// Whether a Lease says what a pod says: that the pod has that device, by the reservation that it was bound
// with (R8, R21, R63). A shared lease names several pods, each with a reservation of its own; what it says of
// the others does not matter.
//
// A lease of another version's format counts by what of it can be read (kapi/lease_format.h).
// Pure.
#pragma once

#include <optional>
#include <string>

#include "agent/enforced/said.h"
#include "model/device_id.h"
#include "model/ids.h"
#include "model/lease.h"

namespace gs::agent {

/// Of one of a pod's devices.
struct LeaseQuestion {
  const model::NodeName& node;
  model::DeviceId device;
  const model::Uid& pod;
  const Said& said;
};

struct LeaseSays {
  bool is_its = false;
  bool is_shared = false;
  std::string uuid;                  // of the GPU that the pod was given; "" it is not said
  std::string why;                   // not its: a sentence
  std::optional<model::Uid> holder;  // of another pod, that has the device by it; "" nobody can say who
};
[[nodiscard]] LeaseSays leaseSays(const model::Lease& lease, const LeaseQuestion& question);

}  // namespace gs::agent
