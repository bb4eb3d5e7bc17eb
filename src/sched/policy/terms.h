// What every device policy is told, beside the topology and the free devices. Policies are pure functions of
// their arguments; equal choices go to the lowest bits. A device is never in a choice twice.
#pragma once

#include <cstdint>

#include "sched/policy/meter.h"
#include "sched/policy/topology.h"

namespace gs::sched {

struct Terms {
  int count = 1;
  /// topology.mode Required: one island and every pair at least min_gbps, else nothing.
  bool required = false;
  /// Not required: sets that reach it are better than those that don't.
  std::int64_t min_gbps = 0;
  Meter* meter = nullptr;

  [[nodiscard]] bool metBy(const Connection& c) const { return count < 2 || c.worst >= min_gbps; }
  [[nodiscard]] bool allows(const Topology& t, Mask set) const {
    return !required || (t.inOneIsland(set) && metBy(t.connectionOf(set)));
  }
};

}  // namespace gs::sched
