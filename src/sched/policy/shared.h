// Which devices a Shared request joins (R50): fewest holders, then lowest id; the policies spread and
// preferIds and a Required topology are kept, contiguous has no say (neighbours do not matter to those who
// share).
#pragma once

#include <optional>
#include <vector>

#include "sched/policy/terms.h"
#include "sched/request.h"

namespace gs::sched {

/// `order`: the devices that may be shared, fewest holders first, then lowest id.
[[nodiscard]] std::optional<Mask> sharedSet(const Topology& t, const std::vector<int>& order,
                                            const DeviceRequest& request, const Terms& terms);

}  // namespace gs::sched
