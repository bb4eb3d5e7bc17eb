// sim [SEEDS [FIRST_SEED]]: plays that many seeds; 1 when something went wrong, with a shortened plan of the first such seed.
// sim --known FILE: the seeds at the beginning of its lines; 1 when one went wrong.
// sim --tell SEED: one seed, shortened if it fails: every step, log line and write.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>

#include "test/sim/play.h"

namespace {

constexpr std::uint64_t kEnough = 200;    // seeds that must show everything that is counted
constexpr std::size_t kQuietPoints = 3;   // compared, per seed
constexpr std::size_t kAfterTrouble = 2;  // of them after a fault

void report(const gs::sim::Plan& plan, const gs::sim::Outcome& found) {
  fmt::print("seed {}: {}\n", plan.seed, found.problem);
  const auto few = gs::sim::shorten(plan);
  const auto again = gs::sim::play(few);
  fmt::print("{} of {} steps are enough ({} GpuNodeStatus):\n", few.steps.size(), plan.steps.size(),
             few.agents ? "agents write" : "by hand, no");
  for (const auto& step : few.steps) { fmt::print("{}\n", gs::sim::text(step)); }
  fmt::print("{:9.3f}s {}\n", std::chrono::duration<double>(again.at).count(), again.problem);
}

int playKnown(const char* path) {
  std::ifstream in{path};
  int played = 0;
  int failed = 0;
  for (std::string line; std::getline(in, line);) {
    const auto seed = std::strtoull(line.c_str(), nullptr, 10);
    if (seed == 0) { continue; }
    ++played;
    const auto plan = gs::sim::makePlan(seed);
    const auto found = gs::sim::play(plan);
    if (found.problem.empty()) { continue; }
    ++failed;
    report(plan, found);
  }
  fmt::print("{} known seeds, {} failed\n", played, failed);
  return played > 0 && failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  using gs::sim::makePlan;
  using gs::sim::play;
  if (argc == 3 && std::strcmp(argv[1], "--tell") == 0) {
    auto plan = makePlan(std::strtoull(argv[2], nullptr, 10));
    if (!play(plan).problem.empty()) { plan = gs::sim::shorten(plan); }
    const auto found = play(plan, true);
    for (const auto& line : found.log) { fmt::print("{}\n", line); }
    fmt::print("{}\n", found.problem.empty() ? "all is well" : found.problem);
    return found.problem.empty() ? 0 : 1;
  }
  if (argc == 3 && std::strcmp(argv[1], "--known") == 0) { return playKnown(argv[2]); }
  const std::uint64_t seeds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  std::uint64_t failed = 0;
  std::size_t writes = 0;
  std::size_t quiet_points = 0;
  std::size_t after_trouble = 0;
  std::size_t share_bindings = 0;
  std::size_t late_bindings = 0;
  if (seeds == 0) {
    fmt::print(stderr, "sim: how many seeds? a whole number over 0\n");
    return 2;
  }
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const auto plan = makePlan(seed);
    const auto found = play(plan);
    writes += found.writes;
    quiet_points += found.quiet_points;
    after_trouble += found.after_trouble;
    share_bindings += found.share_bindings;
    late_bindings += found.late_bindings;
    if (found.problem.empty()) { continue; }
    if (failed++ == 0) {
      report(plan, found);
    } else {
      fmt::print("seed {}: {}\n", seed, found.problem);
    }
  }
  const double cpu = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  fmt::print("{} seeds from {}, {} failed, {} writes judged, {} quiet points compared ({} after a fault), "
             "{} Bindings of shares and {} late ones, {:.0f} s of CPU\n",
             seeds, first, failed, writes, quiet_points, after_trouble, share_bindings, late_bindings, cpu);
  if (seeds >= kEnough && (quiet_points < kQuietPoints * seeds || after_trouble < kAfterTrouble * seeds)) {
    fmt::print(stderr, "sim: the ledgers were compared too seldom\n");
    return 1;
  }
  if (seeds >= kEnough && (share_bindings == 0 || late_bindings == 0)) {
    fmt::print(stderr, "sim: no shares of GPUs were bound, or none late\n");
    return 1;
  }
  return failed == 0 ? 0 : 1;
}
