// What the extender component is told at start.
#pragma once

#include <string>

#include "base/clock.h"
#include "model/quota.h"

namespace gs::extender {

struct Config {
  [[nodiscard]] bool hasQuota() const { return !quota_map.name.empty(); }

  /// --compat=strict: a pod that has annotations of an earlier call is an error, 150 cores are one GPU, quota counts bound
  /// pods only, and choices that are not certain are given.
  bool strict = false;
  /// The ConfigMap of the quotas; "" none: nobody has a limit. With one, no pod is placed before it was read.
  model::ObjectKey quota_map{};
  model::Quotas quotas_if_forbidden{};  // count while the ConfigMap may not be read
  model::QuotaLabels labels{};
  std::string instance = "gpu-admission";  // who reports events
  /// A caller is told that its pod's annotations could not be written yet. Schedulers wait for 5 s by default.
  Duration answer_within = std::chrono::seconds{4};
};

// When a reservation ends (design 3.13).
inline constexpr Duration kGivenUpAfter =
    std::chrono::seconds{10};  // since its scheduler wrote PodScheduled=False
inline constexpr Duration kForgottenAfter = std::chrono::minutes{15};
/// Volcano without allocateFunc: another node is not offered to the pod for so long.
inline constexpr Duration kHeldForPredicate = std::chrono::seconds{5};

}  // namespace gs::extender
