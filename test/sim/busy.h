// An API server that has too much to do, or somebody's limit: a 429, with or without a time to wait. Lists
// get none: while one is held back nobody sees that its sender does not hear of anything (ledger_check.h).
#pragma once

#include "base/random.h"
#include "kapi/call.h"
#include "sandbox/world/transport.h"

namespace gs::sim {

[[nodiscard]] inline sandbox::CallFault busy(const kapi::Call& call, Rng& rng) {
  sandbox::CallFault out{.how = sandbox::CallFault::How::Refused, .http = 429};
  if (kapi::isRead(call.verb) || !rng.chance(50)) { return out; }
  out.retry_after = std::chrono::milliseconds{250} * (1 + rng.below(24));
  out.is_status = rng.chance(50);
  return out;
}

}  // namespace gs::sim
