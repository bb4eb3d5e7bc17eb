// Which of a pod's GPUs each of its limits is served by, where a DRA driver prepares them.
//
// As the kubelet counts them: containers and sidecars have GPUs of their own; an ordinary init container has
// those that come after the sidecars before it, which others get once it has ended. So all limits together
// need as many GPUs as the pod counts (kapi/pod_requests.h). Limits that have the same GPUs, one after the
// other, share a request of the pod's claim; each request names its GPUs anew. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "model/pod.h"

namespace gs::model {

/// Of the pod's GPUs, in their order, `count` from `first` on.
struct GpuRange {
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t by = 0;  // the first limit with just these GPUs, itself perhaps
  friend bool operator==(const GpuRange&, const GpuRange&) = default;
};

/// Of each limit, in their order.
[[nodiscard]] std::vector<GpuRange> rangesOf(const std::vector<GpuLimit>& limits);
/// How many devices the pod's claim names. No claim may name more than kMaxResults (model/dra.h).
[[nodiscard]] std::size_t resultsFor(const std::vector<GpuLimit>& limits);

}  // namespace gs::model
