#include "scheduler/status_page.h"

#include <fmt/format.h>
#include <iterator>

#include "scheduler/metrics.h"

namespace gs::scheduler {
namespace {

constexpr const char* kNoAnswer = "the scheduler's thread does not answer\n";

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

net::Response StatusPage::health() const {
  const auto failure = wiring_.ask([](const Scheduler& s) { return s.failure(); });
  if (!failure) { return net::textResponse(500, kNoAnswer); }
  return failure->empty() ? net::textResponse(200, "ok\n") : net::textResponse(500, *failure + "\n");
}

net::Response StatusPage::ready(bool verbose) const {
  const bool unauthorized = wiring_.unauthorized();
  const std::string election = wiring_.election_trouble ? wiring_.election_trouble() : "";
  const auto text = wiring_.ask([unauthorized, election](const Scheduler& s) {
    const Readiness r = s.readiness();
    std::string out = r.ready && !unauthorized && election.empty() ? "1" : "0";
    for (const auto& [what, state] : r.checks) { out += fmt::format("{}: {}\n", what, state); }
    out += fmt::format(
        "token: {}\n",
        unauthorized ? "the API server answers 401 Unauthorized; give this process a valid token" : "ok");
    if (!election.empty()) { out += fmt::format("leader-election: {}\n", election); }
    return out;
  });
  if (!text) { return net::textResponse(500, kNoAnswer); }
  const bool ok = text->front() == '1';
  return net::textResponse(ok ? 200 : 503, ok && !verbose ? "ok\n" : text->substr(1));
}

net::Response StatusPage::metrics() const {
  const auto state = wiring_.ask([](const Scheduler& s) { return stateMetrics(s); });
  if (!state) { return net::textResponse(500, kNoAnswer); }
  return {200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}, wiring_.metrics() + *state};
}

net::Response StatusPage::answer(const net::Request& request) const {
  if (request.method != "GET" && request.method != "HEAD") {
    return net::textResponse(405, "only GET is served here\n");
  }
  if (request.path() == "/healthz" || request.path() == "/livez") { return health(); }
  if (request.path() == "/readyz") { return ready(request.target.find("verbose") != std::string::npos); }
  if (request.path() == "/metrics") { return metrics(); }
  return net::textResponse(404, "not found; try /healthz, /readyz?verbose or /metrics\n");
}

}  // namespace gs::scheduler
