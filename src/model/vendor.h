// Whose GPU it is.
#pragma once

#include <cstdint>

namespace gs::model {

enum class Vendor : std::uint8_t { Nvidia, Amd };

}  // namespace gs::model
