#include <algorithm>
#include <cstddef>
#include <sstream>
#include <utility>

#include "test/sim/play.h"

namespace gs::sim {
namespace {

/// Without the names, uids and numbers.
std::string kindOf(const std::string& problem) {
  std::string kind;
  std::istringstream words{problem};
  for (std::string word; words >> word;) {
    if (word.find_first_of("0123456789") == std::string::npos) { kind.append(word).append(" "); }
  }
  return kind.substr(0, 60);
}

}  // namespace

Plan shorten(const Plan& plan) {
  Plan best = plan;
  const std::string kind = kindOf(play(plan).problem);
  for (std::size_t chunk = std::max<std::size_t>(1, plan.steps.size() / 2); chunk > 0; chunk /= 2) {
    for (std::size_t at = 0; at + chunk <= best.steps.size();) {
      Plan fewer = best;
      const auto from = fewer.steps.begin() + static_cast<std::ptrdiff_t>(at);
      fewer.steps.erase(from, from + static_cast<std::ptrdiff_t>(chunk));
      if (kindOf(play(fewer).problem) != kind) {
        at += chunk;
      } else {
        best = std::move(fewer);
      }
    }
  }
  return best;
}

}  // namespace gs::sim
