// All reasons there are, for tests of the tables.
#pragma once

#include <cstddef>

#include "sched/filters/filter.h"

namespace gs::sched {

template <class Visit>
void eachReason(const Visit& visit) {
  for (std::size_t i = 0; i < kReasons; ++i) { visit(static_cast<Reason>(i)); }
}

}  // namespace gs::sched
