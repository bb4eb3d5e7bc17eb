// Meter: counts the work of choosing devices, for a caller that makes many choices and has to stop in
// between. This folder reads no clock, and the number of choices says little: one may take thousands of
// times as long as another. So steps are counted: one for each pair of devices whose bandwidth is read, and
// kStepsPerDevice for each device that is walked over.
//
// It is passed as a pointer, as the last argument; nullptr: nobody counts. `most` bounds what several
// searches on one node take together: once `steps` has reached it, each further search tries as little as
// it can (best_set.h, first_set.h). What is chosen then depends on `most`. So it is set only from what the
// node and the request say: the same state gives the same choice.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace gs::sched {

struct Meter {
  static constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t steps = 0;
  std::uint64_t most = kAny;
};

inline constexpr std::uint64_t kStepsPerDevice = 8;
/// Steps that take as long as a look at a node with a few devices, about.
inline constexpr std::uint64_t kStepsPerLook = 128;

inline void addSteps(Meter* meter, std::uint64_t steps) {
  if (meter != nullptr) { meter->steps += steps; }
}

/// What searches may take yet.
[[nodiscard]] inline std::uint64_t stepsLeft(const Meter* meter) {
  return meter == nullptr ? Meter::kAny : meter->most - std::min(meter->most, meter->steps);
}

}  // namespace gs::sched
