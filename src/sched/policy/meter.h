// How much work a choice takes, for whoever makes many of them and has to stop in between: one step for each
// pair of devices whose bandwidth is read, and kStepsPerDevice for each device of a node that is walked over.
// The searches are bounded, but what one of them takes differs by a factor of thousands.
// Given as a pointer, last, by whoever counts; null: nobody does.
#pragma once

#include <cstdint>

namespace gs::sched {

struct Meter {
  std::uint64_t steps = 0;
};

inline constexpr std::uint64_t kStepsPerDevice = 8;
/// Steps that take as long as a look at a node with a few devices, about.
inline constexpr std::uint64_t kStepsPerLook = 128;

inline void addSteps(Meter* meter, std::uint64_t steps) {
  if (meter != nullptr) { meter->steps += steps; }
}

}  // namespace gs::sched
