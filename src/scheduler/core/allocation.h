// What one ResourceClaim of a pod is to say (docs/inside/decisions/0011-gpus-by-dra.md): the one that is made
// for its limits, or one that it names.
#pragma once

#include <string>
#include <vector>

#include "model/dra.h"
#include "model/ids.h"
#include "model/object.h"

namespace gs::scheduler {

struct Allocation {
  model::ObjectKey claim;
  model::Uid of;                              // of a claim that the pod names; "": ours, which is made for it
  std::vector<model::LimitRequest> requests;  // of ours
  std::vector<model::AllocatedDevice> devices;
  std::vector<model::DeviceConfig> config{};
  model::NodeName node;
  std::string reservation;  // of a claim that is made for it
  [[nodiscard]] bool isForLimits() const { return of.empty(); }
  friend bool operator==(const Allocation&, const Allocation&) = default;
};
/// Of all claims of a pod; none: it needs none on its node.
using Allocations = std::vector<Allocation>;

}  // namespace gs::scheduler
