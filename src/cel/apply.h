// The operations that need their operands' values and nothing else.
#pragma once

#include "cel/value.h"

namespace gs::cel {

/// Whether they are the same. Of different types they are not; but a version or a quantity on the left can be
/// compared with its like only (as cel-go does: "1" == version is false, version == "1" is a Fault).
[[nodiscard]] Value equal(const Value& left, const Value& right);
/// Neither operand is a Fault. Of one operand, `right` says nothing.
[[nodiscard]] Value apply(const Node& node, const Value& left, const Value& right, Kept& kept);

}  // namespace gs::cel
