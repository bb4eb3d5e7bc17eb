// The GPUs of the node and their partitions, as whoever gives them to containers knows them. Pure.
#pragma once

#include <vector>

#include "agent/status.h"
#include "enforce/node_record.h"

namespace gs::agent {

/// Ascending by id. A partition's number is its place in the driver's list; one without a UUID is left out,
/// for nobody could give it to a container.
[[nodiscard]] std::vector<enforce::NodeDevice> nodeDevicesOf(const std::vector<Device>& devices);

}  // namespace gs::agent
