// What event_bench says of its cases: each in a line, and at the end the longest, with what they did.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/scheduler_drive.h"

namespace gs::bench {

/// Is a case of that name to be measured?
using Wanted = std::function<bool(const std::string&)>;

struct Result {
  std::string name;
  double ms = 0;  // of the longest event
  int events = 0;
  double decode_ms = 0;
  double total_ms = 0;  // of all events that followed
  std::string why = {};
};

/// All that were reported.
inline std::vector<Result>& results() {
  static std::vector<Result> all;
  return all;
}

/// The longest event since the drive was last asked.
inline Result report(SchedulerDrive& drive, Result r) {
  std::tie(r.ms, r.events) = drive.takeWorst();
  r.total_ms = drive.takeTotal();
  r.why = drive.worst().text();
  fmt::print("{:44} {:9.2f} ms {:6} events {:9.2f} ms in all   decoded in {:7.2f} ms\n", r.name, r.ms,
             r.events, r.total_ms, r.decode_ms);
  std::fflush(stdout);
  results().push_back(r);
  return r;
}

/// What follows when it is told these lines.
inline Result follow(SchedulerDrive& drive, std::string name, kapi::Kind kind,
                     const std::vector<std::string>& lines) {
  (void)drive.takeWorst();
  (void)drive.takeTotal();
  Result r{std::move(name)};
  for (const auto& told : lines) { r.decode_ms += drive.tellLine(kind, told); }
  drive.run(std::chrono::seconds{20});
  return report(drive, std::move(r));
}

/// One group of cases: how long its longest event takes. Cases that are measured are reported, each by its
/// name.
struct Group {
  const char* name;
  std::function<double(const Wanted&)> measure;
};

/// The longest event of all groups, and of which case it is, and why.
inline std::pair<double, std::string> measureAll(const std::vector<Group>& groups, const Wanted& wanted) {
  std::pair<double, std::string> worst;
  for (const Group& group : groups) {
    const std::size_t before = results().size();
    const double ms = group.measure(wanted);
    if (ms <= worst.first) { continue; }
    const auto its = std::find_if(results().begin() + static_cast<std::ptrdiff_t>(before), results().end(),
                                  [&](const Result& r) { return r.ms == ms; });
    worst = {ms, its == results().end() ? group.name : fmt::format("{}: {}", its->name, its->why)};
  }
  auto longest = results();
  std::sort(longest.begin(), longest.end(), [](const auto& a, const auto& b) { return a.ms > b.ms; });
  longest.resize(std::min<std::size_t>(longest.size(), 5));
  fmt::print("\nThe longest:\n");
  for (const Result& r : longest) { fmt::print("{:9.2f} ms  {} ({})\n", r.ms, r.name, r.why); }
  return worst;
}

}  // namespace gs::bench
