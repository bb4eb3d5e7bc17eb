// A program, for one device. Nothing is evaluated twice, so there are as many operations as the selector's
// text is long. But a name may stand for a long text, and be used again and again, and a pattern costs as
// much for each byte of a text as its program is large: so what operations take is added up, and kMaxCost
// ends it.
#pragma once

#include <cstdint>
#include <string_view>

#include "cel/value.h"

namespace gs::cel {

/// True, false, or a Fault; what says neither true nor false is a Fault too. `cost`: what it took is added.
[[nodiscard]] Value evaluate(const Program& program, std::string_view driver,
                             const model::SliceDevice& device, std::uint64_t& cost);

}  // namespace gs::cel
