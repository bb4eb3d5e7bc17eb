// For tests only: devices by their UUIDs.
#pragma once

#include <string>
#include <vector>

#include "agent/status.h"

namespace gs::agent {

/// In the order of their ids.
inline std::vector<Device> gpus(const std::vector<std::string>& uuids) {
  std::vector<Device> out(uuids.size());
  for (std::size_t id = 0; id < uuids.size(); ++id) {
    out[id].id = static_cast<int>(id);
    out[id].gpu.uuid = uuids[id];
  }
  return out;
}

}  // namespace gs::agent
