// Shares of devices, packed tightly: the devices of one node for the containers of one pod (gpu-admission's
// policy).
//
// Containers are served in order, each from what those before it left. A share goes to the device with the
// fewest free milli that has room, then the fewest free MiB, then the lowest id. Whole devices: as many as
// asked of those with all their milli free, in the same order; each is taken with all its memory, and memory
// that was asked is not looked at.
// One container that does not fit: the pod does not. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sched/request/request.h"

namespace gs::sched {

inline constexpr std::int64_t kWholeMilli = 1000;

/// What is free of a device.
struct FreeShare {
  int id = 0;
  std::int64_t milli = 0;  // 0..1000
  std::int64_t mib = 0;
  friend bool operator==(const FreeShare&, const FreeShare&) = default;
};

[[nodiscard]] bool isTighter(const FreeShare& a, const FreeShare& b);

/// By container, the ids in the order in which they were chosen; empty for one that asks for nothing.
using ShareChoice = std::vector<std::vector<int>>;

/// nullopt: does not fit. `devices` have different ids.
[[nodiscard]] std::optional<ShareChoice> tightestFit(std::vector<FreeShare> devices,
                                                     const std::vector<ContainerShare>& containers);

}  // namespace gs::sched
