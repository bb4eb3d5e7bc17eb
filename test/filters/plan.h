// What is asked for: so many drawn cases, of which seed, fields and release.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "test/filters/fields.h"

namespace gs::filters {

struct Plan {
  std::uint64_t cases = 20'000;
  std::uint64_t seed = 1;
  Fields fields = 0;
  Release release{};
  bool together = false;              // every case is about all of the fields
  bool all = false;                   // what we do not serve counts as a difference
  std::size_t most_shown = 3;         // kinds of differences that are shown as small cases
  std::string figures{};              // the file for {"oracle_cases_per_s": ...}; "": none
  std::vector<std::string> others{};  // words that are no options
};

/// --cases N, --seed S, --fields LIST, --newest, --together, --all, --show N, --json FILE. Error: another
/// option, one without its value, or a field that there is not.
[[nodiscard]] Result<Plan> planOf(const std::vector<std::string>& words);

}  // namespace gs::filters
