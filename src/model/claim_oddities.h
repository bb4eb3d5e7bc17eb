// What is odd about the spec of a GpuClaim that is accepted all the same: a field that nobody reads as the
// spec stands. Decided in one place: the scheduler makes events of it, the webhook warnings. Pure.
#pragma once

#include <string>
#include <vector>

#include "model/claim.h"

namespace gs::model {

struct ClaimOddity {
  std::string reason;  // of an event
  std::string about;   // what of the claim makes it odd: while that stays, it is the same oddity
  std::string text;    // what is so, and what to do
  friend bool operator==(const ClaimOddity&, const ClaimOddity&) = default;
};

[[nodiscard]] std::vector<ClaimOddity> odditiesOfSpec(const GpuClaim& claim);

}  // namespace gs::model
