// The file of DRA drivers (dra/file/driver_file.h), for the flag --dra-drivers of gpu-scheduler. Read once,
// at the start.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "dra/drivers.h"

namespace gs::serve {

inline constexpr std::size_t kMostOfADriverFile = std::size_t{64} << 10;  // bytes

/// YAML or JSON. `path` "": the drivers that every installation knows. Error: the flag, which file, and what
/// is wrong with it.
[[nodiscard]] Result<dra::Drivers> readDrivers(const std::string& path);

}  // namespace gs::serve
