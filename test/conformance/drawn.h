// Objects that are drawn (draw.h), sent to two servers at a time: their answers have to be the same. What is
// created is a dry run; what is updated is created for real before, and deleted then.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "test/conformance/play.h"

namespace gs::conformance {

struct DrawnOptions {
  std::uint64_t count = 5'000;
  std::uint64_t seed = 1;
  std::string kind{};  // only these of them; "": all
};

/// Prints each way in which they differ once, with the least object that shows it. 0: none does. `real` and
/// `ours` make a connection for a thread.
[[nodiscard]] int compareDrawn(const DrawnOptions& options, const std::function<Server()>& real,
                               const std::function<Server()>& ours);

}  // namespace gs::conformance
