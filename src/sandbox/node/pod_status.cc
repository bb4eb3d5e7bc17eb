#include "sandbox/node/pod_status.h"

#include <algorithm>
#include <utility>

namespace gs::sandbox {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr std::int64_t kLongestGrace = 1'000'000'000;  // what a Duration holds

bool isSidecar(const Value& container) { return container["restartPolicy"].str() == "Always"; }

Value condition(const char* type, bool is, const std::string& since, const char* reason = nullptr) {
  Value out = Object{{"type", type}, {"status", is ? "True" : "False"}, {"lastTransitionTime", since}};
  if (reason != nullptr) { out.set("reason", reason); }
  return out;
}

Array conditionsOf(const PodReport& report, const std::string& now) {
  Array out;
  out.push_back(condition("Initialized", true, now));
  out.push_back(condition("Ready", report.ready, now, report.reason));
  out.push_back(condition("ContainersReady", report.ready, now, report.reason));
  return out;
}

Value running(const std::string& started) { return Object{{"running", Object{{"startedAt", started}}}}; }

Value terminated(int exit_code, const std::string& started, const std::string& now) {
  return Object{{"terminated", Object{{"exitCode", exit_code},
                                      {"reason", exit_code == 0 ? "Completed" : "Error"},
                                      {"startedAt", started.empty() ? now : started},
                                      {"finishedAt", now}}}};
}

Value containerStatus(const Value& container, bool ready, Value state) {
  return Object{{"name", container["name"]},
                {"image", container["image"]},
                {"imageID", ""},
                {"ready", ready},
                {"started", ready},
                {"restartCount", 0},
                {"state", std::move(state)}};
}

/// `exit_code` nothing: it runs.
Value containerStatus(const Value& container, std::optional<int> exit_code, const std::string& started,
                      const std::string& now) {
  return exit_code ? containerStatus(container, false, terminated(*exit_code, started, now))
                   : containerStatus(container, true, running(started));
}

}  // namespace

PodView viewOf(const json::Value& pod) {
  const auto phase = pod["status"]["phase"].str();
  const Array& said = pod["status"]["containerStatuses"].items();
  const Array& init = pod["spec"]["initContainers"].items();
  PodView out;
  out.finished = phase == "Succeeded" || phase == "Failed";
  out.deleting = pod["metadata"].find("deletionTimestamp") != nullptr;
  const std::int64_t grace = pod["metadata"]["deletionGracePeriodSeconds"].intOr(30);
  out.grace = std::chrono::seconds{std::clamp<std::int64_t>(grace, 0, kLongestGrace)};
  out.said_to_wait =
      std::any_of(said.begin(), said.end(), [](const Value& c) { return c["state"]["waiting"].isObject(); });
  out.has_sidecars = std::any_of(init.begin(), init.end(), isSidecar);
  return out;
}

json::Value statusOf(const PodReport& report, const json::Value& pod, const std::string& started,
                     const std::string& now) {
  Array main;
  for (const Value& container : pod["spec"]["containers"].items()) {
    main.push_back(containerStatus(container, report.exit_code, started, now));
  }
  Array init;
  bool sidecars = false;
  for (const Value& container : pod["spec"]["initContainers"].items()) {
    sidecars = sidecars || isSidecar(container);
    init.push_back(isSidecar(container) ? containerStatus(container, report.sidecar_exit_code, started, now)
                                        : containerStatus(container, true, terminated(0, started, started)));
  }
  Value out = Object{{"conditions", conditionsOf(report, now)}, {"containerStatuses", std::move(main)}};
  if (report.phase != nullptr) { out.set("phase", report.phase); }
  const bool says_init = report.exit_code ? sidecars : !init.empty();  // what ended before says nothing new
  if (says_init) { out.set("initContainerStatuses", std::move(init)); }
  return out;
}

void setAddresses(json::Value& status, const std::string& address, const std::string& host) {
  status.set("podIP", address);
  status.set("podIPs", Array{Value{Object{{"ip", address}}}});
  if (host.empty()) { return; }
  status.set("hostIP", host);
  status.set("hostIPs", Array{Value{Object{{"ip", host}}}});
}

}  // namespace gs::sandbox
