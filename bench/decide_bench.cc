// How fast decisions are. One core, no I/O, CPU seconds: decide, reserve, then the bound pod takes the
// reservation's place.
//
//   decide_bench [google-benchmark flags]   the benchmarks by name
//   decide_bench --json FILE                the figures (docs/reference/benchmarks.md), a flat JSON object:
//
//   decide_per_s         one-GPU claims, 5,000 nodes x 8, from empty to full
//   decide_mixed_per_s   the same nodes; 1, 2, 4, 8 GPUs, selectors, tolerations, two priorities, the queue
//   decide_affinity_per_s  the same nodes; half of the pods want none of their app on their host, a quarter
//                        is spread over zones
//   decide_growth        cost per decision at 50,000 nodes / at 500
//   decide_misfit_ratio  what a pod that fits nowhere adds after each that fits / cost of that one
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "bench/figures.h"
#include "bench/requests.h"
#include "model/pod_affinity.h"
#include "sched/ledger/anti_affinity.h"
#include "sched/near/near.h"
#include "sched/placement/decider.h"
#include "sched/placement/queue.h"

namespace gs::sched {
namespace {

constexpr int kGpus = 8;
constexpr int kMixedPods = 11'500;  // of 3.75 GPUs on average: a little more than 5,000 nodes hold

model::Node benchNode(int i) {
  model::Node n;
  n.name = model::NodeName{fmt::format("node-{:05}", i)};
  n.ready = true;
  n.labels = {{"kubernetes.io/hostname", n.name.text},
              {"zone", fmt::format("zone-{}", i % 4)},
              {"gpu-type", i % 2 == 0 ? "a100" : "h100"}};
  if (i % 4 == 3) { n.taints = {{"team", "research", "NoSchedule"}}; }
  n.allocatable = {96'000, std::int64_t{512} << 30, std::int64_t{900} << 30, {{model::kNvidiaGpu, kGpus}}};
  n.allocatable_pods = 110;
  return n;
}

model::GpuNodeStatus benchStatus(const model::NodeName& node) {
  model::GpuNodeStatus s;
  s.node = node;
  for (int id = 0; id < kGpus; ++id) {
    model::Device d;
    d.id = id;
    d.uuid = fmt::format("GPU-{}-{}", node.text, id);
    d.model = "NVIDIA A100-SXM4-80GB";
    d.memory_mib = 81'920;
    d.health = model::Health::Healthy;
    d.island = id < kGpus / 2 ? "nvlink-0" : "nvlink-1";
    d.bandwidth_gbps = 600;
    s.devices.push_back(std::move(d));
  }
  return s;
}

struct Cluster {
  Ledger ledger;
  Decider decider{ledger};

  explicit Cluster(int nodes) {
    for (int i = 0; i < nodes; ++i) {
      const model::Node n = benchNode(i);
      ledger.upsertNode(n);
      ledger.upsertStatus(benchStatus(n.name));
    }
  }

  /// A decision and all that the ledger learns of it until the pod is bound. nullopt: fits nowhere.
  std::optional<Placed> place(EquivalenceClass c, const model::Uid& uid) {
    auto placed = decider.decide(c);
    if (!placed) { return std::nullopt; }
    const PodRequest& request = decider.request(c);
    Reservation r = ledger.reserve(placed->node, uid, request, placed->ids);
    for (const int id : placed->ids) { ledger.hold(placed->node, id, uid, Source::BoundPod, {}); }
    ledger.usePod(placed->node, uid, Source::BoundPod, request.resources, 0);
    r.release();
    return placed;
  }
  bool placeOne(EquivalenceClass c, const model::Uid& uid) { return place(c, uid).has_value(); }
};

constexpr int kApps = 20;
constexpr int kAffinityPods = 20'000;
constexpr const char* kAppNamespace = "default";

/// One kind of pods: of four, two want none of their like on their host, one is spread over the zones, and
/// one says nothing.
struct App {
  model::Pod pod;
  std::vector<model::AntiAffinityTerm> keeps_away;
  EquivalenceClass pod_class = 0;
};

App benchApp(int i) {
  App app;
  const std::string name = fmt::format("app-{}", i);
  const model::LabelSelector its_own{{{"app", model::LabelRequirement::Op::In, {name}}}};
  app.pod.key = {kAppNamespace, name};
  app.pod.labels = {{"app", name}};
  app.pod.tolerations = {{"team", "research", "NoSchedule", false}};
  if (i % 4 < 2) {
    app.pod.affinity.change().apart = {{"kubernetes.io/hostname", {kAppNamespace}, std::nullopt, its_own}};
    app.keeps_away = {*model::keptAwayBy(app.pod.affinity->apart.front())};
  } else if (i % 4 == 2) {
    app.pod.spread.change().emplace_back();
    app.pod.spread.change().back().topology_key = "zone";
    app.pod.spread.change().back().pods = its_own;
  }
  return app;
}

/// With what pods say of each other, kept as the engine keeps it (engine/near_pods.h).
struct NearCluster : Cluster {
  Near near{ledger};
  AntiAffinity anti_affinity{ledger};
  std::vector<App> apps;

  explicit NearCluster(int nodes) : Cluster{nodes} {
    for (int i = 0; i < nodes; ++i) {
      const model::NodeName name = benchNode(i).name;
      near.nodeChanged(name);
      anti_affinity.nodeChanged(name);
    }
    for (int i = 0; i < kApps; ++i) { apps.push_back(benchApp(i)); }
  }

  void askFor(App& app) {
    PodRequest r = benchRequest(1);
    r.tolerations = app.pod.tolerations;
    r.near.rules = nearRulesOf(app.pod);
    (void)near.bind(r.near);
    r.kept_away_by = anti_affinity.meaning(kAppNamespace, app.pod.labels.all());
    app.pod_class = decider.classOf(r);
  }
  bool placeOneOf(const App& app, const model::Uid& uid) {
    const auto placed = place(app.pod_class, uid);
    if (!placed) { return false; }
    near.put({kAppNamespace, app.pod.labels, placed->node, false});
    anti_affinity.put(uid, kAppNamespace, placed->node, app.keeps_away);
    return true;
  }
};

std::vector<model::Uid> benchUids(std::size_t count) {
  Rng rng{1};
  std::vector<model::Uid> uids;
  for (std::size_t i = 0; i < count; ++i) { uids.emplace_back(rng.uuid()); }
  return uids;
}

/// Of this process: what others do on the machine is not ours.
double cpuSeconds() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

struct Run {
  double seconds = 0;  // of CPU
  double decisions = 0;
};

/// One-GPU claims from empty to full.
Run fillWithSingles(int nodes, const std::vector<model::Uid>& uids) {
  const auto cluster = std::make_unique<Cluster>(nodes);
  const EquivalenceClass one = cluster->decider.classOf(benchRequest(1));
  const double start = cpuSeconds();
  std::size_t placed = 0;
  while (cluster->placeOne(one, uids[placed])) { ++placed; }
  return {cpuSeconds() - start, static_cast<double>(placed + 1)};
}

/// 24 classes: counts 1, 2, 4, 8; no selector, a claim's selector or a pod's; tolerating the taint or not.
std::vector<EquivalenceClass> mixedClasses(Decider& decider) {
  std::vector<EquivalenceClass> classes;
  for (const std::int64_t gpus : {1, 2, 4, 8}) {
    for (int selector = 0; selector < 3; ++selector) {
      for (const bool tolerates : {false, true}) {
        PodRequest r = benchRequest(gpus);
        if (selector == 1) { r.match_labels = {{"gpu-type", "h100"}}; }
        if (selector == 2) { r.node_selector = {{"zone", "zone-0"}}; }
        if (tolerates) { r.tolerations = {{"team", "research", "NoSchedule", false}}; }
        classes.push_back(decider.classOf(r));
      }
    }
  }
  return classes;
}

/// A class is unschedulable once nothing fits it; ends when all are.
Run fillMixed(int nodes, const std::vector<model::Uid>& uids) {
  const auto cluster = std::make_unique<Cluster>(nodes);
  const std::vector<EquivalenceClass> classes = mixedClasses(cluster->decider);
  Rng rng{2};
  std::vector<Queue::Item> pods;
  for (std::size_t i = 0; i < uids.size(); ++i) {
    pods.push_back({uids[i], rng.chance(20) ? 100 : 0, static_cast<std::int64_t>(i),
                    classes[rng.below(classes.size())]});
  }
  const double start = cpuSeconds();
  Queue queue;
  for (const auto& pod : pods) { queue.add(pod); }
  double decisions = 0;
  while (const auto pod = queue.pop()) {
    ++decisions;
    if (!cluster->placeOne(pod->pod_class, pod->uid)) {
      queue.add(*pod);
      (void)queue.markUnschedulable(pod->pod_class);
    }
  }
  return {cpuSeconds() - start, decisions};
}

/// Pods of all apps in turn. The first of each is there already, so that its like know its term.
Run fillWithAffinity(int nodes, const std::vector<model::Uid>& uids) {
  const auto cluster = std::make_unique<NearCluster>(nodes);
  std::size_t placed = 0;
  for (App& app : cluster->apps) {
    cluster->askFor(app);
    placed += cluster->placeOneOf(app, uids[placed]) ? 1 : 0;
    cluster->askFor(app);
  }
  const std::size_t before = placed;
  const double start = cpuSeconds();
  while (placed < uids.size() && cluster->placeOneOf(cluster->apps[placed % kApps], uids[placed])) {
    ++placed;
  }
  const double seconds = cpuSeconds() - start;
  GS_CHECK(placed == uids.size(), "{} of {} pods fit", placed, uids.size());
  return {seconds, static_cast<double>(placed - before)};
}

PodRequest impossible() {
  PodRequest r = benchRequest(4);
  r.devices->topology = model::TopologyMode::Required;
  r.devices->min_bandwidth_gbps = 900;
  return r;
}

/// 20,000 one-GPU claims, each followed by `misfits` decisions for pods that fit nowhere.
Run placeWithMisfits(int misfits, const std::vector<model::Uid>& uids) {
  const auto cluster = std::make_unique<Cluster>(5'000);
  const EquivalenceClass one = cluster->decider.classOf(benchRequest(1));
  const EquivalenceClass never = cluster->decider.classOf(impossible());
  (void)cluster->decider.decide(one);
  (void)cluster->decider.decide(never);
  const double start = cpuSeconds();
  for (std::size_t i = 0; i < 20'000; ++i) {
    cluster->placeOne(one, uids[i]);
    for (int m = 0; m < misfits; ++m) { benchmark::DoNotOptimize(cluster->decider.decide(never)); }
  }
  return {cpuSeconds() - start, 20'000};
}

/// Pods of a map, each with a request of its own for two GPUs of one of 500 nodes, however many there are.
Run fillMapped(int nodes, const std::vector<model::Uid>& uids) {
  constexpr int kPods = 2'000;
  const auto cluster = std::make_unique<Cluster>(nodes);
  const double start = cpuSeconds();
  for (int i = 0; i < kPods; ++i) {
    PodRequest r;
    r.door = &kMapDoor;
    r.on_node = fmt::format("node-{:05}", i * 7 % 500);
    r.devices.emplace();
    r.devices->count = 2;
    r.devices->exact = {i % 4, 4 + i % 4};
    r.devices->shared = true;
    cluster->placeOne(cluster->decider.classOf(r), uids[static_cast<std::size_t>(i)]);
  }
  return {cpuSeconds() - start, kPods};
}

// ---- as google benchmarks

void report(benchmark::State& state, const Run& run) { state.SetIterationTime(run.seconds); }

template <class Fill>
void timeFill(benchmark::State& state, const Fill& fill, int nodes, std::size_t pods) {
  const auto uids = benchUids(pods);
  double decisions = 0;
  for (auto _ : state) {
    const Run run = fill(nodes, uids);
    decisions += run.decisions;
    report(state, run);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(decisions));
}

void BM_DecideSingles(benchmark::State& state) {
  timeFill(state, fillWithSingles, static_cast<int>(state.range(0)),
           static_cast<std::size_t>(state.range(0)) * kGpus + 1);
}
BENCHMARK(BM_DecideSingles)
    ->Arg(500)
    ->Arg(5'000)
    ->Arg(50'000)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

void BM_DecideMapped(benchmark::State& state) {
  timeFill(state, fillMapped, static_cast<int>(state.range(0)), 2'000);
}
BENCHMARK(BM_DecideMapped)
    ->Arg(500)
    ->Arg(50'000)
    ->Iterations(20)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

void BM_DecideMixed(benchmark::State& state) { timeFill(state, fillMixed, 5'000, kMixedPods); }
BENCHMARK(BM_DecideMixed)->UseManualTime()->Unit(benchmark::kMillisecond);

void BM_DecideAffinity(benchmark::State& state) { timeFill(state, fillWithAffinity, 5'000, kAffinityPods); }
BENCHMARK(BM_DecideAffinity)->UseManualTime()->Unit(benchmark::kMillisecond);

void BM_RejectionText(benchmark::State& state) {
  Cluster cluster{static_cast<int>(state.range(0))};
  const PodRequest request = impossible();
  for (auto _ : state) { benchmark::DoNotOptimize(rejectionText(cluster.ledger, request)); }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_RejectionText)->Arg(5'000)->Unit(benchmark::kMicrosecond);

/// Asked again after one node changed.
void BM_RejectionAgain(benchmark::State& state) {
  Cluster cluster{static_cast<int>(state.range(0))};
  const EquivalenceClass never = cluster.decider.classOf(impossible());
  const EquivalenceClass one = cluster.decider.classOf(benchRequest(1));
  const auto uids = benchUids(static_cast<std::size_t>(state.range(0)));
  std::size_t next = 0;
  for (auto _ : state) {
    cluster.placeOne(one, uids[next++ % uids.size()]);
    benchmark::DoNotOptimize(cluster.decider.rejection(never));
  }
}
BENCHMARK(BM_RejectionAgain)->Arg(5'000)->Iterations(4'000)->Unit(benchmark::kMicrosecond);

// ---- as figures

/// The cheapest of some runs: the one that was disturbed least.
template <class Make>
double costPerDecision(int runs, const Make& make) {
  double best = 1e9;
  for (int i = 0; i < runs; ++i) {
    const Run run = make();
    best = std::min(best, run.seconds / run.decisions);
  }
  return best;
}

int writeFigures(const char* path) {
  const auto uids = benchUids(50'000 * kGpus + 1);
  const std::vector<model::Uid> mixed_uids{uids.begin(), uids.begin() + kMixedPods};
  const auto fill = [&](int nodes) { return [&uids, nodes] { return fillWithSingles(nodes, uids); }; };
  const double single = costPerDecision(5, fill(5'000));
  const double mixed = costPerDecision(5, [&] { return fillMixed(5'000, mixed_uids); });
  const std::vector<model::Uid> affinity_uids{uids.begin(), uids.begin() + kAffinityPods};
  const double affinity = costPerDecision(3, [&] { return fillWithAffinity(5'000, affinity_uids); });
  const double growth = costPerDecision(3, fill(50'000)) / costPerDecision(20, fill(500));
  const double fits = costPerDecision(5, [&] { return placeWithMisfits(0, uids); });
  const double misfit = (costPerDecision(5, [&] { return placeWithMisfits(1, uids); }) - fits) / fits;
  const std::string text = fmt::format(
      "{{\"decide_per_s\": {:.0f}, \"decide_mixed_per_s\": {:.0f}, \"decide_affinity_per_s\": {:.0f}, "
      "\"decide_growth\": {:.3f}, \"decide_misfit_ratio\": {:.3f}}}\n",
      1 / single, 1 / mixed, 1 / affinity, growth, misfit);
  return bench::writeFigures(text, path);
}

}  // namespace
}  // namespace gs::sched

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--json") == 0) { return gs::sched::writeFigures(argv[2]); }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) { return 1; }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
