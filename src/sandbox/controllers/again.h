// When a controller wants to look at an object again without anything having changed.
#pragma once

#include <algorithm>
#include <optional>

#include "base/clock.h"

namespace gs::sandbox::controllers {

struct Again {
  bool failed = false;  // a write was refused: soon, and then less and less often
  std::optional<Duration> after{};

  void lookAfter(Duration by) { after = std::min(after.value_or(by), by); }
  void unite(const Again& other) {
    failed = failed || other.failed;
    if (other.after) { lookAfter(*other.after); }
  }
};

}  // namespace gs::sandbox::controllers
