// sim [SEEDS [FIRST_SEED]]: plays that many seeds; 1 when something went wrong, with a shortened plan of the
// first such seed. sim --known FILE: the seeds at the beginning of its lines, `SEED` or `SEED
// FEATURE,FEATURE`; 1 when one went wrong. sim --tell SEED: one seed, shortened if it fails: every step, log
// line and write, and what each pod and lease says whenever it changes.
// sim --dra [SEEDS [FIRST_SEED]]: plays of nodes with a DRA driver (dra_play.h); sim --dra --tell SEED: one.
// sim --pods [SEEDS [FIRST_SEED]]: plays of pods that say everything that filters read (pods_play.h); sim
// --pods --tell SEED: one.
// sim --enforce [SEEDS [FIRST_SEED]]: plays of nodes with a device plugin whose agents set right what it
// picks (enforce_play.h); sim --enforce --tell SEED: one.
// Before these: --only FEATURE plays seeds that all have that feature, and no other (features.h); --without
// FEATURE; --with FEATURE, one that is held back. Again for more than one. Known seeds are played with those
// that their line names only, as they were found.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "test/sim/dra_play.h"
#include "test/sim/enforce_play.h"
#include "test/sim/play.h"
#include "test/sim/pods_play.h"

namespace {

struct Asked {
  gs::sim::Features allowed = gs::sim::defaultFeatures();
  gs::sim::Features forced{};
  [[nodiscard]] gs::sim::Plan plan(std::uint64_t seed) const {
    return gs::sim::makePlan(seed, allowed, forced);
  }
};

constexpr std::size_t kMostShortened = 400;   // steps: plays of more take seconds each
constexpr std::uint64_t kEnough = 200;        // seeds that must show everything that is counted
constexpr std::size_t kQuietPoints = 3;       // compared, per seed
constexpr std::size_t kAfterTrouble = 2;      // of them after a fault
constexpr std::size_t kEnoughGangs = 50;      // plays with gangs
constexpr std::uint64_t kEnoughDra = 20;      // plays with a DRA driver, after which some pods ran
constexpr std::uint64_t kEnoughEnforce = 20;  // plays with a device plugin, after which each thing happened
constexpr std::uint64_t kEnoughPods = 20;     // plays of pods, after which some were evicted
constexpr std::size_t kEnoughCaches = 20;     // plays with kernel caches

/// What its line in known_seeds.txt begins with: without its features it would be another plan.
std::string knownLine(const gs::sim::Plan& plan) {
  std::vector<std::string_view> features;
  for (const auto feature : gs::sim::allFeatures()) {
    if (plan.has(feature)) { features.emplace_back(gs::sim::nameOf(feature)); }
  }
  return fmt::format("{} {}", plan.seed, fmt::join(features, ","));
}

void report(const gs::sim::Plan& plan, const gs::sim::Outcome& found) {
  fmt::print("seed {}: {}\n", plan.seed, found.problem);
  fmt::print("in known_seeds.txt: {}\n", knownLine(plan));
  std::fflush(stdout);
  if (plan.steps.size() > kMostShortened) { return; }
  const auto few = gs::sim::shorten(plan);
  const auto again = gs::sim::play(few);
  fmt::print("{} of {} steps are enough ({} GpuNodeStatus):\n", few.steps.size(), plan.steps.size(),
             few.agents ? "agents write" : "by hand, no");
  for (const auto& step : few.steps) { fmt::print("{}\n", gs::sim::text(step)); }
  fmt::print("{:9.3f}s {}\n", std::chrono::duration<double>(again.at).count(), again.problem);
}

/// Those of "SEED FEATURE,FEATURE  any words": what is no feature is words.
gs::sim::Features featuresOf(const std::string& line) {
  std::istringstream words{line};
  std::string list;
  words >> list >> list;
  gs::sim::Features features;
  std::istringstream names{list};
  for (std::string name; std::getline(names, name, ',');) {
    const auto feature = gs::sim::featureOf(name);
    if (!feature) { return {}; }
    features.insert(*feature);
  }
  return features;
}

int playKnown(const char* path) {
  std::ifstream in{path};
  int played = 0;
  int failed = 0;
  for (std::string line; std::getline(in, line);) {
    const auto seed = std::strtoull(line.c_str(), nullptr, 10);
    if (seed == 0) { continue; }
    ++played;
    const auto plan = gs::sim::makePlan(seed, {}, featuresOf(line));
    const auto found = gs::sim::play(plan);
    if (found.problem.empty()) { continue; }
    ++failed;
    report(plan, found);
  }
  fmt::print("{} known seeds, {} failed\n", played, failed);
  return played > 0 && failed == 0 ? 0 : 1;
}

}  // namespace

namespace {

/// What the arguments behind --dra, --pods or --enforce say: SEEDS and FIRST_SEED, or --tell and one seed.
struct OtherSeeds {
  explicit OtherSeeds(const std::vector<std::string>& args) : tell{!args.empty() && args[0] == "--tell"} {
    const auto number = [&](std::size_t i, std::uint64_t otherwise) {
      return i < args.size() ? std::strtoull(args[i].c_str(), nullptr, 10) : otherwise;
    };
    seeds = tell ? 1 : number(0, 200);
    first = number(1, 1);
  }
  bool tell;
  std::uint64_t seeds = 0;
  std::uint64_t first = 0;
  int failed = 0;

  /// Of each `play(seed, tell)`, `add(outcome)`.
  template <class Play, class Add>
  void playAll(const Play& play, const Add& add) {
    for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
      const auto found = play(seed, tell);
      add(found);
      if (found.problem.empty()) { continue; }
      ++failed;
      fmt::print("seed {}: {:.3f}s {}\n", seed, std::chrono::duration<double>(found.at).count(),
                 found.problem);
      std::fflush(stdout);
    }
  }
};

int playDra(const std::vector<std::string>& args) {
  OtherSeeds asked{args};
  gs::sim::DraOutcome all;
  asked.playAll(gs::sim::playDra, [&all](const gs::sim::DraOutcome& found) {
    all.ran += found.ran;
    all.gave_way += found.gave_way;
    all.writes += found.writes;
  });
  fmt::print("{} seeds with a DRA driver, {} failed: {} pods ran, {} writes to claims, gave way {} times\n",
             asked.seeds, asked.failed, all.ran, all.writes, all.gave_way);
  const bool is_met = asked.seeds < kEnoughDra || (all.ran > asked.seeds && all.gave_way > 0);
  return asked.failed == 0 && is_met ? 0 : 1;
}

int playEnforce(const std::vector<std::string>& args) {
  OtherSeeds asked{args};
  gs::sim::EnforceOutcome all;
  asked.playAll(gs::sim::playEnforce, [&all](const gs::sim::EnforceOutcome& found) {
    all.answered += found.answered;
    all.unanswered += found.unanswered;
    all.refused += found.refused;
    all.moved += found.moved;
    all.found += found.found;
  });
  fmt::print(
      "{} seeds with a device plugin, {} failed: {} containers were made as the agent says, {} of them "
      "moved, "
      "and {} unasked; {} refusals, {} found by the comparison\n",
      asked.seeds, asked.failed, all.answered, all.moved, all.unanswered, all.refused, all.found);
  const bool is_met = asked.seeds < kEnoughEnforce ||
                      (all.answered > asked.seeds && all.unanswered > asked.seeds / 4 &&
                       all.moved > asked.seeds / 10 && all.refused > asked.seeds && all.found > 0);
  if (!is_met) { fmt::print(stderr, "sim: too little happened on nodes with a device plugin\n"); }
  return asked.failed == 0 && is_met ? 0 : 1;
}

int playPods(const std::vector<std::string>& args) {
  OtherSeeds asked{args};
  gs::sim::PodsOutcome all;
  asked.playAll(gs::sim::playPods, [&all](const gs::sim::PodsOutcome& found) {
    all.bindings += found.bindings;
    all.beside += found.beside;
    all.evictions += found.evictions;
    all.came += found.came;
    all.volumes += found.volumes;
  });
  fmt::print(
      "{} seeds of pods, {} failed: {} Bindings, {} of pods that speak of others, {} evictions, {} pods came "
      "for whom others went, {} claims of volumes bound\n",
      asked.seeds, asked.failed, all.bindings, all.beside, all.evictions, all.came, all.volumes);
  const bool is_met = asked.seeds < kEnoughPods ||
                      (all.beside > asked.seeds && all.came > asked.seeds / 4 && all.volumes > asked.seeds);
  if (!is_met) {
    fmt::print(stderr,
               "sim: too few pods were bound beside others, came for whom others went, or had volumes\n");
  }
  return asked.failed == 0 && is_met ? 0 : 1;
}

/// Takes what it reads off the arguments. False: no such feature.
bool readFeatures(std::vector<std::string>& args, Asked& asked) {
  bool only = false;
  while (args.size() >= 2 && (args[0] == "--only" || args[0] == "--without" || args[0] == "--with")) {
    const auto feature = gs::sim::featureOf(args[1]);
    if (!feature) {
      fmt::print(stderr, "sim: there is no feature {}; there are", args[1]);
      for (const auto each : gs::sim::allFeatures()) { fmt::print(stderr, " {}", gs::sim::nameOf(each)); }
      fmt::print(stderr, "\n");
      return false;
    }
    if (args[0] == "--without") {
      asked.allowed.erase(*feature);
    } else if (args[0] == "--with") {
      asked.allowed.insert(*feature);
    } else {
      if (!std::exchange(only, true)) { asked.allowed.clear(); }
      asked.forced.insert(*feature);
    }
    args.erase(args.begin(), args.begin() + 2);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  using gs::sim::play;
  std::vector<std::string> args{argv + 1, argv + argc};
  Asked asked;
  if (args.size() == 2 && args[0] == "--known") { return playKnown(args[1].c_str()); }
  if (!args.empty() && args[0] == "--dra") { return playDra({args.begin() + 1, args.end()}); }
  if (!args.empty() && args[0] == "--pods") { return playPods({args.begin() + 1, args.end()}); }
  if (!args.empty() && args[0] == "--enforce") { return playEnforce({args.begin() + 1, args.end()}); }
  if (!readFeatures(args, asked)) { return 2; }
  if (args.size() == 2 && args[0] == "--tell") {
    auto plan = asked.plan(std::strtoull(args[1].c_str(), nullptr, 10));
    fmt::print("in known_seeds.txt: {}\n", knownLine(plan));
    if (plan.steps.size() <= kMostShortened && !play(plan).problem.empty()) { plan = gs::sim::shorten(plan); }
    const auto found = play(plan, true);
    for (const auto& line : found.log) { fmt::print("{}\n", line); }
    fmt::print("{}\n", found.problem.empty() ? "all is well" : found.problem);
    return found.problem.empty() ? 0 : 1;
  }
  if (args.size() > 2) {
    fmt::print(stderr, "sim: '{}' is too much: options come first, then how many seeds, then the first\n",
               args[2]);
    return 2;
  }
  const std::uint64_t seeds = !args.empty() ? std::strtoull(args[0].c_str(), nullptr, 10) : 1000;
  const std::uint64_t first = args.size() > 1 ? std::strtoull(args[1].c_str(), nullptr, 10) : 1;
  std::uint64_t failed = 0;
  std::size_t writes = 0;
  std::size_t quiet_points = 0;
  std::size_t after_trouble = 0;
  std::size_t share_bindings = 0;
  std::size_t late_bindings = 0;
  std::size_t with_gangs = 0;
  std::size_t gangs_bound = 0;
  std::size_t refused_members = 0;
  std::size_t with_caches = 0;
  std::size_t cache_mounts = 0;
  std::size_t outdated_mounts = 0;
  if (seeds == 0) {
    fmt::print(stderr, "sim: how many seeds? a whole number over 0\n");
    return 2;
  }
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const auto plan = asked.plan(seed);
    const auto found = play(plan);
    writes += found.writes;
    quiet_points += found.quiet_points;
    after_trouble += found.after_trouble;
    share_bindings += found.share_bindings;
    late_bindings += found.late_bindings;
    with_gangs += plan.has(gs::sim::Feature::Gangs) ? 1 : 0;
    gangs_bound += found.gangs_bound;
    refused_members += found.refused_members;
    with_caches += plan.has(gs::sim::Feature::Caches) ? 1 : 0;
    cache_mounts += found.cache_mounts;
    outdated_mounts += found.outdated_mounts;
    if (found.problem.empty()) { continue; }
    if (failed++ == 0) {
      report(plan, found);
    } else {
      fmt::print("seed {}: {}\n", seed, found.problem);
      std::fflush(stdout);
    }
  }
  const double cpu = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  fmt::print(
      "{} seeds from {}, {} failed, {} writes judged, {} quiet points compared ({} after a fault), "
      "{} Bindings of shares and {} late ones, {} gangs bound ({} members refused), {} caches mounted, "
      "{:.0f} s of CPU\n",
      seeds, first, failed, writes, quiet_points, after_trouble, share_bindings, late_bindings, gangs_bound,
      refused_members, cache_mounts, cpu);
  if (seeds >= kEnough && (quiet_points < kQuietPoints * seeds || after_trouble < kAfterTrouble * seeds)) {
    fmt::print(stderr, "sim: the ledgers were compared too seldom\n");
    return 1;
  }
  if (seeds >= kEnough && (share_bindings == 0 || late_bindings == 0)) {
    fmt::print(stderr, "sim: no shares of GPUs were bound, or none late\n");
    return 1;
  }
  if (with_gangs >= kEnoughGangs && (gangs_bound < with_gangs / 4 || refused_members > gangs_bound / 4)) {
    fmt::print(stderr, "sim: too few gangs were bound, or too many of their pods refused\n");
    return 1;
  }
  if (with_caches >= kEnoughCaches && (cache_mounts < with_caches || outdated_mounts == 0)) {
    fmt::print(stderr, "sim: too few kernel caches were mounted, or none with an older image\n");
    return 1;
  }
  return failed == 0 ? 0 : 1;
}
