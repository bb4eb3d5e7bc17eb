// Moves: which device a container has in the place of which one that the kubelet's plugin gave it, as text
// on the container. The plugin does not know of it, and may hand out the device in question again: whoever
// answers after a restart reads it from there. Kubernetes passes no annotation of a pod on to its containers,
// so nobody else writes it. By UUID: ids of a node may move while its containers run. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "enforce/device_table.h"
#include "enforce/plan_types.h"

namespace gs::enforce {

/// An annotation of the container: "GPU-a>GPU-b,GPU-c>GPU-d", what the plugin gave first.
inline constexpr const char* kMovedAnnotation = "agent.gpu.scheduling/moved";

[[nodiscard]] std::string printMoves(const std::vector<Move>& moves, const DeviceTable& table);
/// What cannot be read, and devices that are not there, are left out.
[[nodiscard]] std::vector<Move> readMoves(std::string_view text, const DeviceTable& table);

}  // namespace gs::enforce
