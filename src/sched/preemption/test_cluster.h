// Small clusters drawn at random for the tests of this folder: nodes with GPUs, pods that hold them in every
// way, budgets, nominated pods, and somebody who asks. Facts are kept as they were drawn, so that a test can
// tell any part of them to another ledger. Included by tests only.
#pragma once

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "sched/ledger/test_nodes.h"
#include "sched/preemption/search.h"

namespace gs::sched {

inline constexpr std::int32_t kDrawnPriorities = 6;

/// A pod that is there, or what is left of one (`pod` is null).
struct DrawnHolder {
  model::Uid uid;
  model::PodPtr pod;
  std::vector<int> ids;
  Source source = Source::Lease;
  bool shared = false;
  std::int64_t counted = 0;
  bool coming = false;  // its Binding is not seen yet

  void addTo(Ledger& ledger, const model::NodeName& node) const {
    for (const int id : ids) { ledger.hold(node, id, uid, source, {shared, 0, 0}); }
    if (pod == nullptr) { return ledger.reclaimCounted(node, uid, counted); }
    ledger.usePod(node, uid, coming ? Source::Reservation : Source::BoundPod, pod->requests, counted);
  }
};

struct DrawnNode {
  TestNode node;
  std::vector<DrawnHolder> holders;

  void addTo(Ledger& ledger, const std::set<model::Uid>& gone = {}) const {
    node.addTo(ledger);
    for (const auto& holder : holders) {
      if (!gone.contains(holder.uid)) { holder.addTo(ledger, node.node.name); }
    }
  }
};

class DrawnCluster {
 public:
  explicit DrawnCluster(std::uint64_t seed) : rng_{seed} {
    const auto count = 1 + rng_.below(4);
    for (std::uint64_t i = 0; i < count; ++i) { addNode("n" + std::to_string(i)); }
    drawQuestion();
    const auto budgets = rng_.below(4);
    for (std::uint64_t i = 0; i < budgets; ++i) { addBudget("b" + std::to_string(i)); }
    if (rng_.chance(25)) { addNominated(); }
    for (const auto& node : nodes) {
      for (const auto& holder : node.holders) {
        if (rng_.chance(20)) { staying.insert(holder.uid); }
      }
    }
  }

  std::vector<DrawnNode> nodes;
  std::vector<model::DisruptionBudget> budgets;
  std::vector<Nomination> nominated;
  std::set<model::Uid> staying;  // of those who go, who does not end
  PreemptionSearch::Question question;

 private:
  model::PodPtr drawPod(const std::string& name, const model::NodeName& node) {
    model::Pod pod;
    pod.uid = model::Uid{name};
    pod.key = {rng_.chance(80) ? "team-a" : "team-b", name};
    pod.node = node;
    pod.priority = static_cast<std::int32_t>(rng_.below(kDrawnPriorities)) - 1;
    if (rng_.chance(80)) { pod.started = Wall{std::chrono::seconds{1'000 + rng_.below(4)}}; }
    pod.deleting = rng_.chance(8);
    if (rng_.chance(70)) { pod.labels = {{"app", rng_.chance(50) ? "web" : "db"}}; }
    pod.requests.cpu_milli = static_cast<std::int64_t>(500 * rng_.below(3));
    return std::make_shared<const model::Pod>(std::move(pod));
  }

  void addNode(const std::string& name) {
    DrawnNode n{testNode(name), {}};
    const auto gpus = static_cast<int>(rng_.below(6));
    const int left = static_cast<int>(rng_.below(static_cast<std::uint64_t>(gpus) + 1));
    n.node.gpus(left, "x", 600).gpus(gpus - left, "y", 300);
    n.node.cpu(static_cast<std::int64_t>(1'000 * (1 + rng_.below(3))));
    n.node.pods(static_cast<std::int64_t>(3 + rng_.below(6)));
    n.node.resource(model::kNvidiaGpu, gpus);
    if (rng_.chance(20)) { n.node.withoutStatus(); }
    if (rng_.chance(30)) { n.node.enforcement(model::Enforcement::Off); }
    if (rng_.chance(10)) { n.node.taint("team", "research", "NoSchedule"); }
    const auto pods = rng_.below(6);
    for (std::uint64_t i = 0; i < pods; ++i) { addHolder(n, name + "-p" + std::to_string(i), gpus); }
    nodes.push_back(std::move(n));
  }

  void addHolder(DrawnNode& n, const std::string& name, int gpus) {
    DrawnHolder holder;
    holder.uid = model::Uid{name};
    const bool is_left = rng_.chance(8);
    model::PodPtr drawn = drawPod(name, n.node.node.name);
    holder.coming = !is_left && rng_.chance(5);
    if (!is_left && gpus > 0 && rng_.chance(30)) {
      model::Pod counted = *drawn;
      holder.counted = static_cast<std::int64_t>(1 + rng_.below(2));
      counted.requests.extended[model::kNvidiaGpu] = holder.counted;
      drawn = std::make_shared<const model::Pod>(std::move(counted));
    } else if (gpus > 0) {
      drawIds(n, holder, gpus);
    }
    if (is_left) {
      holder.source = Source::Draining;
    } else {
      holder.pod = std::move(drawn);
      if (holder.coming) { holder.source = Source::Reservation; }
    }
    n.holders.push_back(std::move(holder));
  }

  void drawIds(const DrawnNode& n, DrawnHolder& holder, int gpus) {
    holder.shared = rng_.chance(30);
    for (int id = 0; id < gpus; ++id) {
      const bool taken = std::any_of(n.holders.begin(), n.holders.end(), [&](const DrawnHolder& other) {
        const bool has = std::find(other.ids.begin(), other.ids.end(), id) != other.ids.end();
        return has && !(other.shared && holder.shared);
      });
      if (!taken && rng_.chance(45)) { holder.ids.push_back(id); }
    }
  }

  PodRequest drawRequest() {
    PodRequest r;
    const auto count = static_cast<std::int64_t>(1 + rng_.below(4));
    switch (rng_.below(6)) {
      case 0: break;
      case 1: r = testPlain(count); break;
      case 2: {
        const auto id = static_cast<int>(rng_.below(4));
        r = testMapped("n0", rng_.chance(50) ? std::vector<int>{id} : std::vector<int>{id, id + 1});
        break;
      }
      default: {
        DeviceRequest d = testDevices(count, static_cast<model::Policy>(rng_.below(2)));
        d.shared = rng_.chance(25);
        if (rng_.chance(30)) { d.topology = model::TopologyMode::Required; }
        if (rng_.chance(20)) { d.min_bandwidth_gbps = 500; }
        r = testClaim(d);
        if (rng_.chance(30)) { r.resources.extended[model::kNvidiaGpu] = count; }
      }
    }
    r.resources.cpu_milli = static_cast<std::int64_t>(500 * rng_.below(4));
    return r;
  }

  void drawQuestion() {
    model::Pod pod;
    pod.uid = model::Uid{"self"};
    pod.key = {"team-a", "self"};
    pod.priority = static_cast<std::int32_t>(1 + rng_.below(kDrawnPriorities));
    if (rng_.chance(10)) { pod.nominated = model::NodeName{"n1"}; }
    question.pod = std::make_shared<const model::Pod>(std::move(pod));
    question.request = drawRequest();
    question.awaits = rng_.chance(80);
  }

  void addBudget(const std::string& name) {
    model::DisruptionBudget budget;
    budget.key = {rng_.chance(80) ? "team-a" : "team-b", name};
    if (rng_.chance(90)) {
      budget.pods.emplace();
      if (rng_.chance(70)) {
        budget.pods->requirements.push_back(
            {"app", model::LabelRequirement::Op::In, {rng_.chance(50) ? "web" : "db"}});
      }
    }
    budget.allowed = static_cast<std::int64_t>(rng_.below(3));
    if (rng_.chance(20)) { budget.disrupted = {"n0-p0", "n1-p1"}; }
    budgets.push_back(std::move(budget));
  }

  /// What such a pod would get is its policy's choice. Where the one who asks wants certain devices, that
  /// choice may be in its way only since others are gone: then who stays is no question of one by one.
  PodRequest drawNominatedRequest() {
    const auto& asked = question.request.devices;
    const bool is_choosy =
        asked && (!asked->exact.empty() || asked->topology || asked->min_bandwidth_gbps > 0);
    PodRequest r;
    if (!is_choosy && rng_.chance(70)) { r = testClaim(static_cast<std::int64_t>(1 + rng_.below(2))); }
    r.resources.cpu_milli = static_cast<std::int64_t>(500 * rng_.below(3));
    return r;
  }

  void addNominated() {
    const auto count = 1 + rng_.below(2);
    for (std::uint64_t i = 0; i < count; ++i) {
      Nomination one;
      one.uid = model::Uid{"nominated-" + std::to_string(i)};
      one.node = nodes[rng_.below(nodes.size())].node.node.name;
      one.priority = static_cast<std::int32_t>(rng_.below(kDrawnPriorities + 1));
      one.request = drawNominatedRequest();
      nominated.push_back(std::move(one));
    }
  }

  Rng rng_;
};

}  // namespace gs::sched
