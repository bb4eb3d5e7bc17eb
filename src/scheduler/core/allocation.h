// What the ResourceClaim of a pod is to say (docs/inside/decisions/0011-gpus-by-dra.md).
#pragma once

#include <string>
#include <vector>

#include "model/dra.h"
#include "model/ids.h"

namespace gs::scheduler {

struct Allocation {
  std::vector<model::LimitRequest> requests;
  std::vector<model::AllocatedDevice> devices;
  model::NodeName node;
  std::string reservation;  // of a claim that is made for it
};

}  // namespace gs::scheduler
