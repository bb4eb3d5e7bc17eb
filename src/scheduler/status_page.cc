#include "scheduler/status_page.h"

#include <array>

#include "base/metrics.h"
#include "scheduler/core/metrics.h"

namespace gs::scheduler {
namespace {

constexpr std::array<const char*, 5> kStates{"draining", "free", "gone", "held", "unhealthy"};
constexpr std::size_t kDraining = 0;
constexpr std::size_t kFree = 1;
constexpr std::size_t kGone = 2;  // said only where there are some
constexpr std::size_t kHeld = 3;
constexpr std::size_t kUnhealthy = 4;

/// Of a node without a GpuNodeStatus no device is listed: there each counts as what it is.
std::size_t stateOf(const sched::DeviceState& device, const sched::NodeState& node) {
  if (device.twice || device.facts.health == model::Health::Unhealthy) { return kUnhealthy; }
  switch (device.use()) {
    case sched::DeviceUse::Free: return kFree;
    case sched::DeviceUse::Held: return device.listed || !node.has_status ? kHeld : kGone;
    case sched::DeviceUse::Draining: return kDraining;
  }
  return kFree;
}

void addPending(const Scheduler& scheduler, Metrics& m) {
  const auto add = [&](const char* queue, std::size_t pods) {
    m.gauge(kPendingPods, "Pods of ours that wait, by queue.", {{"queue", queue}})
        .set(static_cast<double>(pods));
  };
  const auto pending = scheduler.pending();
  add("active", pending.ready);
  add("backoff", pending.backoff);
  add("unschedulable", pending.unschedulable);
  add("gated", scheduler.gated());
}

void addContradictions(const Contradictions& contradictions, Metrics& m) {
  const auto counts = contradictions.counts();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const char* kind = Contradictions::nameOf(static_cast<Contradictions::Kind>(i));
    m.gauge(kContradictions, "Facts about GPUs that contradict each other, by kind.", {{"kind", kind}})
        .set(static_cast<double>(counts.at(i)));
  }
}

void addDevices(const sched::NodeState& node, Metrics& m) {
  std::array<int, kStates.size()> counts{};
  for (const auto& device : node.devices) { ++counts.at(stateOf(device, node)); }
  for (std::size_t state = 0; state < kStates.size(); ++state) {
    if (counts.at(state) == 0 && state == kGone) { continue; }
    m.gauge(kDevices, "GPUs by node and state.",
            {{"node", node.node.name.text}, {"state", kStates.at(state)}})
        .set(counts.at(state));
  }
}

}  // namespace

std::string stateMetrics(const Scheduler& scheduler) {
  Metrics m;  // what there is now; nothing of it is kept
  addPending(scheduler, m);
  m.gauge(kLeading, "1 while this process decides.").set(scheduler.leading() ? 1 : 0);
  m.gauge(kLeaseRepairsFailing, "Leases of running pods that are missing and cannot be written.")
      .set(static_cast<double>(scheduler.leaseRepairsFailing()));
  addContradictions(scheduler.contradictions(), m);
  const sched::Ledger& ledger = scheduler.engine().ledger();
  for (std::size_t i = 0; i < ledger.size(); ++i) {
    const auto& node = ledger.at(static_cast<sched::Ledger::NodeIndex>(i));
    if (!node.devices.empty() && node.exists) { addDevices(node, m); }
  }
  return m.text();
}

}  // namespace gs::scheduler
