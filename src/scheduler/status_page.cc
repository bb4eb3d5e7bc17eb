#include "scheduler/status_page.h"

#include <fmt/format.h>
#include <iterator>

#include "scheduler/metrics.h"

namespace gs::scheduler {
namespace {

const char* useText(const sched::DeviceState& device) {
  if (device.facts.health == model::Health::Unhealthy) { return "unhealthy"; }
  switch (device.use()) {
    case sched::DeviceUse::Free: return device.listed ? "free" : "gone";
    case sched::DeviceUse::Held: return "held";
    case sched::DeviceUse::Draining: return "draining";
  }
  return "free";
}

}  // namespace

std::string stateMetrics(const Scheduler& scheduler) {
  std::string out;
  const auto add = std::back_inserter(out);
  const auto pending = scheduler.pending();
  fmt::format_to(add, "# HELP {0} Pods of ours that wait, by queue.\n# TYPE {0} gauge\n", kPendingPods);
  fmt::format_to(
      add, "{0}{{queue=\"active\"}} {1}\n{0}{{queue=\"backoff\"}} {2}\n{0}{{queue=\"unschedulable\"}} {3}\n",
      kPendingPods, pending.ready, pending.backoff, pending.parked);
  fmt::format_to(add, "# HELP {0} 1 while this process decides.\n# TYPE {0} gauge\n{0} {1}\n", kLeading,
                 scheduler.leading() ? 1 : 0);
  fmt::format_to(add,
                 "# HELP {0} Leases of running pods that are missing and cannot be written.\n# TYPE {0} "
                 "gauge\n{0} {1}\n",
                 kLeaseRepairsFailing, scheduler.leaseRepairsFailing());
  fmt::format_to(add, "# HELP {0} GPUs by node and state.\n# TYPE {0} gauge\n", kDevices);
  const sched::Ledger& ledger = scheduler.engine().ledger();
  for (std::size_t i = 0; i < ledger.size(); ++i) {
    const auto& node = ledger.at(static_cast<sched::Ledger::NodeIndex>(i));
    std::map<std::string, int> states{{"free", 0}, {"held", 0}, {"draining", 0}, {"unhealthy", 0}};
    for (const auto& device : node.devices) { ++states[useText(device)]; }
    if (node.devices.empty() || !node.exists) { continue; }
    for (const auto& [state, n] : states) {
      fmt::format_to(add, "{}{{node=\"{}\",state=\"{}\"}} {}\n", kDevices, node.node.name.text, state, n);
    }
  }
  return out;
}

std::string readinessText(const Scheduler& scheduler) {
  const Readiness r = scheduler.readiness();
  std::string out = r.ready ? "1" : "0";
  for (const auto& [what, state] : r.checks) { out += fmt::format("{}: {}\n", what, state); }
  return out;
}

}  // namespace gs::scheduler
