// What the tests of fit.h share: cases of one node and one request. Included by tests only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sched/ledger/test_facts.h"
#include "sched/placement/fit.h"

namespace gs::sched {

struct FitCase {
  const char* name;
  TestNode node;
  PodRequest request;
  std::optional<Misfit> expect;
};

[[nodiscard]] inline PodRequest ordinary() {
  PodRequest r;
  r.resources.cpu_milli = 500;
  return r;
}
[[nodiscard]] inline PodRequest asking(PodRequest r, const std::string& resource, std::int64_t amount) {
  r.resources.extended[resource] = amount;
  return r;
}
[[nodiscard]] inline Misfit bare(Reason r, const std::string& detail = "") { return {r, detail, 0, 0}; }

}  // namespace gs::sched
