// Who of those that hold a device has ended: it goes by itself.
#pragma once

#include <cstdint>

#include "sched/ledger/node_state.h"

namespace gs::sched {

/// The device drains (R21), and nobody is on the way to it. A lease stays until the device is free, and a
/// ResourceClaim may stay allocated longer: these keep nobody there.
[[nodiscard]] constexpr bool hasEnded(std::uint8_t sources) {
  constexpr auto kDrains = static_cast<std::uint8_t>(Source::Draining);
  constexpr auto kComes = static_cast<std::uint8_t>(static_cast<std::uint8_t>(Source::Reservation) |
                                                    static_cast<std::uint8_t>(Source::BoundPod));
  return (sources & kDrains) != 0 && (sources & kComes) == 0;
}

}  // namespace gs::sched
