// What each request of a kube-scheduler costs the deciding thread, at both doors: 5,000 nodes, and a body
// that names as many as are taken. For event_bench.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/event_report.h"
#include "bench/event_wide.h"
#include "bench/scheduler_drive.h"
#include "extender/protocol/wire.h"
#include "model/vcuda.h"
#include "serve/combined/combined.h"
#include "testing/builders.h"

namespace gs::bench {

/// A scheduler that leads, with an extender beside it, and a kube-scheduler that asks it.
class VerbDrive {
 public:
  static scheduler::Config config() {
    scheduler::Config config;
    config.extender_pods = {"gpu-kube"};
    return config;
  }
  explicit VerbDrive(SchedulerDrive::Listed listed)
      : drive_{config(), std::move(listed)}, combined_{drive_.scheduler(), {}, Rng{1}} {
    drive_.run(std::chrono::seconds{60});
    now_.mono += std::chrono::hours{2};
    (void)combined_.handle(kapi::TimerDue{}, now_);
    for (int i = 0; i < 1'000; ++i) { (void)combined_.handle(kapi::TimerDue{}, now_); }
    table_ = combined_.table();
  }

  /// So many of the cluster's nodes, and then names that nobody knows.
  extender::Request request(extender::Verb verb, const model::Pod& pod, std::size_t nodes) {
    extender::Request q;
    q.verb = verb;
    q.pod = std::make_shared<const model::Pod>(pod);
    q.candidates.table = table_;
    q.candidates.nodes.assign(nodes, extender::NodeTable::kUnknown);
    const std::size_t known = combined_.scheduler().engine().ledger().size();
    for (std::size_t i = 0; i < std::min(known, nodes); ++i) {
      q.candidates.nodes[i] = static_cast<extender::NodeTable::Index>(i);
    }
    if (verb == extender::Verb::Bind) { q.node = model::NodeName{table_->name(0)}; }
    return q;
  }

  /// The longest event of those that it leads to at once.
  double ask(const std::string& name, extender::Request q) {
    double worst = 0;
    double all = 0;
    int events = 0;
    const auto timed = [&](const auto& event) {
      const double start = cpuMs();
      const kapi::Effects effects = event();
      const double ms = cpuMs() - start;
      worst = std::max(worst, ms);
      all += ms;
      ++events;
      return std::any_of(effects.begin(), effects.end(), [&](const kapi::Effect& effect) {
        const auto* wake = std::get_if<kapi::Wake>(&effect);
        return wake != nullptr && wake->at <= now_.mono;
      });
    };
    auto kept = std::make_shared<extender::Request>(std::move(q));  // as its caller does
    bool more = timed([&] { return combined_.ask(++last_, *kept, now_); });
    bool answered = false;
    for (int i = 0; (more || !answered) && i < 2'000; ++i) {
      for (const auto& [id, answer] : combined_.takeAnswers()) { answered = answered || id == last_; }
      more = timed([&] { return combined_.handle(kapi::TimerDue{}, now_); });
      if (answered || !more) { break; }
    }
    results().push_back({name, worst, events, 0, all, "a request, or a turn of it"});
    fmt::print("{:44} {:9.2f} ms {:6} events {:9.2f} ms in all\n", name, worst, events, all);
    std::fflush(stdout);
    now_.mono += std::chrono::milliseconds{100};
    return worst;
  }

 private:
  SchedulerDrive drive_;
  serve::Combined combined_;
  extender::NodeTablePtr table_;
  extender::RequestId last_ = 0;
  Now now_{Mono{std::chrono::hours{1}}, Wall{std::chrono::hours{500'000}}};
};

/// Nodes of gpu-manager with eight GPUs, and on each GPU so many pods of equal shares.
inline SchedulerDrive::Listed shareCluster(int nodes, int pods_of_gpu) {
  constexpr int kGpus = 8;
  SchedulerDrive::Listed listed;
  for (int i = 0; i < nodes; ++i) {
    model::Node n = testing::makeNode(fmt::format("share-{:05}", i));
    n.share_capacity = {100 * kGpus, 64 * kGpus};
    listed[kapi::kNode].push_back(std::make_shared<const model::Node>(n));
    for (int p = 0; p < kGpus * pods_of_gpu; ++p) {
      model::Pod pod = testing::PodBuilder(fmt::format("{}-{}", n.name.text, p)).running().value();
      pod.node = n.name;
      pod.scheduler_name = "gpu-kube";
      pod.share_limits = {{90 / pods_of_gpu, 60 / pods_of_gpu}};
      pod.taken_by_kubelet = true;
      pod.annotations = {{model::kVcudaNodeKey, n.name.text},
                         {"tencent.com/predicate-gpu-idx-0", std::to_string(p / pods_of_gpu)}};
      listed[kapi::kPod].push_back(std::make_shared<const model::Pod>(std::move(pod)));
    }
  }
  return listed;
}

inline std::vector<extender::Victims> nobody(std::size_t nodes, std::size_t each) {
  return {nodes, extender::Victims(each, model::Uid{"00000000-0000-0000-0000-000000000000"})};
}

/// `name`: of the door and the cluster.
inline double measureDoor(VerbDrive& drive, const std::string& name, const model::Pod& pod) {
  using extender::Verb;
  const std::size_t most = extender::kMostNodes;
  double worst = 0;
  const auto add = [&](const char* verb, extender::Request q) {
    worst = std::max(worst, drive.ask(fmt::format("verb {} {}", verb, name), std::move(q)));
  };
  const auto preempt = [&](std::size_t nodes, std::vector<extender::Victims> victims) {
    auto q = drive.request(Verb::Preempt, pod, nodes);
    q.victims = std::make_shared<const std::vector<extender::Victims>>(std::move(victims));
    return q;
  };
  for (const std::size_t nodes : {std::size_t{5'000}, most}) {
    const std::string of = fmt::format("of {:6} nodes:", nodes);
    add(("filter " + of).c_str(), drive.request(Verb::Filter, pod, nodes));
    add(("priorities " + of).c_str(), drive.request(Verb::Rank, pod, nodes));
    add(("preempt " + of).c_str(), preempt(nodes, {}));
  }
  add("preempt, 1,000,000 victims:", preempt(5'000, nobody(5'000, 200)));
  add("preempt, 10,000 of each of 100:", preempt(100, nobody(100, 10'000)));
  add("bind:", drive.request(Verb::Bind, pod, 1));
  return worst;
}

/// The longest event. `cluster`: so many nodes, of which so many are full.
inline double measureVerbs(const std::function<SchedulerDrive::Listed(int nodes, int taken)>& cluster) {
  constexpr int kMany = 5'000;
  double worst = 0;
  for (const int taken : {0, kMany}) {
    auto listed = cluster(kMany, taken);
    model::Pod pod = testing::PodBuilder("asks").claim("c4").priority(1'000).value();
    pod.scheduler_name = "gpu-kube";
    listed[kapi::kPod].push_back(std::make_shared<const model::Pod>(pod));
    VerbDrive drive{std::move(listed)};
    worst = std::max(worst, measureDoor(drive, taken > 0 ? "claims, full" : "claims, free", pod));
  }
  for (const int pods_of_gpu : {1, 8}) {
    auto listed = shareCluster(pods_of_gpu == 1 ? kMany : 500, pods_of_gpu);
    model::Pod pod = testing::PodBuilder("asks").priority(1'000).value();
    pod.scheduler_name = "gpu-kube";
    pod.share_limits = {{100, 10}, {200, 10}, {50, 10}};
    listed[kapi::kPod].push_back(std::make_shared<const model::Pod>(pod));
    VerbDrive drive{std::move(listed)};
    worst = std::max(worst, measureDoor(drive, fmt::format("shares, {} a GPU", pods_of_gpu), pod));
  }
  return worst;
}

/// Wide nodes in islands of 64. Of each, 40 GPUs are free, with links of 601 GB/s between some, and pods of
/// two have the others, with such links between all. So who wants 16 with 601 GB/s between all has to have
/// eight of those pods go, and each look at the node searches among the free ones first.
inline SchedulerDrive::Listed takenWide(int nodes) {
  constexpr int kIsland = 64;
  constexpr int kFree = 40;
  SchedulerDrive::Listed listed;
  of(listed, kapi::kGpuClaim).push_back(shared(testing::makeClaim("c2", 2)));
  model::GpuClaim fast = testing::makeClaim("fast", 16);
  fast.topology = model::TopologyMode::Required;
  fast.min_bandwidth_gbps = 601;
  of(listed, kapi::kGpuClaim).push_back(shared(std::move(fast)));
  for (int i = 0; i < nodes; ++i) {
    model::Node node = wideNode(fmt::format("wide-{}", i));
    node.allocatable_pods = 1'000;
    model::GpuNodeStatus status = wideStatus(node.name.text, kWideGpus, kIsland, Pairs::NearlyEven);
    for (auto& d : status.devices) {
      for (auto& link : d.links) {
        const int taken = (d.id % kIsland >= kFree ? 1 : 0) + (link.to % kIsland >= kFree ? 1 : 0);
        if (taken > 0) { link.gbps = taken == 2 ? 601 : 600; }
      }
    }
    for (int first = 0; first < kWideGpus; first += 2) {
      if (first % kIsland < kFree) { continue; }
      const std::string ids = fmt::format("{}:{},{}", node.name.text, first, first + 1);
      const auto pod = PodBuilder(fmt::format("{}-{}", node.name.text, first))
                           .claim("c2")
                           .on(node.name.text.c_str())
                           .priority(first * 37 % 101)
                           .allocated(ids)
                           .annotate(model::kReservationKey, "r")
                           .running()
                           .make();
      of(listed, kapi::kPod).emplace_back(pod);
      for (const int id : {first, first + 1}) {
        of(listed, kapi::kLease).push_back(shared(testing::makeLease(node.name.text, id, *pod, "r", ids)));
      }
    }
    of(listed, kapi::kGpuNodeStatus).push_back(shared(std::move(status)));
    of(listed, kapi::kNode).push_back(shared(std::move(node)));
  }
  return listed;
}

/// A preempt that names wide nodes, each of which is looked at a hundred times.
inline double measureWidePreempt() {
  constexpr int kWide = 4;
  auto listed = takenWide(kWide);
  model::Pod pod = PodBuilder("asks").claim("fast").priority(1'000).value();
  pod.scheduler_name = "gpu-kube";
  of(listed, kapi::kPod).push_back(shared(pod));
  VerbDrive drive{std::move(listed)};
  auto q = drive.request(extender::Verb::Preempt, pod, kWide);
  q.victims = std::make_shared<const std::vector<extender::Victims>>(nobody(kWide, 0));
  return drive.ask("verb preempt of wide nodes", std::move(q));
}

}  // namespace gs::bench
