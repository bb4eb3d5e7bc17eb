#include "test/filters/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "test/filters/draw_case.h"
#include "test/filters/shrink.h"

namespace gs::filters {
namespace {

/// Which of theirs has to refuse in cases with such fields; in one of so many cases at least, or what is
/// drawn has to be changed.
constexpr std::uint64_t kOneIn = 250;
constexpr std::array<std::pair<Field, const char*>, 12> kExpected{{
    {Field::Taints, "TaintToleration"},
    {Field::Taints, "NodeUnschedulable"},
    {Field::Affinity, "NodeAffinity"},
    {Field::Ports, "NodePorts"},
    {Field::Resources, "NodeResourcesFit"},
    {Field::Near, "InterPodAffinity"},
    {Field::Spread, "PodTopologySpread"},
    {Field::Volumes, "VolumeBinding"},
    {Field::Volumes, "VolumeZone"},
    {Field::Volumes, "VolumeRestrictions"},
    {Field::Attaching, "NodeVolumeLimits"},
    {Field::Disks, "VolumeRestrictions"},
}};

/// Cases that differ in one way.
struct Group {
  std::uint64_t cases = 0;
  json::Value first;
};

class Comparing {
 public:
  Comparing(const Plan& plan, Oracle& oracle) : plan_{plan}, oracle_{oracle} {}

  Result<bool> run() {
    const auto started = std::chrono::steady_clock::now();
    for (std::uint64_t next = 0; next < plan_.cases; next += Oracle::kMostAtOnce) {
      const std::uint64_t end = std::min<std::uint64_t>(plan_.cases, next + Oracle::kMostAtOnce);
      if (const Status done = batch(next, end); !done) { return tl::unexpected(done.error()); }
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
    tell(took.count());
    if (!plan_.figures.empty()) {
      const double rate = static_cast<double>(plan_.cases) / std::max(took.count(), 1e-9);
      std::ofstream{plan_.figures} << fmt::format("{{\"oracle_cases_per_s\": {:.0f}}}\n", rate);
    }
    for (const auto& [kind, group] : groups_) {
      if (shown_ < plan_.most_shown) {
        if (const Status done = show(kind, group); !done) { return tl::unexpected(done.error()); }
      }
    }
    return groups_.empty() && isTelling();
  }

 private:
  Status batch(std::uint64_t begin, std::uint64_t end) {
    std::vector<json::Value> questions;
    for (std::uint64_t n = begin; n < end; ++n) {
      questions.push_back(drawCase(plan_.seed, n, plan_.fields, plan_.release));
    }
    oracle_.send(questions);
    std::vector<Answer> ours;
    for (const json::Value& one : questions) { ours.push_back(ourAnswer(one)); }
    const auto theirs = oracle_.receive();
    if (!theirs) { return tl::unexpected(theirs.error()); }
    for (std::size_t n = 0; n < questions.size(); ++n) { judge(questions[n], ours[n], (*theirs)[n]); }
    return {};
  }

  void judge(const json::Value& question, const Answer& ours, const Answer& theirs) {
    fits_ += theirs.feasible.empty() ? 0 : 1;
    for (const auto& [node, reasons] : theirs.nodes) {
      if (!reasons.empty()) { refused_.try_emplace(reasons.front().by).first->second += 1; }
    }
    const Difference found = differenceIn(ours, theirs);
    if (found.text.empty()) {
      unserved_ += ours.unserved.empty() ? 0 : 1;
      return;
    }
    Group& group = groups_[found.kind];
    if (++group.cases == 1) { group.first = question; }
  }

  [[nodiscard]] Difference differenceIn(const Answer& ours, const Answer& theirs) const {
    if (ours.unserved.empty() || !theirs.error.empty()) { return differenceOf(ours, theirs); }
    return plan_.all ? Difference{"not served: " + ours.unserved, ours.unserved} : Difference{};
  }

  void tell(double seconds) const {
    std::string refused;
    for (const auto& [plugin, nodes] : refused_) {
      refused += fmt::format("{}{} {}", refused.empty() ? "" : ", ", plugin, nodes);
    }
    std::uint64_t differ = 0;
    for (const auto& [kind, group] : groups_) { differ += group.cases; }
    fmt::print(
        "{} cases, seed {}, fields {}: {} fit somewhere, {} differ, {} are not served yet; {:.0f} cases/s\n",
        plan_.cases, plan_.seed, namesOf(plan_.fields), fits_, differ, unserved_,
        static_cast<double>(plan_.cases) / std::max(seconds, 1e-9));
    fmt::print("nodes that kube-scheduler refused by plugin: {}\n", refused);
    for (const auto& [kind, group] : groups_) { fmt::print("{} cases: {}\n", group.cases, kind); }
    std::fflush(stdout);
  }

  /// One case of the group, as small as can be.
  Status show(const std::string& kind, const Group& group) {
    ++shown_;
    Status trouble;
    Difference last;
    const auto differs = [&](const json::Value& drawn) {
      oracle_.send({drawn});
      const auto theirs = oracle_.receive();
      if (!theirs) {
        trouble = tl::unexpected(theirs.error());
        return false;
      }
      const Difference found = differenceIn(ourAnswer(drawn), theirs->front());
      if (found.kind != kind) { return false; }
      last = found;
      return true;
    };
    const json::Value small = shrunk(group.first, differs);
    if (!trouble) { return trouble; }
    (void)differs(small);
    fmt::print("\n==== seed {} case {}: {}\n---- cluster.yaml\n{}---- pod.yaml\n{}", plan_.seed,
               group.first["number"].intOr(0), last.text, clusterAsYaml(small), podAsYaml(small));
    std::fflush(stdout);
    return trouble;
  }

  /// What is never refused shows nothing.
  [[nodiscard]] bool isTelling() const {
    bool enough = fits_ * 4 >= plan_.cases;
    if (!enough) {
      fmt::print(stderr, "fewer than one case in 4 fits somewhere: what is drawn has to be changed\n");
    }
    for (const auto& [field, plugin] : kExpected) {
      const auto found = refused_.find(plugin);
      const std::uint64_t nodes = found == refused_.end() ? 0 : found->second;
      if (has(plan_.fields, field) && nodes * kOneIn < plan_.cases) {
        fmt::print(stderr, "{} refused {} nodes in {} cases: what is drawn has to be changed\n", plugin,
                   nodes, plan_.cases);
        enough = false;
      }
    }
    return enough;
  }

  const Plan& plan_;
  Oracle& oracle_;
  std::uint64_t fits_ = 0;
  std::uint64_t unserved_ = 0;
  std::size_t shown_ = 0;
  std::map<std::string, std::uint64_t> refused_;  // nodes, by their plugin
  std::map<std::string, Group> groups_;           // by the kind of difference
};

}  // namespace

Result<bool> compare(const Plan& plan, Oracle& oracle) { return Comparing{plan, oracle}.run(); }

}  // namespace gs::filters
