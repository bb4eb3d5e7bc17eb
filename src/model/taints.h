// Which taints a pod tolerates (core/v1 Toleration.ToleratesTaint).
#pragma once

#include <cstdint>
#include <vector>

#include "model/node.h"
#include "model/pod.h"

namespace gs::model {

[[nodiscard]] bool tolerates(const Toleration& toleration, const Taint& taint);
[[nodiscard]] bool toleratesAny(const std::vector<Toleration>& tolerations, const Taint& taint);
/// The first that keeps such a pod away (NoSchedule, NoExecute); nullptr: none does.
[[nodiscard]] const Taint* untoleratedOf(const std::vector<Taint>& taints,
                                         const std::vector<Toleration>& tolerations);
/// How many of them ask such a pod to stay away if it can (PreferNoSchedule), and it does not tolerate;
/// at most kMostAvoided.
inline constexpr std::uint8_t kMostAvoided = 100;
[[nodiscard]] std::uint8_t avoidedOf(const std::vector<Taint>& taints,
                                     const std::vector<Toleration>& tolerations);
/// What an unschedulable node (spec.unschedulable) says to pods, whether or not it has that taint.
[[nodiscard]] const Taint& unschedulableTaint();

}  // namespace gs::model
