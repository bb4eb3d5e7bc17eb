// mutants [--seeds N] [--hidden] [BUG...]: is each bug that is put in on purpose (base/mutant.h, mutators.h)
// found by the seeds 1..N (10,000)? Prints a table: the bug, the first seed that shows it, and what was seen
// there. 1 when one is not found.
//
// A bug that another layer hides is played with that layer off too. That proves something only where the
// layer alone is found later or not at all, which --hidden shows.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/mutant.h"
#include "test/sim/dra_play.h"
#include "test/sim/enforce_play.h"
#include "test/sim/mutators.h"
#include "test/sim/play.h"
#include "test/sim/pods_play.h"

namespace gs::mutant {
namespace {

using sim::Feature;

std::set<Bug> planted;
std::set<Bug> met;  // of those, what the code that is played came to

/// Which plays are to find it: those of a plan with its features, those of nodes with a DRA driver, those
/// of pods, or those of nodes with a device plugin.
enum class Plays { Plan, Dra, Pods, Enforce };

struct Case {
  const char* name;
  std::vector<Bug> bugs;   // the first is the one; the others are layers that would hide it; none: a mutator
  bool hidden = false;     // other layers hide it: asked with --hidden only, and not expected to be found
  std::uint64_t from = 1;  // the first seed that is played: those before it do not show it, and take minutes
  sim::Features features{};  // that the plays have
  Plays plays = Plays::Plan;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"ReleaseOnUnknownBinding", {}},
      {"ConflictIsSuccess", {}},
      {"NoFenceForLeftovers", {Bug::NoFenceForLeftovers}},
      {"SameFenceTwice", {Bug::SameFenceTwice}},
      {"IgnoresFences", {Bug::IgnoresFences}},
      {"BindsBlindly", {}},
      {"BindsUnnamedBlindly", {}},
      {"BindsEarly", {Bug::BindsEarly}},
      {"DeletesBlindly", {}},
      {"UpdatesBlindly", {}},
      {"ForgetsSharers", {Bug::ForgetsSharers}},
      {"FreesDraining", {Bug::FreesDraining}},
      {"FreesUnobserved", {Bug::FreesUnobserved}},
      {"FreesInUse", {Bug::FreesInUse}},
      {"ForgetsOnEnd", {Bug::ForgetsOnEnd}},
      {"KeepsOrphans", {Bug::KeepsOrphans}},
      {"ForgetsCounted", {Bug::ForgetsCounted}, false, 4200},
      {"GrantsOneTooFew", {Bug::GrantsOneTooFew}},
      {"NamesNoPod", {}},
      {"GrantsUnhealthy", {}},
      {"IgnoresTopology", {}},
      {"TrustsSilence", {Bug::TrustsSilence}},
      {"CacheSaysGone+NoInitialSync", {Bug::CacheSaysGone, Bug::NoInitialSync}},
      {"NoInitialSync+TakesOthersLeases", {Bug::NoInitialSync, Bug::TakesOthersLeases}},
      {"IgnoresUuids", {Bug::IgnoresUuids}, false, 1, {Feature::Renumber}},
      {"ReclaimsByNumber", {Bug::ReclaimsByNumber}, true, 1, {Feature::Renumber}},
      {"FreesAnonymous", {Bug::FreesAnonymous}, false, 1, {Feature::Foreign}},
      {"AwaitsNoLooks", {Bug::AwaitsNoLooks}, false, 390, {Feature::Foreign}},
      {"HidesContradictions", {Bug::HidesContradictions}, false, 150, {Feature::Foreign}},
      {"IgnoresSidecars", {Bug::IgnoresSidecars}, false, 1, {Feature::Sidecars}},
      {"DropsOthersLeases+IgnoresRecord",
       {Bug::DropsOthersLeases, Bug::IgnoresRecord},
       false,
       1,
       {Feature::Another}},
      {"RetriesAtOnce", {Bug::RetriesAtOnce}, false, 1, {Feature::Rates, Feature::Stuck}},
      {"NoWindows+WaitsInSlots", {Bug::NoWindows, Bug::WaitsInSlots}, false, 1, {Feature::Stuck}},
      {"UnknownIsHealthy", {}, false, 1200, {Feature::Unknown}},
      {"ForgetsCpu", {}, false, 1, {Feature::Resources}},
      {"IgnoresEnforcer", {}, false, 1, {Feature::Enforcer}},
      {"IgnoresQuotas", {}, false, 1, {Feature::Quotas}},
      {"AnswersTooEarly", {Bug::AnswersTooEarly}, false, 1, {Feature::KubeScheduler}},
      {"AdoptsElsewhere", {Bug::AdoptsElsewhere}, false, 1, {Feature::KubeScheduler}},
      {"BindsUnseen", {Bug::BindsUnseen}, false, 1, {Feature::KubeScheduler}},
      {"WakesNobody", {Bug::WakesNobody}, false, 1, {Feature::KubeScheduler}},
      {"EvictsEquals", {Bug::EvictsEquals}, false, 1, {Feature::KubeScheduler}},
      {"AppendsVariables", {Bug::AppendsVariables}, false, 1, {Feature::Webhook}},
      {"HoldsForEver", {Bug::HoldsForEver}, true, 1, {Feature::KubeScheduler}},
      {"KeepsUntold", {Bug::KeepsUntold}, false, 1, {Feature::Stuck}},
      {"ForgetsInitShares", {Bug::ForgetsInitShares}, false, 1, {Feature::OddShares}},
      {"HoldsAnew", {Bug::HoldsAnew}, true, 1, {Feature::KubeScheduler}},
      {"OffersRefused", {Bug::OffersRefused}, true, 1, {Feature::KubeScheduler}},
      {"TakesMounted", {Bug::TakesMounted}, false, 1, {Feature::Caches}},
      {"KeepsCutLayers", {Bug::KeepsCutLayers}, false, 1, {Feature::Caches}},
      {"MountsOthersCaches", {Bug::MountsOthersCaches}, false, 1, {Feature::Caches}},
      {"MountsUnsaid", {Bug::MountsUnsaid}, false, 1, {Feature::Caches}},
      {"LetsMountedGo", {Bug::LetsMountedGo}, false, 1, {Feature::Caches}},
      {"AsksNoRegistry", {Bug::AsksNoRegistry}, false, 1, {Feature::Caches, Feature::OddCaches}},
      {"KeepsItsWorker", {Bug::KeepsItsWorker}, false, 1, {Feature::Caches, Feature::OddCaches}},
      {"ForgetsDamage", {Bug::ForgetsDamage}, false, 1, {Feature::Caches, Feature::OddCaches}},
      {"KeepsDamage", {Bug::KeepsDamage}, false, 1, {Feature::Caches, Feature::OddCaches}},
      {"OnePathForAll", {Bug::OnePathForAll}, false, 1, {Feature::Caches, Feature::OddCaches}},
      {"GivesMoved", {Bug::GivesMoved}, false, 1, {Feature::Lost}},
      {"ForgetsVanished", {Bug::ForgetsVanished}, false, 1, {Feature::Lost}},
      {"BindsUnmapped", {Bug::BindsUnmapped}, false, 1, {}, Plays::Dra},
      {"NoLookAtOthers", {Bug::NoLookAtOthers}, false, 1, {}, Plays::Dra},
      {"KeepsAllocation", {Bug::KeepsAllocation}, false, 1, {}, Plays::Dra},
      {"FreesAllocated", {Bug::FreesAllocated}, false, 1, {}, Plays::Dra},
      {"WrongRequestName+TrustsMapping",
       {Bug::WrongRequestName, Bug::TrustsMapping},
       false,
       1,
       {},
       Plays::Dra},
      {"JoinsUnreserved", {Bug::JoinsUnreserved}, false, 1, {}, Plays::Dra},
      {"LeaveEmpties", {Bug::LeaveEmpties}, false, 110, {}, Plays::Dra},
      {"StrangerJoins", {Bug::StrangerJoins}, false, 430, {}, Plays::Dra},
      {"ForgetsTakenClaims", {Bug::ForgetsTakenClaims}, false, 1, {}, Plays::Dra},
      {"ForgetsDrivers", {Bug::ForgetsDrivers}, false, 1, {}, Plays::Dra},
      {"MeetsKeepers", {Bug::MeetsKeepers}, false, 1, {}, Plays::Pods},
      {"IgnoresOthers", {Bug::IgnoresOthers}, false, 1, {}, Plays::Pods},
      {"CountsEnded", {Bug::CountsEnded}, false, 1, {}, Plays::Pods},
      {"ForgetsReserved", {Bug::ForgetsReserved}, false, 1, {}, Plays::Pods},
      {"TellsNobody", {Bug::TellsNobody}, false, 1, {}, Plays::Pods},
      {"KeepsPorts", {Bug::KeepsPorts}, false, 1, {}, Plays::Pods},
      {"ForgetsPorts", {Bug::ForgetsPorts}, false, 1, {}, Plays::Pods},
      {"PreemptsEquals", {Bug::PreemptsEquals}, false, 1, {}, Plays::Pods},
      {"PreemptsPolitely", {Bug::PreemptsPolitely}, false, 1, {}, Plays::Pods},
      {"TakesKeptRoom", {Bug::TakesKeptRoom}, false, 1, {}, Plays::Pods},
      {"EvictsUnnominated", {Bug::EvictsUnnominated}, false, 1, {}, Plays::Pods},
      {"EvictsUnmarked", {Bug::EvictsUnmarked}, false, 1, {}, Plays::Pods},
      {"BindsUnbound", {Bug::BindsUnbound}, false, 1, {}, Plays::Pods},
      {"KeepsInVain", {Bug::KeepsInVain}, true, 1, {}, Plays::Pods},
      {"TrustsAnnotation", {Bug::TrustsAnnotation}, false, 1, {}, Plays::Enforce},
      {"ForgetsPluginDevices", {Bug::ForgetsPluginDevices}, false, 1, {}, Plays::Enforce},
      {"AnswersBeforeLease", {Bug::AnswersBeforeLease}, false, 1, {}, Plays::Enforce},
      {"StandbyIsDeaf", {}, false, 1, {Feature::Standby}},
      {"WaitsInSlots", {Bug::WaitsInSlots}, true, 1, {Feature::Stuck}},
      {"IgnoresRecord", {Bug::IgnoresRecord}, true, 1, {Feature::Another}},
      {"FenceCoversAll", {Bug::FenceCoversAll}, true},
      {"CacheSaysGone", {Bug::CacheSaysGone}, true},
      {"NoInitialSync", {Bug::NoInitialSync}, true},
      {"TakesOthersLeases", {Bug::TakesOthersLeases}, true},
  };
  return all;
}

/// A failing plan gets shorter, still fails, and is the same each time.
bool isShortened(const sim::Plan& plan) {
  const auto few = sim::shorten(plan);
  if (few.steps.size() < plan.steps.size() && !sim::play(few).problem.empty() &&
      sim::shorten(plan).steps == few.steps) {
    return true;
  }
  fmt::print("seed {} was not shortened well: {} of {} steps\n", plan.seed, few.steps.size(),
             plan.steps.size());
  return false;
}

sim::Plan planOf(const Case& c, std::uint64_t seed) {
  sim::Plan plan = sim::makePlan(seed, {}, c.features);
  if (!c.bugs.empty()) { return plan; }
  const sim::Mutator* mutator = sim::mutatorOf(c.name);
  GS_CHECK(mutator != nullptr, "a case has neither a bug nor a mutator");
  plan.mutators.push_back(mutator);
  return plan;
}

std::string problemOf(const Case& c, std::uint64_t seed) {
  switch (c.plays) {
    case Plays::Dra: return sim::playDra(seed).problem;
    case Plays::Pods: return sim::playPods(seed).problem;
    case Plays::Enforce: return sim::playEnforce(seed).problem;
    case Plays::Plan: break;
  }
  return sim::play(planOf(c, seed)).problem;
}

/// True when some seed shows it. What goes wrong where it is not met is another bug.
bool find(const Case& c, std::uint64_t most) {
  planted = {c.bugs.begin(), c.bugs.end()};
  met.clear();
  const auto is_met = [&c] { return c.bugs.empty() || met.contains(c.bugs.front()); };
  for (std::uint64_t seed = c.from; seed <= most; ++seed) {
    const std::string problem = problemOf(c, seed);
    if (problem.empty()) { continue; }
    fmt::print("{:34} seed {:5}  {}{}\n", c.name, seed, is_met() ? "" : "without it: ", problem);
    std::fflush(stdout);
    if (!is_met()) { return false; }
    return &c != &cases().front() || isShortened(planOf(c, seed));
  }
  fmt::print("{:34} not found in {} seeds{}\n", c.name, most,
             is_met() ? "" : ": it is not in the code that is played");
  std::fflush(stdout);
  return false;
}

int run(const std::vector<std::string>& args) {
  std::uint64_t most = 10'000;
  bool hidden = false;
  std::set<std::string> names;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--seeds" && i + 1 < args.size()) {
      most = std::strtoull(args[++i].c_str(), nullptr, 10);
    } else if (args[i] == "--hidden") {
      hidden = true;
    } else {
      names.insert(args[i]);
    }
  }
  for (const auto& name : names) {
    const auto known = [&](const Case& c) { return c.name == name; };
    if (std::none_of(cases().begin(), cases().end(), known)) {
      fmt::print(stderr, "mutants: no bug is called {}\n", name);
      return 2;
    }
  }
  int missed = 0;
  for (const auto& c : cases()) {
    if (names.empty() ? c.hidden && !hidden : !names.contains(c.name)) { continue; }
    if (!find(c, most) && !c.hidden) { ++missed; }
  }
  return missed == 0 ? 0 : 1;
}

}  // namespace

bool isIn(Bug bug) {
  const bool is_in = planted.contains(bug);
  if (is_in) { met.insert(bug); }
  return is_in;
}

}  // namespace gs::mutant

int main(int argc, char** argv) { return gs::mutant::run({argv + 1, argv + argc}); }
