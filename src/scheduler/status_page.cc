#include "scheduler/status_page.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

#include "scheduler/core/metrics.h"

namespace gs::scheduler {
namespace {

constexpr std::array<const char*, 5> kStates{"draining", "free", "gone", "held", "unhealthy"};
constexpr std::size_t kDraining = 0;
constexpr std::size_t kFree = 1;
constexpr std::size_t kGone = 2;  // said only where there are some
constexpr std::size_t kHeld = 3;
constexpr std::size_t kUnhealthy = 4;

std::size_t stateOf(const sched::DeviceState& device) {
  if (device.twice || device.facts.health == model::Health::Unhealthy) { return kUnhealthy; }
  switch (device.use()) {
    case sched::DeviceUse::Free: return device.listed ? kFree : kGone;
    case sched::DeviceUse::Held: return kHeld;
    case sched::DeviceUse::Draining: return kDraining;
  }
  return kFree;
}

}  // namespace

std::string stateMetrics(const Scheduler& scheduler) {
  std::string out;
  const auto add = std::back_inserter(out);
  const auto pending = scheduler.pending();
  fmt::format_to(add, "# HELP {0} Pods of ours that wait, by queue.\n# TYPE {0} gauge\n", kPendingPods);
  for (const auto& [queue, pods] :
       {std::pair{"active", pending.ready}, std::pair{"backoff", pending.backoff},
        std::pair{"unschedulable", pending.unschedulable}, std::pair{"gated", scheduler.gated()}}) {
    fmt::format_to(add, "{}{{queue=\"{}\"}} {}\n", kPendingPods, queue, pods);
  }
  fmt::format_to(add, "# HELP {0} 1 while this process decides.\n# TYPE {0} gauge\n{0} {1}\n", kLeading,
                 scheduler.leading() ? 1 : 0);
  fmt::format_to(add,
                 "# HELP {0} Leases of running pods that are missing and cannot be written.\n# TYPE {0} "
                 "gauge\n{0} {1}\n",
                 kLeaseRepairsFailing, scheduler.leaseRepairsFailing());
  fmt::format_to(add, "# HELP {0} Facts about GPUs that contradict each other, by kind.\n# TYPE {0} gauge\n",
                 kContradictions);
  const auto contradictions = scheduler.contradictions().counts();
  for (std::size_t i = 0; i < contradictions.size(); ++i) {
    fmt::format_to(add, "{}{{kind=\"{}\"}} {}\n", kContradictions,
                   Contradictions::nameOf(static_cast<Contradictions::Kind>(i)), contradictions.at(i));
  }
  fmt::format_to(add, "# HELP {0} GPUs by node and state.\n# TYPE {0} gauge\n", kDevices);
  const sched::Ledger& ledger = scheduler.engine().ledger();
  for (std::size_t i = 0; i < ledger.size(); ++i) {
    const auto& node = ledger.at(static_cast<sched::Ledger::NodeIndex>(i));
    if (node.devices.empty() || !node.exists) { continue; }
    std::array<int, kStates.size()> counts{};
    for (const auto& device : node.devices) { ++counts.at(stateOf(device)); }
    for (std::size_t state = 0; state < kStates.size(); ++state) {
      if (counts.at(state) == 0 && state == kGone) { continue; }
      fmt::format_to(add, "{}{{node=\"{}\",state=\"{}\"}} {}\n", kDevices, node.node.name.text,
                     kStates.at(state), counts.at(state));
    }
  }
  return out;
}

}  // namespace gs::scheduler
