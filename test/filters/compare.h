// Drawn cases, asked of both sides.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "test/filters/fields.h"
#include "test/filters/oracle.h"

namespace gs::filters {

struct Plan {
  std::uint64_t cases = 20'000;
  std::uint64_t seed = 1;
  Fields fields = 0;
  Release release{};
  bool all = false;            // what we do not serve counts as a difference
  std::size_t most_shown = 3;  // kinds of differences that are shown as small cases
  std::string figures;         // the file for {"oracle_cases_per_s": ...}; "": none
};

/// Prints what was found; true: nothing differs, and each filter of the fields has refused often enough for
/// that to mean something.
[[nodiscard]] Result<bool> compare(const Plan& plan, Oracle& oracle);

}  // namespace gs::filters
