// An amount as Kubernetes compares amounts.
#pragma once

#include <compare>
#include <cstdint>

namespace gs::model {

/// A Kubernetes quantity to the billionth, as comparisons need it: whole + nano / 10^9, 0 <= nano < 10^9.
struct Quantity {
  std::int64_t whole = 0;
  std::int32_t nano = 0;
  friend auto operator<=>(const Quantity&, const Quantity&) = default;
};

}  // namespace gs::model
