#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>

#include "apiserver/present/age.h"
#include "apiserver/present/table.h"
#include "base/ascii.h"

namespace gs::apiserver {
namespace {

using json::Array;
using json::Value;

std::string text(const Value& v) { return std::string{v.str()}; }
std::string orElse(const Value& v, const char* fallback) { return v.str().empty() ? fallback : text(v); }

bool isSidecar(const Value& pod, const Value& name) {
  for (const Value& c : pod["spec"]["initContainers"].items()) {
    if (c["name"] == name) { return c["restartPolicy"].str() == "Always"; }
  }
  return false;
}

bool hasCondition(const Value& pod, std::string_view type) {
  const auto& all = pod["status"]["conditions"].items();
  return std::any_of(all.begin(), all.end(),
                     [&](const Value& c) { return c["type"].str() == type && c["status"].str() == "True"; });
}

/// READY, STATUS and RESTARTS, gathered as kubectl's server-side printer does.
class PodSummary {
 public:
  explicit PodSummary(const Value& pod) : pod_{pod} {
    const Value& status = pod["status"];
    reason_ = orElse(status["reason"], status["phase"].str().empty() ? "" : text(status["phase"]).c_str());
    for (const Value& c : status["conditions"].items()) {
      if (c["type"].str() == "PodScheduled" && c["reason"].str() == "SchedulingGated") {
        reason_ = "SchedulingGated";
      }
    }
    total_ = pod["spec"]["containers"].items().size();
    const bool initializing = initContainers();
    if (!initializing || hasCondition(pod, "Initialized")) { containers(); }
    deletion();
  }

  [[nodiscard]] std::string ready() const { return fmt::format("{}/{}", ready_, total_); }
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] std::string restarts(Wall now) const {
    if (restarts_ == 0 || last_restart_.empty()) { return fmt::format("{}", restarts_); }
    return fmt::format("{} ({} ago)", restarts_, ageSince(last_restart_, now));
  }

 private:
  void countRestarts(const Value& status) {
    restarts_ += status["restartCount"].intOr(0);
    // RFC 3339 in UTC with whole seconds: text order is time order
    last_restart_ = std::max(last_restart_, text(status["lastState"]["terminated"]["finishedAt"]));
  }

  static std::string ended(const Value& terminated) {
    if (!terminated["reason"].str().empty()) { return text(terminated["reason"]); }
    if (const auto signal = terminated["signal"].intOr(0); signal != 0) {
      return fmt::format("Signal:{}", signal);
    }
    return fmt::format("ExitCode:{}", terminated["exitCode"].intOr(0));
  }

  /// True: one of them is not done; then `reason_` says which.
  bool initContainers() {
    const auto& specs = pod_["spec"]["initContainers"].items();
    total_ += static_cast<std::size_t>(std::count_if(
        specs.begin(), specs.end(), [](const Value& c) { return c["restartPolicy"].str() == "Always"; }));
    const auto& statuses = pod_["status"]["initContainerStatuses"].items();
    for (std::size_t i = 0; i < statuses.size(); ++i) {
      const Value& s = statuses[i];
      countRestarts(s);
      const Value& terminated = s["state"]["terminated"];
      if (terminated.isObject() && terminated["exitCode"].intOr(0) == 0) { continue; }
      if (isSidecar(pod_, s["name"]) && s["started"].boolOr(false)) {
        ready_ += s["ready"].boolOr(false) ? 1U : 0U;
        continue;
      }
      const std::string waiting = text(s["state"]["waiting"]["reason"]);
      if (terminated.isObject()) {
        reason_ = "Init:" + ended(terminated);
      } else if (!waiting.empty() && waiting != "PodInitializing") {
        reason_ = "Init:" + waiting;
      } else {
        reason_ = fmt::format("Init:{}/{}", i, specs.size());
      }
      return true;
    }
    return false;
  }

  void containers() {
    restarts_ = 0;
    last_restart_.clear();
    bool running = false;
    const auto& statuses = pod_["status"]["containerStatuses"].items();
    for (auto it = statuses.rbegin(); it != statuses.rend(); ++it) {
      const Value& s = *it;
      countRestarts(s);
      const Value& state = s["state"];
      if (!state["waiting"]["reason"].str().empty()) {
        reason_ = text(state["waiting"]["reason"]);
      } else if (state["terminated"].isObject()) {
        reason_ = ended(state["terminated"]);
      } else if (s["ready"].boolOr(false) && state["running"].isObject()) {
        running = true;
        ++ready_;
      }
    }
    if (reason_ == "Completed" && running) { reason_ = hasCondition(pod_, "Ready") ? "Running" : "NotReady"; }
  }

  void deletion() {
    if (pod_["metadata"].find("deletionTimestamp") == nullptr) { return; }
    const std::string_view phase = pod_["status"]["phase"].str();
    if (pod_["status"]["reason"].str() == "NodeLost") {
      reason_ = "Unknown";
    } else if (phase != "Succeeded" && phase != "Failed") {
      reason_ = "Terminating";
    }
  }

  const Value& pod_;
  std::string reason_;
  std::size_t ready_ = 0;
  std::size_t total_ = 0;
  std::int64_t restarts_ = 0;
  std::string last_restart_;
};

std::string readinessGates(const Value& pod) {
  const auto& gates = pod["spec"]["readinessGates"].items();
  if (gates.empty()) { return "<none>"; }
  const auto open = std::count_if(gates.begin(), gates.end(), [&](const Value& g) {
    return hasCondition(pod, g["conditionType"].str());
  });
  return fmt::format("{}/{}", open, gates.size());
}

std::string nodeRoles(const Value& node) {
  constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::set<std::string> roles;
  for (const auto& [key, value] : node["metadata"]["labels"].members()) {
    if (key.starts_with(kPrefix) && key.size() > kPrefix.size()) { roles.insert(key.substr(kPrefix.size())); }
    if (key == "kubernetes.io/role" && !value.str().empty()) { roles.insert(text(value)); }
  }
  std::string out;
  for (const std::string& role : roles) { out += (out.empty() ? "" : ",") + role; }
  return out.empty() ? "<none>" : out;
}

std::string nodeStatus(const Value& node) {
  std::string out;
  for (const Value& c : node["status"]["conditions"].items()) {
    if (c["type"].str() == "Ready") { out = c["status"].str() == "True" ? "Ready" : "NotReady"; }
  }
  if (out.empty()) { out = "Unknown"; }
  return node["spec"]["unschedulable"].boolOr(false) ? out + ",SchedulingDisabled" : out;
}

std::string nodeAddress(const Value& node, std::string_view type) {
  for (const Value& a : node["status"]["addresses"].items()) {
    if (a["type"].str() == type) { return text(a["address"]); }
  }
  return "<none>";
}

/// The first of these members that is there: events come in two forms (core and events.k8s.io).
const Value& either(const Value& v, const char* a, const char* b) {
  return v.find(a) != nullptr ? v[a] : v[b];
}

std::string eventSource(const Value& event) {
  const Value& source = either(event, "source", "deprecatedSource");
  std::string component = text(source["component"]);
  std::string host = text(source["host"]);
  if (component.empty()) {
    component = text(either(event, "reportingComponent", "reportingController"));
    host = text(event["reportingInstance"]);
  }
  return host.empty() ? component : component + ", " + host;
}

std::string trimmed(std::string_view s) {
  const auto space = [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; };
  while (!s.empty() && space(s.front())) { s.remove_prefix(1); }
  while (!s.empty() && space(s.back())) { s.remove_suffix(1); }
  return std::string{s};
}

}  // namespace

json::Array podCells(const json::Value& pod, Wall now) {
  const PodSummary summary{pod};
  const Value& status = pod["status"];
  return {pod["metadata"]["name"],
          Value{summary.ready()},
          Value{summary.reason()},
          Value{summary.restarts(now)},
          Value{ageSince(pod["metadata"]["creationTimestamp"].str(), now)},
          Value{orElse(status["podIPs"].at(0)["ip"], "<none>")},
          Value{orElse(pod["spec"]["nodeName"], "<none>")},
          Value{orElse(status["nominatedNodeName"], "<none>")},
          Value{readinessGates(pod)}};
}

json::Array nodeCells(const json::Value& node, Wall now) {
  const Value& info = node["status"]["nodeInfo"];
  return {node["metadata"]["name"],
          Value{nodeStatus(node)},
          Value{nodeRoles(node)},
          Value{ageSince(node["metadata"]["creationTimestamp"].str(), now)},
          Value{text(info["kubeletVersion"])},
          Value{nodeAddress(node, "InternalIP")},
          Value{nodeAddress(node, "ExternalIP")},
          Value{orElse(info["osImage"], "<unknown>")},
          Value{orElse(info["kernelVersion"], "<unknown>")},
          Value{orElse(info["containerRuntimeVersion"], "<unknown>")}};
}

json::Array eventCells(const json::Value& event, Wall now) {
  const Value& first_time = either(event, "firstTimestamp", "deprecatedFirstTimestamp");
  const Value& last_time = either(event, "lastTimestamp", "deprecatedLastTimestamp");
  const std::string first =
      ageSince(first_time.isString() ? first_time.str() : event["eventTime"].str(), now);
  std::string last = last_time.isString() ? ageSince(last_time.str(), now) : first;
  std::int64_t count = either(event, "count", "deprecatedCount").intOr(1);
  if (event["series"].isObject()) {
    last = ageSince(event["series"]["lastObservedTime"].str(), now);
    count = event["series"]["count"].intOr(1);
  }
  const Value& about = either(event, "involvedObject", "regarding");
  std::string target = inLowerCase(about["kind"].str());
  if (!about["name"].str().empty()) { target += "/" + text(about["name"]); }
  return {Value{last},
          Value{text(event["type"])},
          Value{text(event["reason"])},
          Value{target},
          Value{text(about["fieldPath"])},
          Value{eventSource(event)},
          Value{trimmed(either(event, "message", "note").str())},
          Value{first},
          Value{count == 0 ? 1 : count},
          event["metadata"]["name"]};
}

}  // namespace gs::apiserver
