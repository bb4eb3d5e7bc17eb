// How much work a choice takes, for whoever makes many of them and has to stop in between: one step for each
// pair of devices whose bandwidth is read, and kStepsPerDevice for each device of a node that is walked over.
// The searches are bounded, but what one of them takes differs by a factor of thousands.
// Given as a pointer, last, by whoever counts; null: nobody does. Who looks at many parts of one node bounds
// what their searches take together: from `most` steps on each tries as little as it can. What is chosen
// depends on that, so it is set where it follows from node and request alone.
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
