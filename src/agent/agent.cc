#include "agent/agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "agent/metrics.h"
#include "agent/node_devices.h"
#include "base/due.h"
#include "controller/parts.h"
#include "kapi/kinds.h"
#include "kapi/time.h"
#include "kapi/write.h"

namespace gs::agent {
namespace {

using kapi::CallResult;
using What = Calls::What;

/// So many times `calm` from one read of the Node to the next.
constexpr int kNodeReads = 5;
/// So many times `calm` without a write, and others cannot know how the node is.
constexpr int kMostMissed = 3;

controller::Reflector::Config podsOf(const model::NodeName& node) {
  controller::Reflector::Config out;
  out.kind = kapi::kPod;
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

/// As /readyz calls it.
const char* checkOf(const Condition& condition) {
  static const std::map<std::string_view, const char*> kChecks{{kDriverCondition, "driver"},
                                                               {kContainersCondition, "containers"},
                                                               {kWriterCondition, "writers"},
                                                               {kEnforcedCondition, "enforcement"},
                                                               {kUnknownSetCondition, "limits"}};
  return kChecks.at(condition.type);
}

/// For the condition: without what changes from one failure to the next, which only the log has.
const char* silenceOf(Code code) {
  switch (code) {
    case Code::Unavailable: return "the container runtime does not answer: nobody listens at its socket";
    case Code::Deadline: return "the container runtime does not answer in time";
    default: return "the container runtime answers with an error (the agent's log has it)";
  }
}

}  // namespace

Agent::Agent(Config config, Rng rng)
    : config_{std::move(config)},
      watches_{parts_,
               {podsOf(config_.node)},
               rng,
               [this](const auto&, const auto& output, Now, kapi::Effects&) { take(output); }},
      rng_{rng.split()},
      calls_{owners_.take(), config_.node, rng_},
      gpus_{config_.told_uuids},
      own_{config_.node, config_.boot_id, Pace{{config_.calm, config_.draining}, users_, rng_}, calls_},
      enforced_{{config_.node, config_.lease_namespace, config_.enforces_devices, config_.on_mismatch},
                parts_,
                rng_} {}

// ---- what happens

kapi::Effects Agent::start(Now now) {
  kapi::Effects out;
  conditions_.set(kContainersCondition, false, "NoRuntime",
                  "no container runtime is asked: GPUs of pods that went without an end stay taken", now);
  watches_.start(now, out);
  go(now, out);
  return out;
}

void Agent::take(const controller::Reflector::Output& output) {
  for (const auto& change : output.changes) {
    if (const auto pod = change.object.as<model::Pod>()) {
      users_.changed(*pod);
      enforced_.changed(*pod);
    } else {
      users_.gone(change.last_uid);
      enforced_.gone(change.last_uid);
    }
  }
}

kapi::Effects Agent::handle(const kapi::MachineEvent& event, Now now) {
  kapi::Effects out;
  const auto* outcome = std::get_if<kapi::Outcome>(&event);
  const bool is_taken = parts_.handle(event, now, out);
  if (!is_taken && outcome != nullptr) { answered(*outcome, now, out); }
  if (std::holds_alternative<kapi::TimerDue>(event)) { watches_.tick(now, out); }
  go(now, out);
  return out;
}

kapi::Effects Agent::looked(const LookPtr& look, Now now) {
  kapi::Effects out;
  const LookPtr before = gpus_.lastLook();
  gpus_.looked(look);
  if (look->has_value()) {
    users_.number(gpus_.devices(), now);
    if (before != nullptr && !*before) {
      out.emplace_back(kapi::Log{kapi::Level::Info, "the driver answers again", {}});
    }
    conditions_.set(kDriverCondition, true, "Answers", "the driver answers", now);
  } else {
    const Fault& fault = look->error();
    const bool is_new = before == nullptr || *before != *look;
    if (is_new) { out.emplace_back(kapi::Log{kapi::Level::Warn, fault.text, {}}); }
    conditions_.set(kDriverCondition, false, nameOf(fault.kind), fault.text, now);
  }
  gpus_.sayHealth(out);
  go(now, out);
  return out;
}

kapi::Effects Agent::containersSeen(const ContainersLook& look, Now now) {
  kapi::Effects out;
  if (look) {
    users_.seen(*look, now);
    own_.containersSeen(now);
    conditions_.set(kContainersCondition, true, "Seen", "the container runtime answers", now);
  } else {
    const char* message = silenceOf(look.error().code);
    const Condition* before = conditions_.find(kContainersCondition);
    if (before == nullptr || before->message != message) {
      out.emplace_back(kapi::Log{kapi::Level::Warn, look.error().message, {}});
    }
    conditions_.set(kContainersCondition, false, "RuntimeSilent", message, now);
  }
  go(now, out);
  return out;
}

kapi::Effects Agent::enforced(const enforce::Report& report, Now now) {
  kapi::Effects out;
  enforced_.report(report, now, out);
  go(now, out);
  return out;
}

// ---- what is written

NodeView Agent::wanted() const {
  NodeView out;
  out.devices = gpus_.shown();
  out.driver_version = gpus_.driverVersion();
  out.enforcement = enforcement();
  out.conditions = conditions_.all();
  for (Device& device : out.devices) { device.in_use_by = users_.of(device); }
  return out;
}

void Agent::go(Now now, kapi::Effects& out) {
  calls_.tick(now.mono);
  forgetVanished(now, out);
  seeToContainers(now, out);
  advance(now, out);
  const auto* written = own_.written();
  out_of_date_ = written != nullptr && now.mono - written->at > kMostMissed * config_.calm;
  gauge(out);
  wake(now, out);
}

/// Others know that it vanished, and no pod has its number, or one above it.
bool Agent::isQuietAbove(const Device* vanished) const {
  const auto* written = own_.written();
  if (vanished == nullptr || written == nullptr || !watches_.all().front().synced()) { return false; }
  const auto says_so = [&](const Device& device) {
    return device.gpu.uuid == vanished->gpu.uuid && device.gpu.health == model::Health::Unhealthy;
  };
  const auto is_wanted = [&](const Device& device) {
    return device.gpu.counted == Counted::No && users_.isTold(device);
  };
  const auto& devices = gpus_.devices();
  return std::none_of(devices.begin(), devices.end(), is_wanted) &&
         std::any_of(written->view.devices.begin(), written->view.devices.end(), says_so);
}

void Agent::forgetVanished(Now now, kapi::Effects& out) {
  const Device* lowest = gpus_.vanished();
  if (!isQuietAbove(lowest)) { return quiet_since_.reset(); }
  if (!quiet_since_) { quiet_since_ = now.mono; }
  if (now.mono - *quiet_since_ < kQuiet) { return; }
  quiet_since_.reset();
  out.emplace_back(kapi::Log{kapi::Level::Warn,
                             "GPUs are counted anew: the driver does not list one any more, and no pod has "
                             "its number, or one above it",
                             {{"gpu", lowest->gpu.uuid}}});
  gpus_.countAnew();
  users_.number(gpus_.devices(), now);
}

void Agent::advance(Now now, kapi::Effects& out) {
  own_.read(now, out);
  readNode(now, out);
  own_.apply(now, out);
  own_.takeOutOthers(now, out);
  if (gpus_.lastLook() != nullptr && own_.mayWrite(now.mono)) { own_.write(wanted(), now, out); }
}

void Agent::seeToContainers(Now now, kapi::Effects& out) {
  if (std::exchange(gpus_told_, gpus_.changes()) != gpus_.changes()) {
    enforced_.setDevices(nodeDevicesOf(gpus_.devices()));
  }
  const bool knows_own = own_.phase() != OwnObject::Phase::Unread;
  enforced_.advance({.knows_pods = knows_own && watches_.all().front().synced(),
                     .by_driver = own_.saysDra(),
                     .has_containers = [this](const model::Uid& uid) { return users_.hasContainers(uid); }},
                    now, out);
  sayWhetherEnforced(now);
}

void Agent::readNode(Now now, kapi::Effects& out) {
  const bool is_old = read_node_at_ && *read_node_at_ <= now.mono;
  if ((own_.needsOwner() || is_old) && calls_.due(What::Node, now.mono)) {
    calls_.send(What::Node, kapi::getObject(kapi::kNode, {"", config_.node.text}), out);
  }
}

void Agent::wake(Now now, kapi::Effects& out) const {
  std::optional<Mono> at = calls_.nextDue();
  if (auto next = own_.nextWrite()) {
    if (read_node_at_ && !calls_.open(What::Node)) {
      next = std::min(*next, std::max(*read_node_at_, calls_.notBefore(What::Node)));
    }
    at = sooner(at, next);
  }
  if (quiet_since_) { at = sooner(at, *quiet_since_ + kQuiet); }
  at = sooner(at, enforced_.nextDue());
  if (at) { out.emplace_back(kapi::Wake{std::max(*at, now.mono)}); }
}

// ---- answers

void Agent::answered(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const auto what = calls_.answered(outcome);
  if (!what) { return; }
  if (*what == What::Node) { return nodeRead(outcome, now, out); }
  const OwnObject::News news = own_.answered(*what, outcome, now, out);
  if (news.stands != nullptr) { goOnFrom(*news.stands); }
  if (news.of_others) { sayWhoWrites(*news.of_others, now, out); }
}

void Agent::nodeRead(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const auto node = outcome.object.as<model::Node>();
  if (outcome.result != CallResult::Applied || node == nullptr || node->uid.empty()) {
    return calls_.failed(What::Node, outcome, now.mono, out);
  }
  calls_.worked(What::Node);
  own_.ownedBy(node->uid);
  enforced_.setNode(node->uid);
  read_node_at_ = now.mono + kNodeReads * own_.calm();
  sayWhoPicks(*node, now);
}

/// While nobody answers the container runtime, containers are told their GPUs, and that is all.
model::Enforcement Agent::enforcement() const {
  if (!config_.enforces_devices || enforced_.isConnected()) { return config_.enforcement; }
  return model::Enforcement::Env;
}

void Agent::sayWhetherEnforced(Now now) {
  if (!config_.enforces_devices) { return; }
  if (own_.saysDra()) {
    conditions_.set(kEnforcedCondition, false, "DriverPrepares",
                    "a DRA driver prepares the GPUs of this node: the agent changes no container here", now);
  } else if (enforced_.isConnected()) {
    conditions_.set(kEnforcedCondition, true, "Connected",
                    "the container runtime asks the agent about every container that it makes", now);
  } else {
    conditions_.set(kEnforcedCondition, false, "NotConnected", enforced_.whyNot(), now);
  }
}

/// A node that offers nvidia.com/gpu has a device plugin, and that picks for who asks by this limit. Nobody
/// makes these the GPUs that the scheduler chose, unless this agent does.
void Agent::sayWhoPicks(const model::Node& node, Now now) {
  const std::int64_t offered = node.allocatable.get(model::kNvidiaGpu);
  const bool is_unknown = offered > 0 && config_.enforcement != model::Enforcement::Devices;
  enforced_.setUnknown(is_unknown);
  if (is_unknown) {
    conditions_.set(
        kUnknownSetCondition, true, "DevicePluginPicks",
        fmt::format("a device plugin of this node offers {} and picks the GPUs of containers with that "
                    "limit, which may be others than those that the pod was given: run the agent with "
                    "--enforce=devices, or give pods with a claim no such limit",
                    model::kNvidiaGpu),
        now);
  } else if (conditions_.find(kUnknownSetCondition) != nullptr) {
    conditions_.set(kUnknownSetCondition, false, "NobodyElsePicks",
                    "no device plugin picks other GPUs than the scheduler chose", now);
  }
}

void Agent::sayWhoWrites(const std::vector<int>& of_others, Now now, kapi::Effects& out) {
  if (!of_others.empty()) {
    const std::string message = fmt::format(
        "somebody else wrote GPUs {} into GpuNodeStatus {}, which this agent does not see: they "
        "are taken out",
        fmt::join(of_others, ", "), config_.node.text);
    out.emplace_back(kapi::Log{kapi::Level::Warn, message, {}});
    conditions_.set(kWriterCondition, false, "GpusOfAnotherWriter", message, now);
  } else if (conditions_.find(kWriterCondition) != nullptr) {
    conditions_.set(kWriterCondition, true, "Only", "the list holds this agent's GPUs only", now);
  }
}

void Agent::goOnFrom(const OwnStatus& own) {
  const auto boot = own_.boot();
  gpus_.published(own.view, boot == OwnObject::Boot::This);
  users_.seed(own.view.devices, kapi::parseTime(own.observed_time).value_or(Wall{}),
              boot != OwnObject::Boot::Other);
  conditions_.stoodThere(own.view.conditions);
}

// ---- what is told of it

void Agent::gauge(kapi::Effects& out) {
  for (const auto& [health, devices] : gpus_.byHealth()) {
    gauges_.tell(kDevices, {{"health", health}}, devices, out);
  }
  const LookPtr& look = gpus_.lastLook();
  gauges_.tell(kDriverAnswers, look != nullptr && look->has_value() ? 1 : 0, out);
  gauges_.tell(kContainersSeen, conditions_.find(kContainersCondition)->holds ? 1 : 0, out);
}

Readiness Agent::readiness() const {
  Readiness out;
  const bool is_written = own_.written() != nullptr;
  out.need("status", is_written && !out_of_date_, calls_.trouble(),
           is_written ? "nothing was written lately" : "not written yet");
  out.note("pods", watches_.all().front().trouble());
  for (const Condition& condition : conditions_.all()) {
    out.note(checkOf(condition), isWell(condition) ? "" : condition.message);
  }
  if (config_.enforces_devices) { out.note("leases", enforced_.held().trouble()); }
  return out;
}

}  // namespace gs::agent
