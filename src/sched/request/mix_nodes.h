// Hashes of what requests and rules both have of a pod (hashOf() of each): which nodes it selects, and what
// it tolerates.
#pragma once

#include <cstddef>
#include <vector>

#include "base/mix.h"
#include "model/node_affinity.h"
#include "model/pod.h"

namespace gs::sched {

[[nodiscard]] inline std::size_t mixRequirements(std::size_t h,
                                                 const std::vector<model::NodeRequirement>& requirements) {
  for (const auto& r : requirements) {
    h = mix(mix(h, r.key), static_cast<std::size_t>(r.op));
    for (const auto& value : r.values) { h = mix(h, value); }
  }
  return mix(h, requirements.size());
}

[[nodiscard]] inline std::size_t mixTerm(std::size_t h, const model::NodeTerm& term) {
  return mixRequirements(mixRequirements(h, term.labels), term.fields);
}

[[nodiscard]] inline std::size_t mixTolerations(std::size_t h,
                                                const std::vector<model::Toleration>& tolerations) {
  for (const auto& t : tolerations) {
    h = mix(mix(mix(mix(h, t.key), t.value), t.effect), t.exists ? 1 : 0);
    h = mix(h, static_cast<std::size_t>(t.than));
  }
  return h;
}

}  // namespace gs::sched
