// What a decider's work costs, for tests.
#pragma once

#include <cstdint>

#include "sched/placement/decider.h"

namespace gs::sched {

/// The looks that `action` takes.
template <class Action>
std::uint64_t looksOf(const Decider& decider, const Action& action) {
  const std::uint64_t before = decider.looks();
  action();
  return decider.looks() - before;
}

}  // namespace gs::sched
