// conformance compare REAL-KUBECONFIG SANDBOX-KUBECONFIG [CASE...]   the table on both; every difference is
//                                                                    printed
// conformance record KUBECONFIG                                     the table on one; its answers into
//                                                                   recorded/
// conformance drawn REAL-KUBECONFIG SANDBOX-KUBECONFIG [COUNT [SEED [KIND]]]
//                                                                   so many drawn objects, on both; those of
//                                                                   other kinds are left out
// conformance replay [CASE...]                                      the table on a sandbox in this process,
//                                                                   against recorded/
// With --newest before any of these (but drawn): the table of what only newer servers serve, newest/. Without
// it replay plays both.
// Run in the repository's root. Exit status 1: they differ; 2: it could not be tried.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "base/system_clock.h"
#include "k8s/kubeconfig.h"
#include "sandbox/serve/http_port.h"
#include "sandbox/serve/live.h"
#include "test/conformance/drawn.h"
#include "test/conformance/play.h"

namespace gs::conformance {
namespace {

/// Cases, and what a real server answered to them.
struct Table {
  const char* cases;
  const char* recorded;
  int at_least;  // so many requests, or some were lost
};
constexpr Table kOldest{"test/conformance/cases", "test/conformance/recorded", 600};
constexpr Table kNewest{"test/conformance/newest/cases", "test/conformance/newest/recorded", 300};

using Arguments = std::vector<std::string>;

int complain(const std::string& what) {
  fmt::print(stderr, "{}\n", what);
  return 2;
}

/// Setup, and those that are named; all when none is.
Result<std::vector<Case>> chosenCases(const Table& table, const Arguments& names) {
  auto cases = readCases(table.cases);
  if (!cases || names.empty()) { return cases; }
  for (const auto& name : names) {
    if (std::none_of(cases->begin(), cases->end(), [&](const Case& c) { return c.name == name; })) {
      return fail(Code::NotFound, fmt::format("no case is called {}", name));
    }
  }
  std::erase_if(*cases, [&](const Case& c) {
    return c.name != "setup" && std::find(names.begin(), names.end(), c.name) == names.end();
  });
  return cases;
}

/// Counts requests, and prints those whose answers differ.
struct Tally {
  int steps = 0;
  int different = 0;

  void add(const Case& one, const Answers& real, const Answers& ours) {
    for (std::size_t i = 0; i < one.steps.size(); ++i) {
      const Step& step = one.steps[i];
      const std::string how = i < real.size() ? differ(step, real[i], ours[i]) : "nothing is recorded";
      ++steps;
      if (how.empty()) { continue; }
      ++different;
      fmt::print("{} {} {}\n    {}\n", step.where, step.method, step.target, how);
    }
  }
  /// 0 for `at_least`: cases were left out.
  int report(int at_least) const {
    fmt::print("{} requests, {} answered differently\n", steps, different);
    const bool few = steps < at_least;
    if (few) { fmt::print("the whole table has {} requests at least\n", at_least); }
    return different == 0 && !few ? 0 : 1;
  }
};

Result<Server> serverOf(const std::string& kubeconfig) {
  const auto access = k8s::loadAccess(kubeconfig, "", k8s::Surroundings::ofProcess());
  if (!access) { return tl::unexpected(access.error()); }
  return overHttp(*access);
}

int compare(const Table& table, const Arguments& args) {
  if (args.size() < 2) { return complain("compare needs two kubeconfigs"); }
  const auto real = serverOf(args[0]);
  const auto ours = serverOf(args[1]);
  const auto cases = chosenCases(table, {args.begin() + 2, args.end()});
  for (const auto* error :
       {real ? nullptr : &real.error(), ours ? nullptr : &ours.error(), cases ? nullptr : &cases.error()}) {
    if (error != nullptr) { return complain(error->message); }
  }
  Tally tally;
  for (const Case& one : *cases) { tally.add(one, play(one, *real), play(one, *ours)); }
  return tally.report(args.size() == 2 ? table.at_least : 0);
}

/// A number, or what there is without one.
std::uint64_t numberOr(const Arguments& args, std::size_t at, std::uint64_t fallback) {
  return args.size() > at ? std::strtoull(args[at].c_str(), nullptr, 10) : fallback;
}

int drawn(const Arguments& args) {
  if (args.size() < 2) { return complain("drawn needs two kubeconfigs"); }
  for (const auto& one : {args[0], args[1]}) {
    if (const auto server = serverOf(one); !server) { return complain(server.error().message); }
  }
  DrawnOptions options;
  options.count = numberOr(args, 2, options.count);
  options.seed = numberOr(args, 3, options.seed);
  if (args.size() > 4) { options.kind = args[4]; }
  return compareDrawn(
      options, [&] { return *serverOf(args[0]); }, [&] { return *serverOf(args[1]); });
}

int record(const Table& table, const Arguments& args) {
  const auto server =
      args.empty() ? Result<Server>{fail(Code::Invalid, "record needs a kubeconfig")} : serverOf(args[0]);
  const auto cases = chosenCases(table, {});
  if (!server || !cases) { return complain(server ? cases.error().message : server.error().message); }
  for (const Case& one : *cases) {
    std::ofstream out{fmt::format("{}/{}.jsonl", table.recorded, one.name)};
    const Answers answers = play(one, *server);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      out << json::print(compared(one.steps[i], answers[i])) << '\n';
    }
    if (!out) { return complain(fmt::format("{} can't be written", table.recorded)); }
  }
  return 0;
}

Answers recorded(const Table& table, const Case& one) {
  Answers out;
  std::ifstream in{fmt::format("{}/{}.jsonl", table.recorded, one.name)};
  for (std::string line; std::getline(in, line);) {
    out.push_back(json::parse(line).value_or(json::Value{}));
  }
  return out;
}

int replay(const Table& table, const Arguments& args) {
  const auto cases = chosenCases(table, args);
  if (!cases) { return complain(cases.error().message); }
  const SystemClock clock;
  sandbox::Live::Options options;
  options.scheduler.reset();
  sandbox::Live live{std::move(options), clock};
  sandbox::HttpPort port{live};
  Tally tally;
  for (const Case& one : *cases) { tally.add(one, recorded(table, one), play(one, inProcess(port))); }
  return tally.report(args.empty() ? table.at_least : 0);
}

/// A sandbox of its own for each table.
int replayBoth() {
  const int oldest = replay(kOldest, {});
  return std::max(oldest, replay(kNewest, {}));
}

int run(Arguments args) {
  const bool newest = !args.empty() && args[0] == "--newest";
  if (newest) { args.erase(args.begin()); }
  const Table& table = newest ? kNewest : kOldest;
  const std::string what = args.empty() ? "" : args[0];
  const Arguments rest{args.begin() + (args.empty() ? 0 : 1), args.end()};
  if (what == "compare") { return compare(table, rest); }
  if (what == "drawn" && !newest) { return drawn(rest); }
  if (what == "record") { return record(table, rest); }
  if (what == "replay") { return rest.empty() && !newest ? replayBoth() : replay(table, rest); }
  return complain(
      "conformance [--newest] compare REAL SANDBOX [CASE...] | drawn REAL SANDBOX [COUNT [SEED [KIND]]] | "
      "record "
      "KUBECONFIG | "
      "replay [CASE...]");
}

}  // namespace
}  // namespace gs::conformance

int main(int argc, char** argv) { return gs::conformance::run({argv + 1, argv + argc}); }
