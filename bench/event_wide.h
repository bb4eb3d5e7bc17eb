// What very wide nodes cost the deciding thread: GpuNodeStatuses of 1,024 GPUs, in whatever islands and with
// whatever links, and pods that wait for sets of them. For event_bench.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "bench/event_objects.h"
#include "bench/event_report.h"

namespace gs::bench {

inline constexpr int kWideGpus = 1'024;

enum class Pairs : std::uint8_t { Even, Drawn, NearlyEven };

/// So many GPUs, `each` to an island. Drawn: each pair of an island has a link as fast as drawn; NearlyEven:
/// nearly as fast as all others, so that a search for the best set has to try nearly all.
inline model::GpuNodeStatus wideStatus(const std::string& node, int gpus, int each,
                                       Pairs pairs = Pairs::Even) {
  model::GpuNodeStatus s = testing::makeStatus(node, gpus, gpus);
  Rng rng{1};
  for (auto& d : s.devices) {
    const int island = d.id / each;
    d.island = fmt::format("island-{}", island);
    for (int to = island * each; pairs != Pairs::Even && to < std::min(gpus, (island + 1) * each); ++to) {
      const auto gbps =
          static_cast<std::int64_t>(pairs == Pairs::Drawn ? 100 + rng.below(900) : 600 + rng.below(2));
      if (to != d.id) { d.links.push_back({to, gbps}); }
    }
  }
  return s;
}

inline model::Node wideNode(const std::string& name) {
  model::Node n = testing::makeNode(name);
  n.labels = {{"kubernetes.io/hostname", name}, {"all", "same"}, {"zone", "zone-3"}, {"model", "h100"}};
  return n;
}

/// One that waits for `count` GPUs of one island with more bandwidth than there is, each with a claim of its
/// own.
inline void addRequired(SchedulerDrive::Listed& listed, int pods, std::int64_t count,
                        model::Policy policy = model::Policy::Contiguous) {
  for (int i = 0; i < pods; ++i) {
    model::GpuClaim claim = testing::makeClaim(fmt::format("required-{}", i), count);
    claim.topology = model::TopologyMode::Required;
    claim.policy = policy;
    claim.min_bandwidth_gbps = 2'000 + i;
    for (int id = 0; policy == model::Policy::PreferIds && id < kWideGpus; ++id) {
      claim.prefer_ids.push_back(kWideGpus - 1 - id);
    }
    of(listed, kapi::kGpuClaim).push_back(shared(std::move(claim)));
    const std::string name = fmt::format("required-{}", i);
    const auto pod = PodBuilder(name).claim(name.c_str()).make();
    of(listed, kapi::kPod).emplace_back(pod);
  }
}

inline std::string labelled(const std::string& node, int value, model::Revision revision) {
  NodeText n;
  n.name = node;
  n.labels += fmt::format(R"(,"any":"{}")", value);
  return line("MODIFIED", text(n, revision));
}

struct WideCase {
  const char* name;
  int nodes;  // that are wide, of 100
  int each;   // GPUs of an island
  Pairs pairs;
  std::int64_t count;  // that each pod wants
  model::Policy policy = model::Policy::Contiguous;
};

/// A label of each of the wide nodes changes while 300 kinds of pods wait, which all are looked at again.
inline double measureWaitingForWide(const WideCase& c) {
  SchedulerDrive::Listed listed = cluster(100, 100);
  std::vector<std::string> names;
  for (int i = 0; i < c.nodes; ++i) {
    names.push_back(fmt::format("wide-{}", i));
    of(listed, kapi::kNode).push_back(shared(wideNode(names.back())));
    of(listed, kapi::kGpuNodeStatus).push_back(shared(wideStatus(names.back(), kWideGpus, c.each, c.pairs)));
  }
  addRequired(listed, 300, c.count, c.policy);
  SchedulerDrive drive{scheduler::Config{}, std::move(listed)};
  drive.run(std::chrono::seconds{60});
  double worst = report(drive, {fmt::format("{}, listed", c.name)}).ms;
  std::vector<std::string> lines;
  for (const auto& name : names) { lines.push_back(labelled(name, 1, drive.nextRevision())); }
  worst = std::max(worst, follow(drive, c.name, kapi::kNode, lines).ms);
  return worst;
}

inline std::string deviceText(int id, int uuid, const std::string& users) {
  return fmt::format(R"({{"id":{},"uuid":"GPU-{:036}","health":"Healthy","island":"i-{}","inUseBy":[{}]}})",
                     id, uuid, id, users);
}

inline std::string wideText(model::Revision revision, int look, const std::function<int(int)>& uuid_of,
                            const std::function<std::string(int)>& users_of) {
  std::string devices;
  for (int id = 0; id < kWideGpus; ++id) {
    devices += (id > 0 ? "," : "") + deviceText(id, uuid_of(id), users_of(id));
  }
  return line(
      "MODIFIED",
      fmt::format(
          R"({{"metadata":{{"name":"wide","uid":"gns-wide","resourceVersion":"{}"}},"status":{{"observedTime":"2026-01-01T00:00:{:02}Z","devices":[{}]}}}})",
          revision, look, devices));
}

/// A wide node whose GPUs are all held, each by a pod of its own, and what its agent may say of them.
inline double measureHeldWide() {
  SchedulerDrive::Listed listed = cluster(100, 100);
  of(listed, kapi::kNode).push_back(shared(wideNode("wide")));
  const auto uuid = [](int id) { return fmt::format("GPU-{:036}", id); };
  for (int id = 0; id < kWideGpus; ++id) {
    const std::string ids = fmt::format("wide:{}", id);
    const auto pod = PodBuilder(fmt::format("wide-{}", id))
                         .claim("c1")
                         .on("wide")
                         .allocated(ids)
                         .annotate(model::kReservationKey, "r")
                         .running()
                         .make();
    of(listed, kapi::kPod).emplace_back(pod);
    model::Lease lease = testing::makeLease("wide", id, *pod, "r", ids);
    lease.uuid = uuid(id);
    of(listed, kapi::kLease).push_back(shared(std::move(lease)));
  }
  model::GpuNodeStatus status = wideStatus("wide", kWideGpus, 1);
  for (auto& d : status.devices) { d.uuid = uuid(d.id); }
  of(listed, kapi::kGpuNodeStatus).push_back(shared(std::move(status)));
  addRequired(listed, 300, 2);
  SchedulerDrive drive{scheduler::Config{}, std::move(listed)};
  drive.run(std::chrono::seconds{60});
  const auto same = [](int id) { return id; };
  const auto nobody = [](int) { return std::string{}; };
  double worst = 0;
  const auto tell = [&](const char* name, const std::string& told) {
    worst = std::max(worst, follow(drive, name, kapi::kGpuNodeStatus, {told}).ms);
  };
  tell("wide status, a user of each GPU",
       wideText(drive.nextRevision(), 1, same, [](int id) { return fmt::format(R"("uid-wide-{}")", id); }));
  tell("wide status, other users of each", wideText(drive.nextRevision(), 2, same, [](int id) {
         return fmt::format(R"("uid-wide-{}")", (id + 1) % kWideGpus);
       }));
  tell("wide status, one unknown user of all",
       wideText(drive.nextRevision(), 3, same, [](int) { return std::string{R"("nobody-knows")"}; }));
  tell("wide status, no users", wideText(drive.nextRevision(), 4, same, nobody));
  tell("wide status, as it was", wideText(drive.nextRevision(), 5, same, nobody));
  tell("wide status, renumbered",
       wideText(
           drive.nextRevision(), 6, [](int id) { return kWideGpus - 1 - id; }, nobody));
  tell(
      "wide status, no device",
      line(
          "MODIFIED",
          fmt::format(
              R"({{"metadata":{{"name":"wide","uid":"gns-wide","resourceVersion":"{}"}},"status":{{"devices":[]}}}})",
              drive.nextRevision())));
  worst = std::max(worst, follow(drive, "wide node, gone", kapi::kNode,
                                 {line("DELETED", text(NodeText{.name = "wide"}, drive.nextRevision()))})
                              .ms);
  return worst;
}

/// The labels of all 5,000 nodes change at once while 300 kinds wait.
inline double measureAllLabels() {
  SchedulerDrive::Listed listed = cluster(kNodes, kNodes);
  addRequired(listed, 300, 2);
  SchedulerDrive drive{scheduler::Config{}, std::move(listed)};
  drive.run(std::chrono::seconds{60});
  std::vector<std::string> lines;
  for (int i = 0; i < kNodes; ++i) { lines.push_back(labelled(nodeName(i), 1, drive.nextRevision())); }
  return follow(drive, "labels of all nodes, 300 kinds", kapi::kNode, lines).ms;
}

inline double measureWide(const Wanted& wanted) {
  const std::vector<WideCase> cases{
      {"wide, 1,024 islands of 1", 1, 1, Pairs::Even, 2},
      {"wide, 1,024 islands of 1, preferIds", 1, 1, Pairs::Even, 1, model::Policy::PreferIds},
      {"wide, one island of 1,024", 1, 1'024, Pairs::Even, 32},
      {"wide, 64 islands of 16, links", 1, 16, Pairs::Drawn, 8},
      {"wide, 64 islands of 16, links nearly even", 1, 16, Pairs::NearlyEven, 8},
      {"wide, 64 islands of 16, spread", 1, 16, Pairs::Drawn, 8, model::Policy::Spread},
      {"wide, 16 islands of 64, links", 1, 64, Pairs::Drawn, 32},
      {"wide, 50 nodes of 1,024 islands", 50, 1, Pairs::Even, 2},
  };
  double worst = 0;
  for (const auto& c : cases) {
    if (wanted(c.name)) { worst = std::max(worst, measureWaitingForWide(c)); }
  }
  if (wanted("wide status")) { worst = std::max(worst, measureHeldWide()); }
  if (wanted("labels of all nodes")) { worst = std::max(worst, measureAllLabels()); }
  return worst;
}

}  // namespace gs::bench
