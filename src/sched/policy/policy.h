// The device policies of claims, in one table (R32): which of the free GPUs of a node a pod gets. A new one
// is a file of this folder, a row here, and its name (model::kPolicyNames).
// A policy is a pure function of its arguments; what it offers keeps the terms (terms.h).
#pragma once

#include <optional>
#include <vector>

#include "sched/policy/terms.h"
#include "sched/request/request.h"

namespace gs::sched {

struct DevicePolicy {
  /// Of whole devices: a set out of `free`.
  std::optional<Mask> (*whole)(const Topology& t, Mask free, const DeviceRequest& request,
                               const Terms& terms);
  /// Of devices that others share too (R50). `order`: those that may be, fewest holders first, then lowest
  /// id: what a policy does not wish otherwise stays so.
  std::optional<Mask> (*shared)(const Topology& t, const std::vector<int>& order,
                                const DeviceRequest& request, const Terms& terms);
  /// More islands are better, even where the request ignores topology; layout and bandwidth have no say.
  bool over_islands = false;
};

[[nodiscard]] const DevicePolicy& policyOf(model::Policy policy);

}  // namespace gs::sched
