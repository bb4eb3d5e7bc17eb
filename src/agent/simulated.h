// A node of the node file (kapi/node_file.h) as hardware, for machines without GPUs: `--simulate`.
#pragma once

#include "agent/hardware.h"
#include "kapi/node_file.h"

namespace gs::agent {

/// A GPU's id is its place on the bus, so one that comes and goes leaves the others their numbers.
/// Islands of the file become NVLinks between all GPUs of each, links within an island say how fast that pair
/// is, links between two are PCIe.
[[nodiscard]] Hardware hardwareOf(const kapi::SimNode& node);

}  // namespace gs::agent
