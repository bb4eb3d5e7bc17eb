// A device, drawn: attributes and capacities of several domains, of all types.
#pragma once

#include "base/random.h"
#include "test/dra/draw.h"

namespace gs::dra {

[[nodiscard]] DrawnDevice drawDevice(Rng& rng);

}  // namespace gs::dra
