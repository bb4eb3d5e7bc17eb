// The numbers of a rolling update: how many pods more and fewer than asked for there may be, and whose turn
// it is. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "json/value.h"

namespace gs::sandbox::controllers {

/// Of spec.strategy.rollingUpdate, in pods; 0 for other strategies. Never both 0 where pods are asked for.
[[nodiscard]] std::int64_t maxSurge(const json::Value& deployment);
[[nodiscard]] std::int64_t maxUnavailable(const json::Value& deployment);
[[nodiscard]] bool isRolling(const json::Value& deployment);

/// Sums over ReplicaSets.
[[nodiscard]] std::int64_t totalWanted(const std::vector<json::Value>& sets);
[[nodiscard]] std::int64_t totalOf(const std::vector<json::Value>& sets, const char* status_field);

/// How many replicas the newest of `all` sets may have now.
[[nodiscard]] std::int64_t newestMayHave(const json::Value& deployment, const std::vector<json::Value>& all,
                                         std::int64_t newest_has);

/// How many replicas each set gets when a Deployment is scaled in the middle of a rollout: each keeps its
/// part, and what is left over goes to the first. `sets` in the order in which they are served.
[[nodiscard]] std::vector<std::int64_t> inProportion(const json::Value& deployment,
                                                     const std::vector<json::Value>& sets);

inline constexpr const char* kDesired = "deployment.kubernetes.io/desired-replicas";
inline constexpr const char* kMost = "deployment.kubernetes.io/max-replicas";

}  // namespace gs::sandbox::controllers
