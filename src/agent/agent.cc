#include "agent/agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "agent/health.h"
#include "agent/metrics.h"
#include "controller/parts.h"
#include "kapi/kinds.h"
#include "kapi/retry_wait.h"
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
/// So many times `calm` without a write, and others cannot know how the node is.
constexpr int kMostMissed = 3;

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

const char* nameOf(Health health) {
  switch (health) {
    case Health::Healthy: return "Healthy";
    case Health::Unhealthy: return "Unhealthy";
    case Health::Unknown: break;
  }
  return "Unknown";
}

int badnessOf(Health health) { return health == Health::Healthy ? 0 : health == Health::Unknown ? 1 : 2; }

/// For the condition: without what changes from one failure to the next, which only the log has.
const char* silenceOf(Code code) {
  switch (code) {
    case Code::Unavailable: return "the container runtime does not answer: nobody listens at its socket";
    case Code::Deadline: return "the container runtime does not answer in time";
    default: return "the container runtime answers with an error (the agent's log has it)";
  }
}

/// CUDA counts without those that went: whoever is told an id above theirs gets another GPU than is meant.
void shutMoved(std::vector<Device>& devices, const std::set<std::string>& vanished) {
  const std::string* below = nullptr;
  for (Device& device : devices) {
    Gpu& gpu = device.gpu;
    if (vanished.contains(gpu.uuid)) {
      if (below == nullptr) { below = &gpu.uuid; }
    } else if (below != nullptr && gpu.health != Health::Unhealthy) {
      gpu.health = Health::Unhealthy;
      gpu.reason =
          fmt::format("indices moved since GPU {} vanished: drain the node and restart the agent", *below);
    }
  }
}

std::string idsOf(const std::vector<Device>& devices) {
  std::vector<int> ids;
  ids.reserve(devices.size());
  for (const Device& device : devices) { ids.push_back(device.id); }
  return fmt::format("{}", fmt::join(ids, ", "));
}

}  // namespace

Agent::Agent(Config config, Rng rng)
    : config_{std::move(config)},
      pods_{podsOf(config_.node), rng},
      rng_{rng.split()},
      calls_{kCallsOwner},
      calm_{config_.calm} {}

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
  sayHealth(out);
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
    const char* message = silenceOf(look.error().code);
    if (conditions_[kContainersCondition].message != message) {
      out.emplace_back(kapi::Log{kapi::Level::Warn, look.error().message, {}});
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
  vanished_.clear();
  if (known_) {
    for (const Gpu& gpu : known_->gpus) {
      const bool replaced = !gpu.pci_bus_id.empty() && addresses.contains(gpu.pci_bus_id);
      const bool fits = all.gpus.size() <= model::kMaxDeviceId;
      if (gpu.uuid.empty() || uuids.contains(gpu.uuid) || replaced || !fits) { continue; }
      all.gpus.push_back(gpu);
      all.gpus.back().health = Health::Unhealthy;
      all.gpus.back().reason = kVanished;
      vanished_.insert(gpu.uuid);
    }
  }
  known_ = std::move(all);
  driver_version_ = hardware.driver_version;
  arrange();
}

void Agent::arrange() {
  devices_ = devicesOf(*known_);
  for (Device& device : devices_) { recall(device.gpu); }
  shutMoved(devices_, vanished_);
}

void Agent::recall(Gpu& gpu) {
  const auto before = xids_.find(gpu.uuid);
  if (before == xids_.end()) { return; }
  if (gpu.is_cleared) {
    xids_.erase(before);
    return;
  }
  auto xids = xidsIn(gpu.reason);
  const bool says_more = xids.empty() && !gpu.reason.empty();
  xids.insert(before->second.begin(), before->second.end());
  Facts facts;
  facts.xids = std::move(xids);
  Verdict verdict = agent::healthOf(facts);
  if (badnessOf(verdict.health) < badnessOf(gpu.health)) { return; }
  gpu.health = verdict.health;
  gpu.reason = says_more ? verdict.reason + "; " + gpu.reason : std::move(verdict.reason);
}

/// What is published of it: while the driver is silent, what was known counts no more, and what was wrong
/// still does.
std::pair<Health, const std::string*> Agent::shown(const Device& device) const {
  const bool is_doubted = last_look_ != nullptr && !*last_look_ && device.gpu.health != Health::Unhealthy;
  if (is_doubted) { return {Health::Unknown, &last_look_->error().text}; }
  return {device.gpu.health, &device.gpu.reason};
}

void Agent::sayHealth(kapi::Effects& out) {
  std::map<std::string, std::pair<Health, std::string>> now;
  for (const Device& device : devices_) {
    const auto [health, reason] = shown(device);
    const std::string name = agent::nameOf(device);
    const auto before = said_.find(name);
    const Health was = before == said_.end() ? Health::Healthy : before->second.first;
    if (was != health) {
      const auto level = badnessOf(health) > badnessOf(was) ? kapi::Level::Warn : kapi::Level::Info;
      out.emplace_back(kapi::Log{level,
                                 "a GPU's health changed",
                                 {{"gpu", name},
                                  {"was", before == said_.end() ? "" : nameOf(was)},
                                  {"is", nameOf(health)},
                                  {"reason", *reason}}});
    }
    now.emplace(name, std::pair{health, *reason});
  }
  said_ = std::move(now);
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
  for (Device& device : out.devices) {
    const auto [health, reason] = shown(device);
    if (reason != &device.gpu.reason) { device.gpu.reason = *reason; }
    device.gpu.health = health;
    device.in_use_by = users_.of(device);
  }
  return out;
}

void Agent::go(Now now, kapi::Effects& out) {
  (void)calls_.takeDue(now.mono);
  advance(now, out);
  out_of_date_ = written_ && now.mono - written_at_ > kMostMissed * config_.calm;
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
  // Not before the boot of the status that stands there was read.
  if (own_known_ && !spec_done_ && !node_uid_.empty() && calls_.due(What::Spec, now.mono)) {
    kapi::Call call;
    call.verb = kapi::Verb::Apply;
    call.kind = kOwnStatus;
    call.key = key;
    call.query = "fieldManager=gpu-agent&force=true";
    call.body = specBody(config_.node, node_uid_, config_.boot_id);
    send(What::Spec, std::move(call), out);
  }
  if (foreign_ != 0 && calls_.due(What::Devices, now.mono)) {
    kapi::Call call;
    call.verb = kapi::Verb::MergePatch;
    call.kind = kOwnStatus;
    call.key = key;
    call.subresource = "status";
    call.query = "fieldManager=gpu-agent-status";
    call.body = devicesBody(*written_, std::exchange(foreign_, 0));
    send(What::Devices, std::move(call), out);
  }
  const bool may_write = spec_done_ && knowsDevices() && !calls_.open(What::Devices);
  if (may_write && calls_.due(What::Status, now.mono)) { publish(now, out); }
}

Duration Agent::drawCalm() {
  return std::chrono::duration_cast<Duration>(config_.calm * (0.9 + 0.2 * rng_.unit()));
}

Duration Agent::pace() {
  if (std::exchange(ends_, users_.ends()) != users_.ends()) { owed_ = kOwed; }
  return users_.draining() || owed_ > 0 ? config_.draining : calm_;
}

void Agent::publish(Now now, kapi::Effects& out) {
  if (!users_.isNumbered()) { users_.number(devices_); }
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
  if (written_ && spec_done_ && !calls_.open(What::Status) && !calls_.open(What::Devices)) {
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
    case What::Devices: return devicesWritten(outcome, now, out);
  }
}

void Agent::say(What what, std::string trouble, kapi::Effects& out) {
  std::string& known = trouble_[what];
  if (known != trouble && !trouble.empty()) { out.emplace_back(kapi::Log{kapi::Level::Warn, trouble, {}}); }
  known = std::move(trouble);
}

void Agent::failed(What what, const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const Duration wait = kapi::retryWait(calls_.failures(what) + 1, outcome.retry_after);
  (void)calls_.failed(what, now.mono, std::chrono::duration_cast<Duration>(wait * (1 + 0.2 * rng_.unit())));
  static constexpr std::array kDoing{"reading the node", "reading GpuNodeStatus", "writing GpuNodeStatus",
                                     "writing the status of GpuNodeStatus",
                                     "taking GPUs of others out of GpuNodeStatus"};
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

/// What was published before: those GPUs stay until a driver answers, and ids of pods mean them.
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
  if (!config_.boot_id.empty() && own->boot_id == config_.boot_id) {
    for (const Device& device : own->view.devices) {
      auto xids = xidsIn(device.gpu.reason);
      if (!xids.empty() && !device.gpu.uuid.empty()) { xids_[device.gpu.uuid] = std::move(xids); }
    }
    if (known_) { arrange(); }
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
    written_at_ = now.mono;
    compare(outcome, now, out);
    calm_ = drawCalm();
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

void Agent::compare(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const auto own = outcome.object.as<OwnStatus>();
  if (own == nullptr) { return; }
  std::vector<Device> foreign;
  std::set_difference(own->view.devices.begin(), own->view.devices.end(), written_->devices.begin(),
                      written_->devices.end(), std::back_inserter(foreign),
                      [](const Device& a, const Device& b) { return a.id < b.id; });
  if (!foreign.empty()) {
    const std::string message = fmt::format(
        "somebody else wrote GPUs {} into GpuNodeStatus {}, which this agent does not see: they "
        "are taken out",
        idsOf(foreign), config_.node.text);
    out.emplace_back(kapi::Log{kapi::Level::Warn, message, {}});
    setCondition(kWriterCondition, false, "GpusOfAnotherWriter", message, now);
    foreign_ = own->revision;
  } else if (conditions_.contains(kWriterCondition)) {
    setCondition(kWriterCondition, true, "Only", "the list holds this agent's GPUs only", now);
  }
}

/// Whatever came of it, the next write's answer shows what is there.
void Agent::devicesWritten(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const bool is_behind = outcome.http == 409;  // somebody wrote in between
  if (outcome.result != CallResult::Applied && !is_behind) {
    return failed(What::Devices, outcome, now, out);
  }
  if (!is_behind) { calls_.worked(What::Devices); }
  say(What::Devices, "", out);
}

// ---- what is told of it

void Agent::count(kapi::Effects& out) {
  std::map<std::string, double> now{{"Healthy", 0}, {"Unhealthy", 0}, {"Unknown", 0}};
  for (const Device& device : devices_) { ++now[nameOf(shown(device).first)]; }
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
  const char* state = !written_ ? "not written yet" : out_of_date_ ? "nothing was written lately" : "";
  line("status", !writes.empty() ? writes : state);
  line("pods", pods_.trouble());
  for (const auto& [type, condition] : conditions_) {
    const char* what = type == kDriverCondition       ? "driver"
                       : type == kContainersCondition ? "containers"
                                                      : "writers";
    line(what, condition.holds ? "" : condition.message);
  }
  return (written_ && !out_of_date_ ? "1" : "0") + lines;
}

}  // namespace gs::agent
