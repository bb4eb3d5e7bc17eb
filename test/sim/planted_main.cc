// planted [--seeds N] [BUG...]: is each bug that is put in on purpose (base/planted.h) found by the seeds 1..N (10,000)? Prints a
// table: the bug, the first seed that shows it, and what was seen there. 1 when one is not found.
//
// A bug that another layer hides is played with that layer off too. That proves something only where the layer alone is found later
// or not at all, so its own line stands in the table as well.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/planted.h"
#include "test/sim/play.h"

namespace gs::planted {
namespace {

std::set<Bug> planted;

struct Case {
  const char* name;
  std::vector<Bug> bugs;  // the first is the one; the others are layers that would hide it
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"ReleaseOnUnknownBinding", {Bug::ReleaseOnUnknownBinding}},
      {"ConflictIsSuccess", {Bug::ConflictIsSuccess}},
      {"NoFenceForLeftovers", {Bug::NoFenceForLeftovers}},
      {"SameFenceTwice", {Bug::SameFenceTwice}},
      {"BindsPastFences", {Bug::BindsPastFences}},
      {"BindsBlindly", {Bug::BindsBlindly}},
      {"BindsEarly", {Bug::BindsEarly}},
      {"BelievesLeases", {Bug::BelievesLeases}},
      {"DeletesBlindly", {Bug::DeletesBlindly}},
      {"UpdatesBlindly", {Bug::UpdatesBlindly}},
      {"ForgetsSharers", {Bug::ForgetsSharers}},
      {"FreesDraining", {Bug::FreesDraining}},
      {"ForgetsOnEnd", {Bug::ForgetsOnEnd}},
      {"KeepsStrays", {Bug::KeepsStrays}},
      {"TakesOthersLeases", {Bug::TakesOthersLeases}},
      {"ParsesLeaseNames", {Bug::ParsesLeaseNames}},
      {"CacheSaysGone", {Bug::CacheSaysGone}},
      {"NoBarrier", {Bug::NoBarrier}},
      {"WritesAfterLoss", {Bug::WritesAfterLoss}},
      {"ParsesLeaseNames+TakesOthersLeases", {Bug::ParsesLeaseNames, Bug::TakesOthersLeases}},
      {"CacheSaysGone+NoBarrier", {Bug::CacheSaysGone, Bug::NoBarrier}},
      {"NoBarrier+TakesOthersLeases", {Bug::NoBarrier, Bug::TakesOthersLeases}},
      {"WritesAfterLoss+TakesOthersLeases", {Bug::WritesAfterLoss, Bug::TakesOthersLeases}},
      {"WritesAfterLoss+UpdatesBlindly", {Bug::WritesAfterLoss, Bug::UpdatesBlindly}},
  };
  return all;
}

/// True when some seed shows it.
bool find(const Case& c, std::uint64_t most) {
  planted = {c.bugs.begin(), c.bugs.end()};
  for (std::uint64_t seed = 1; seed <= most; ++seed) {
    const auto found = sim::play(sim::makePlan(seed));
    if (found.problem.empty()) { continue; }
    fmt::print("{:36} seed {:5}  {}\n", c.name, seed, found.problem);
    std::fflush(stdout);
    return true;
  }
  fmt::print("{:36} not found in {} seeds\n", c.name, most);
  std::fflush(stdout);
  return false;
}

int run(std::vector<std::string> names) {
  std::uint64_t most = 10'000;
  if (names.size() >= 2 && names[0] == "--seeds") {
    most = std::strtoull(names[1].c_str(), nullptr, 10);
    names.erase(names.begin(), names.begin() + 2);
  }
  int missed = 0;
  for (const auto& c : cases()) {
    const bool wanted = names.empty() || std::find(names.begin(), names.end(), c.name) != names.end();
    if (wanted && !find(c, most)) { ++missed; }
  }
  return missed == 0 ? 0 : 1;
}

}  // namespace

bool isIn(Bug bug) { return planted.contains(bug); }

}  // namespace gs::planted

int main(int argc, char** argv) { return gs::planted::run({argv + 1, argv + argc}); }
