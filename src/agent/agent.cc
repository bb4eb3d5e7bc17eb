#include "agent/agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "agent/metrics.h"
#include "controller/parts.h"
#include "kapi/kinds.h"
#include "kapi/time.h"
#include "kapi/write.h"

namespace gs::agent {
namespace {

using kapi::CallResult;
using model::Health;

constexpr std::uint8_t kPodsOwner = controller::kAgentOwners.first;
constexpr std::uint8_t kCallsOwner = kPodsOwner + 1;
/// Two, and the first may have been on its way when the pod ended.
constexpr int kOwed = 3;
constexpr std::string_view kVanished =
    "the driver does not list it any more: lost, or taken out (a restart of the agent forgets it)";

controller::Reflector::Config podsOf(const model::NodeName& node) {
  controller::Reflector::Config out{.kind = kapi::kPod, .owner = kPodsOwner, .ns = {}};
  out.selectors.fields = "spec.nodeName=" + node.text;
  return out;
}

const char* nameOf(Fault::Kind kind) {
  switch (kind) {
    case Fault::Kind::Absent: return "DriverAbsent";
    case Fault::Kind::Hanging: return "DriverHangs";
    case Fault::Kind::Failing: break;
  }
  return "DriverFails";
}

/// What was known of it counts no more; what was wrong with it still does.
void doubt(std::vector<Device>& devices, const std::string& why) {
  for (Device& device : devices) {
    if (device.gpu.health == Health::Unhealthy) { continue; }
    device.gpu.health = Health::Unknown;
    device.gpu.reason = why;
  }
}

}  // namespace

Agent::Agent(Config config, Rng rng)
    : config_{std::move(config)}, pods_{podsOf(config_.node), rng}, calls_{kCallsOwner} {}

// ---- what happens

kapi::Effects Agent::start(Now now) {
  kapi::Effects out;
  setCondition(kContainersCondition, false, "NoRuntime",
               "no container runtime is asked: GPUs of pods that went without an end stay taken", now);
  take(pods_.start(now), out);
  go(now, out);
  return out;
}

void Agent::take(controller::Reflector::Output output, kapi::Effects& out) {
  for (const auto& change : output.changes) {
    if (const auto pod = change.object.as<model::Pod>()) {
      users_.changed(*pod);
    } else {
      users_.gone(change.last_uid);
    }
  }
  if (output.went_back) { failure_ = "the API server's history went back (restored from a backup?)"; }
  std::move(output.effects.begin(), output.effects.end(), std::back_inserter(out));
}

kapi::Effects Agent::handle(const kapi::MachineEvent& event, Now now) {
  kapi::Effects out;
  if (const auto* outcome = std::get_if<kapi::Outcome>(&event)) {
    if (kapi::tokenOwner(outcome->token) == kPodsOwner) { take(pods_.handle(*outcome, now), out); }
    if (kapi::tokenOwner(outcome->token) == kCallsOwner) { answered(*outcome, now, out); }
  } else if (const auto* came = std::get_if<kapi::WatchEvent>(&event)) {
    take(pods_.handle(*came, now), out);
  } else if (const auto* ended = std::get_if<kapi::WatchEnded>(&event)) {
    take(pods_.handle(*ended, now), out);
  } else if (std::holds_alternative<kapi::TimerDue>(event)) {
    take(pods_.tick(now), out);
  }
  go(now, out);
  return out;
}

kapi::Effects Agent::looked(const LookPtr& look, Now now) {
  kapi::Effects out;
  const bool answers = look->has_value();
  if (answers) {
    keep(**look);
    if (last_look_ != nullptr && !*last_look_) {
      out.emplace_back(kapi::Log{kapi::Level::Info, "the driver answers again", {}});
    }
    setCondition(kDriverCondition, true, "Answers", "the driver answers", now);
  } else {
    const Fault& fault = look->error();
    const bool is_new = last_look_ == nullptr || *last_look_ != *look;
    if (is_new) { out.emplace_back(kapi::Log{kapi::Level::Warn, fault.text, {}}); }
    setCondition(kDriverCondition, false, nameOf(fault.kind), fault.text, now);
  }
  last_look_ = look;
  go(now, out);
  return out;
}

kapi::Effects Agent::containersSeen(const ContainersLook& look, Now now) {
  kapi::Effects out;
  if (look) {
    users_.seen(*look);
    observed_ = kapi::microTimeText(now.wall);
    setCondition(kContainersCondition, true, "Seen", "the container runtime answers", now);
  } else {
    const std::string message = "the container runtime does not answer: " + look.error().message;
    if (conditions_[kContainersCondition].message != message) {
      out.emplace_back(kapi::Log{kapi::Level::Warn, message, {}});
    }
    setCondition(kContainersCondition, false, "RuntimeSilent", message, now);
  }
  go(now, out);
  return out;
}

/// GPUs that were there and are not listed now stay, unless another one has their place on the bus.
void Agent::keep(const Hardware& hardware) {
  Hardware all = hardware;
  std::set<std::string> uuids;
  std::set<std::string> addresses;
  for (const Gpu& gpu : hardware.gpus) {
    uuids.insert(gpu.uuid);
    addresses.insert(gpu.pci_bus_id);
  }
  if (known_) {
    for (const Gpu& gpu : known_->gpus) {
      const bool replaced = !gpu.pci_bus_id.empty() && addresses.contains(gpu.pci_bus_id);
      const bool fits = all.gpus.size() <= model::kMaxDeviceId;
      if (gpu.uuid.empty() || uuids.contains(gpu.uuid) || replaced || !fits) { continue; }
      all.gpus.push_back(gpu);
      all.gpus.back().health = Health::Unhealthy;
      all.gpus.back().reason = kVanished;
    }
  }
  known_ = std::move(all);
  devices_ = devicesOf(*known_);
  driver_version_ = hardware.driver_version;
}

void Agent::setCondition(const char* type, bool holds, std::string reason, std::string message, Now now) {
  Condition& known = conditions_[type];
  const bool is_first = known.type.empty();
  const Condition& last = is_first ? before_[type] : known;
  const bool turned = last.type.empty() || last.holds != holds;
  known = {type, holds, std::move(reason), std::move(message), turned ? now.wall : last.since};
}

// ---- what is written

NodeView Agent::wanted() const {
  NodeView out;
  out.devices = devices_;
  out.driver_version = driver_version_;
  out.enforcement = config_.enforcement;
  for (const auto& [type, condition] : conditions_) { out.conditions.push_back(condition); }
  if (last_look_ != nullptr && !*last_look_) { doubt(out.devices, last_look_->error().text); }
  for (Device& device : out.devices) { device.in_use_by = users_.of(device); }
  return out;
}

void Agent::go(Now now, kapi::Effects& out) {
  (void)calls_.takeDue(now.mono);
  advance(now, out);
  count(out);
  wake(now, out);
}

void Agent::send(What what, kapi::Call call, kapi::Effects& out) {
  call.token = calls_.begin(what);
  out.emplace_back(std::move(call));
}

void Agent::advance(Now now, kapi::Effects& out) {
  const model::ObjectKey key{"", config_.node.text};
  if (!own_known_ && calls_.due(What::Own, now.mono)) {
    send(What::Own, kapi::getObject(kOwnStatus, key), out);
  }
  if (!spec_done_ && node_uid_.empty() && calls_.due(What::Node, now.mono)) {
    send(What::Node, kapi::getObject(kapi::kNode, key), out);
  }
  if (!spec_done_ && !node_uid_.empty() && calls_.due(What::Spec, now.mono)) {
    kapi::Call call;
    call.verb = kapi::Verb::Apply;
    call.kind = kOwnStatus;
    call.key = key;
    call.query = "fieldManager=gpu-agent&force=true";
    call.body = specBody(config_.node, node_uid_);
    send(What::Spec, std::move(call), out);
  }
  if (spec_done_ && knowsDevices() && calls_.due(What::Status, now.mono)) { publish(now, out); }
}

Duration Agent::pace() {
  if (std::exchange(ends_, users_.ends()) != users_.ends()) { owed_ = kOwed; }
  return users_.draining() || owed_ > 0 ? config_.draining : config_.calm;
}

void Agent::publish(Now now, kapi::Effects& out) {
  NodeView view = wanted();
  const Duration until_next = pace();
  next_ = std::min(next_, now.mono + until_next);
  if (written_ == view && now.mono < next_) { return; }
  if (observed_.empty()) { observed_ = kapi::microTimeText(now.wall); }
  sending_ = std::move(view);
  sending_time_ = observed_;
  next_ = now.mono + until_next;
  kapi::Call call;
  call.verb = kapi::Verb::Apply;
  call.kind = kOwnStatus;
  call.key = {"", config_.node.text};
  call.subresource = "status";
  call.query = "fieldManager=gpu-agent-status&force=true";
  call.body = statusBody(config_.node, sending_, sending_time_);
  send(What::Status, std::move(call), out);
}

void Agent::wake(Now now, kapi::Effects& out) const {
  std::optional<Mono> at = calls_.nextDue();
  if (written_ && spec_done_ && !calls_.open(What::Status)) {
    const Mono next = std::max(next_, calls_.notBefore(What::Status));
    at = at ? std::min(*at, next) : next;
  }
  if (at) { out.emplace_back(kapi::Wake{std::max(*at, now.mono)}); }
}

// ---- answers

void Agent::answered(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const auto answer = calls_.answered(outcome.token);
  if (!answer || answer->stale) { return; }
  switch (answer->key) {
    case What::Node: return nodeRead(outcome, now, out);
    case What::Own: return ownRead(outcome, now, out);
    case What::Spec: return specWritten(outcome, now, out);
    case What::Status: return statusWritten(outcome, now, out);
  }
}

void Agent::say(What what, std::string trouble, kapi::Effects& out) {
  std::string& known = trouble_[what];
  if (known != trouble && !trouble.empty()) { out.emplace_back(kapi::Log{kapi::Level::Warn, trouble, {}}); }
  known = std::move(trouble);
}

void Agent::failed(What what, const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  (void)calls_.failed(what, now.mono, outcome.retry_after);
  static constexpr std::array kDoing{"reading the node", "reading GpuNodeStatus", "writing GpuNodeStatus",
                                     "writing the status of GpuNodeStatus"};
  const std::string doing =
      fmt::format("{} {}", kDoing.at(static_cast<std::size_t>(what)), config_.node.text);
  const bool no_kind = what != What::Node && outcome.http == 404 && !outcome.notFound();
  const bool no_node = what == What::Node && outcome.notFound();
  say(what,
      no_kind   ? doing + ": its kind is not served; apply charts/gpu-scheduler/crds/crds.yaml"
      : no_node ? doing + ": there is none; --node-name is to be that of this machine's Node"
                : fmt::format("{}: {} {}", doing, outcome.http, outcome.message),
      out);
}

void Agent::nodeRead(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const auto node = outcome.object.as<model::Node>();
  if (outcome.result == CallResult::Applied && node != nullptr && !node->uid.empty()) {
    node_uid_ = node->uid;
    calls_.worked(What::Node);
    return say(What::Node, "", out);
  }
  failed(What::Node, outcome, now, out);
}

/// What was published before: those GPUs stay until a driver answers, ids of pods mean them, and who used
/// them does.
void Agent::ownRead(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const auto own = outcome.object.as<OwnStatus>();
  const bool is_there = outcome.result == CallResult::Applied && own != nullptr;
  if (!is_there && !outcome.notFound()) { return failed(What::Own, outcome, now, out); }
  own_known_ = true;
  calls_.worked(What::Own);
  say(What::Own, "", out);
  if (!is_there) { return; }
  if (!known_) {
    devices_ = own->view.devices;
    driver_version_ = own->view.driver_version;
  }
  users_.seed(own->view.devices);
  users_.number(own->view.devices);
  if (observed_.empty()) { observed_ = own->observed_time; }
  for (const Condition& before : own->view.conditions) {
    before_[before.type] = before;
    const auto mine = conditions_.find(before.type);
    const bool as_before = mine != conditions_.end() && mine->second.holds == before.holds;
    if (as_before && before.since != Wall{}) { mine->second.since = before.since; }
  }
}

void Agent::specWritten(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  if (outcome.result != CallResult::Applied) {
    node_uid_ = {};  // it may be another one by now
    return failed(What::Spec, outcome, now, out);
  }
  spec_done_ = true;
  calls_.worked(What::Spec);
  say(What::Spec, "", out);
}

void Agent::statusWritten(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const bool applied = outcome.result == CallResult::Applied;
  out.emplace_back(
      kapi::Metric{kapi::MetricOp::Add, kPublishes, {{"result", applied ? "written" : "failed"}}, 1});
  if (applied) {
    if (!written_) {
      out.emplace_back(
          kapi::Log{kapi::Level::Info,
                    "published",
                    {{"node", config_.node.text}, {"gpus", std::to_string(sending_.devices.size())}}});
    }
    users_.number(sending_.devices);
    written_ = std::move(sending_);
    if (std::exchange(written_time_, sending_time_) != sending_time_) { owed_ = std::max(0, owed_ - 1); }
    next_ = now.mono + pace();
    calls_.worked(What::Status);
    return say(What::Status, "", out);
  }
  next_ = now.mono;  // due as soon as its wait is over
  failed(What::Status, outcome, now, out);
  if (outcome.notFound()) {  // somebody deleted the object, or its Node went and took it along
    spec_done_ = false;
    node_uid_ = {};
  }
}

// ---- what is told of it

void Agent::count(kapi::Effects& out) {
  std::map<std::string, double> now{{"Healthy", 0}, {"Unhealthy", 0}, {"Unknown", 0}};
  const NodeView view = wanted();
  for (const Device& device : view.devices) {
    const Health health = device.gpu.health;
    ++now[health == Health::Healthy ? "Healthy" : health == Health::Unhealthy ? "Unhealthy" : "Unknown"];
  }
  now["driver"] = last_look_ != nullptr && last_look_->has_value() ? 1 : 0;
  now["containers"] = conditions_.at(kContainersCondition).holds ? 1 : 0;
  for (const auto& [what, value] : now) {
    const auto known = counted_.find(what);
    if (known != counted_.end() && known->second == value) { continue; }
    kapi::Metric metric{kapi::MetricOp::Set, kDevices, {}, value};
    if (what == "driver") {
      metric.name = kDriverAnswers;
    } else if (what == "containers") {
      metric.name = kContainersSeen;
    } else {
      metric.labels = {{"health", what}};
    }
    out.emplace_back(std::move(metric));
  }
  counted_ = std::move(now);
}

std::string Agent::readiness() const {
  std::string lines;
  const auto line = [&](const char* what, const std::string& trouble) {
    lines += fmt::format("{}: {}\n", what, trouble.empty() ? "ok" : trouble);
  };
  std::string writes;
  for (const auto& [what, trouble] : trouble_) {
    if (writes.empty()) { writes = trouble; }
  }
  line("status", !writes.empty() ? writes : written_ ? "" : "not written yet");
  line("pods", pods_.trouble());
  for (const auto& [type, condition] : conditions_) {
    line(type == kDriverCondition ? "driver" : "containers", condition.holds ? "" : condition.message);
  }
  return (written_ ? "1" : "0") + lines;
}

}  // namespace gs::agent
