// An API server that has too much to do, or somebody's limit: a 429, with or without a time to wait.
#pragma once

#include "base/random.h"
#include "sandbox/world/transport.h"

namespace gs::sim {

[[nodiscard]] inline sandbox::CallFault busy(Rng& rng) {
  sandbox::CallFault out{.how = sandbox::CallFault::How::Refused, .http = 429};
  if (!rng.chance(50)) { return out; }
  out.retry_after = std::chrono::milliseconds{250} * (1 + rng.below(24));
  out.is_status = rng.chance(50);
  return out;
}

}  // namespace gs::sim
