// Drawn cases, asked of both sides.
#pragma once

#include "base/result.h"
#include "test/filters/oracle.h"
#include "test/filters/plan.h"

namespace gs::filters {

/// Prints what was found; true: nothing differs, and each filter of the fields has refused often enough for
/// that to mean something.
[[nodiscard]] Result<bool> compare(const Plan& plan, Oracle& oracle);

}  // namespace gs::filters
