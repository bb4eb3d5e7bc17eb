// planted [BUG...]: is each bug that is put in on purpose (base/planted.h) found by the seeds? Prints a table: the bug, the first
// seed that shows it, and what was seen. 1 when one is not found within kMostSeeds. A bug that another layer hides is played with that
// layer off too.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "base/planted.h"
#include "test/sim/play.h"

namespace gs::planted {
namespace {

std::set<Bug> planted;

constexpr std::uint64_t kMostSeeds = 10'000;

struct Case {
  const char* name;
  std::vector<Bug> bugs;  // the first is the one; the others are layers that would hide it
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"ReleaseOnUnknownBinding", {Bug::ReleaseOnUnknownBinding}},
      {"ConflictIsSuccess", {Bug::ConflictIsSuccess}},
      {"CacheSaysGone", {Bug::CacheSaysGone}},
      {"NoFenceForLeftovers", {Bug::NoFenceForLeftovers}},
      {"NoBarrier", {Bug::NoBarrier}},
      {"ForgetsSharers", {Bug::ForgetsSharers}},
      {"FreesDraining", {Bug::FreesDraining}},
      {"ParsesLeaseNames", {Bug::ParsesLeaseNames}},
      {"DeletesBlindly", {Bug::DeletesBlindly}},
      {"UpdatesBlindly", {Bug::UpdatesBlindly}},
      {"BindsBlindly", {Bug::BindsBlindly}},
      {"AdoptsParts", {Bug::AdoptsParts}},
      {"ForgetsOnEnd", {Bug::ForgetsOnEnd}},
      {"NoSweep", {Bug::NoSweep}},
      {"WritesAfterLoss", {Bug::WritesAfterLoss}},
      {"TakesOthersLeases", {Bug::TakesOthersLeases}},
  };
  return all;
}

/// True when some seed shows it.
bool find(const Case& c) {
  planted = {c.bugs.begin(), c.bugs.end()};
  for (std::uint64_t seed = 1; seed <= kMostSeeds; ++seed) {
    const auto found = sim::play(sim::makePlan(seed));
    if (found.problem.empty()) { continue; }
    fmt::print("{:24} seed {:5}  {}\n", c.name, seed, found.problem);
    std::fflush(stdout);
    return true;
  }
  fmt::print("{:24} not found in {} seeds\n", c.name, kMostSeeds);
  std::fflush(stdout);
  return false;
}

int run(const std::vector<std::string>& names) {
  int missed = 0;
  for (const auto& c : cases()) {
    const bool wanted = names.empty() || std::find(names.begin(), names.end(), c.name) != names.end();
    if (wanted && !find(c)) { ++missed; }
  }
  return missed == 0 ? 0 : 1;
}

}  // namespace

bool isIn(Bug bug) { return planted.contains(bug); }

}  // namespace gs::planted

int main(int argc, char** argv) { return gs::planted::run({argv + 1, argv + argc}); }
