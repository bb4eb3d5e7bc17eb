#include "agent/agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "agent/metrics.h"
#include "base/due.h"
#include "controller/parts.h"
#include "kapi/kinds.h"
#include "kapi/retry_wait.h"
#include "kapi/time.h"
#include "kapi/write.h"

namespace gs::agent {
namespace {

using kapi::CallResult;

constexpr controller::OwnerRange kWatchOwner{controller::kAgentOwners.first, 1};
constexpr std::uint8_t kCallsOwner = kWatchOwner.first + 1;
/// Two, and the first may have been on its way when the pod ended.
constexpr int kOwed = 3;
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

/// For the condition: without what changes from one failure to the next, which only the log has.
const char* silenceOf(Code code) {
  switch (code) {
    case Code::Unavailable: return "the container runtime does not answer: nobody listens at its socket";
    case Code::Deadline: return "the container runtime does not answer in time";
    default: return "the container runtime answers with an error (the agent's log has it)";
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
      watches_{kWatchOwner,
               {podsOf(config_.node)},
               rng,
               [this](const auto&, const auto& output, Now, kapi::Effects&) { take(output); }},
      rng_{rng.split()},
      calls_{kCallsOwner},
      gpus_{config_.told_uuids},
      calm_{config_.calm} {}

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
    } else {
      users_.gone(change.last_uid);
    }
  }
}

kapi::Effects Agent::handle(const kapi::MachineEvent& event, Now now) {
  kapi::Effects out;
  const auto* outcome = std::get_if<kapi::Outcome>(&event);
  const bool is_taken = watches_.handle(event, now, out);
  if (!is_taken && outcome != nullptr && kapi::tokenOwner(outcome->token) == kCallsOwner) {
    answered(*outcome, now, out);
  }
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
    if (own_known_ && !is_behind_ && !calls_.open(What::Status)) {
      observed_ = kapi::microTimeText(now.wall);
      if (std::exchange(owes_look_, false)) { next_ = now.mono; }
    }
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

// ---- what is written

NodeView Agent::wanted() const {
  NodeView out;
  out.devices = gpus_.shown();
  out.driver_version = gpus_.driverVersion();
  out.enforcement = config_.enforcement;
  out.conditions = conditions_.all();
  for (Device& device : out.devices) { device.in_use_by = users_.of(device); }
  return out;
}

void Agent::go(Now now, kapi::Effects& out) {
  (void)calls_.takeDue(now.mono);
  forgetVanished(now, out);
  advance(now, out);
  out_of_date_ = written_ && now.mono - written_at_ > kMostMissed * config_.calm;
  count(out);
  wake(now, out);
}

void Agent::forgetVanished(Now now, kapi::Effects& out) {
  const Device* lowest = gpus_.vanished();
  const auto says_so = [&](const Device& device) {
    return device.gpu.uuid == lowest->gpu.uuid && device.gpu.health == model::Health::Unhealthy;
  };
  const auto is_wanted = [&](const Device& device) {
    return device.gpu.counted == Counted::No && users_.isTold(device);
  };
  const auto& devices = gpus_.devices();
  const bool is_quiet = lowest != nullptr && written_ && watches_.all().front().synced() &&
                        std::none_of(devices.begin(), devices.end(), is_wanted) &&
                        std::any_of(written_->devices.begin(), written_->devices.end(), says_so);
  if (!is_quiet) { return quiet_since_.reset(); }
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

void Agent::send(What what, kapi::Call call, kapi::Effects& out) {
  call.token = calls_.begin(what);
  out.emplace_back(std::move(call));
}

void Agent::advance(Now now, kapi::Effects& out) {
  const model::ObjectKey key{"", config_.node.text};
  if ((!own_known_ || is_behind_) && calls_.due(What::Own, now.mono)) {
    send(What::Own, kapi::getObject(kOwnStatus, key), out);
  }
  const bool needs_node = !spec_done_ && node_uid_.empty();
  const bool is_old = read_node_at_ && *read_node_at_ <= now.mono;
  if ((needs_node || is_old) && calls_.due(What::Node, now.mono)) {
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
  const bool may_write = spec_done_ && knowsDevices() && !is_behind_ && !calls_.open(What::Devices);
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
  call.body = statusBody(config_.node, sending_, sending_time_, revision_);
  send(What::Status, std::move(call), out);
}

void Agent::wake(Now now, kapi::Effects& out) const {
  std::optional<Mono> at = calls_.nextDue();
  const bool may_write = spec_done_ && !is_behind_;
  if (written_ && may_write && !calls_.open(What::Status) && !calls_.open(What::Devices)) {
    Mono next = std::max(next_, calls_.notBefore(What::Status));
    if (read_node_at_ && !calls_.open(What::Node)) {
      next = std::min(next, std::max(*read_node_at_, calls_.notBefore(What::Node)));
    }
    at = sooner(at, next);
  }
  if (quiet_since_) { at = sooner(at, *quiet_since_ + kQuiet); }
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
  // It landed late, or somebody else wrote: once is no trouble.
  if (what == What::Status && conflicts_ == 1) { return; }
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
    read_node_at_ = now.mono + kNodeReads * calm_;
    sayWhoPicks(*node, now);
    calls_.worked(What::Node);
    return say(What::Node, "", out);
  }
  failed(What::Node, outcome, now, out);
}

/// A node that offers nvidia.com/gpu has a device plugin, and that picks for who asks by this limit. Nobody
/// makes these the GPUs that the scheduler chose, unless this agent does.
void Agent::sayWhoPicks(const model::Node& node, Now now) {
  const std::int64_t offered = node.allocatable.get(model::kNvidiaGpu);
  if (offered > 0 && config_.enforcement != model::Enforcement::Devices) {
    conditions_.set(
        kLimitsCondition, false, "DevicePluginPicks",
        fmt::format("a device plugin of this node offers {} and picks the GPUs of containers with that "
                    "limit, which may be others than those that the pod was given: pods with a claim "
                    "are not to have it",
                    model::kNvidiaGpu),
        now);
  } else if (conditions_.find(kLimitsCondition) != nullptr) {
    conditions_.set(kLimitsCondition, true, "NobodyElsePicks",
                    "no device plugin picks other GPUs than the scheduler chose", now);
  }
}

void Agent::ownRead(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const auto own = outcome.object.as<OwnStatus>();
  const bool is_there = outcome.result == CallResult::Applied && own != nullptr;
  if (!is_there && !outcome.notFound()) { return failed(What::Own, outcome, now, out); }
  if (!std::exchange(own_known_, true)) { boot_before_ = is_there ? own->boot_id : config_.boot_id; }
  calls_.worked(What::Own);
  say(What::Own, "", out);
  if (is_there) {
    learn(*own);
  } else if (is_behind_) {
    isGone();
  }
  is_behind_ = false;
}

/// Until this process has written anything, what was published before goes on: those GPUs stay until a driver
/// answers, and so do their users.
void Agent::learn(const OwnStatus& own) {
  revision_ = own.revision;
  if (!own.observed_time.empty()) {
    observed_ = own.observed_time;
    owes_look_ = true;
  }
  if (written_) { return; }
  const bool knows_boots = !config_.boot_id.empty() && !boot_before_.empty();
  const bool is_this_boot = boot_before_ == config_.boot_id;
  gpus_.published(own.view, knows_boots && is_this_boot);
  users_.seed(own.view.devices, kapi::parseTime(own.observed_time).value_or(Wall{}),
              !knows_boots || is_this_boot);
  conditions_.stoodThere(own.view.conditions);
}

void Agent::specWritten(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  if (outcome.result != CallResult::Applied) {
    node_uid_ = {};  // it may be another one by now
    return failed(What::Spec, outcome, now, out);
  }
  spec_done_ = true;
  calls_.worked(What::Spec);
  say(What::Spec, "", out);
  // A status of an earlier process may have landed since it was read.
  if (const auto own = outcome.object.as<OwnStatus>()) { learn(*own); }
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
    written_ = std::move(sending_);
    written_at_ = now.mono;
    compare(outcome, now, out);
    calm_ = drawCalm();
    if (std::exchange(written_time_, sending_time_) != sending_time_) { owed_ = std::max(0, owed_ - 1); }
    next_ = now.mono + pace();
    calls_.worked(What::Status);
    conflicts_ = 0;
    return say(What::Status, "", out);
  }
  next_ = now.mono;  // due as soon as its wait is over
  is_behind_ = outcome.http == 409;
  conflicts_ = is_behind_ ? conflicts_ + 1 : 0;
  failed(What::Status, outcome, now, out);
  if (outcome.notFound()) { isGone(); }
}

/// Somebody deleted the object, or its Node went and took it along.
void Agent::isGone() {
  spec_done_ = false;
  node_uid_ = {};
}

void Agent::compare(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const auto own = outcome.object.as<OwnStatus>();
  if (own == nullptr) { return; }
  revision_ = own->revision;
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
    conditions_.set(kWriterCondition, false, "GpusOfAnotherWriter", message, now);
    foreign_ = own->revision;
  } else if (conditions_.find(kWriterCondition) != nullptr) {
    conditions_.set(kWriterCondition, true, "Only", "the list holds this agent's GPUs only", now);
  }
}

/// Whatever came of it, the next write's answer shows what is there.
void Agent::devicesWritten(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const bool is_behind = outcome.http == 409;  // somebody wrote in between
  if (outcome.result != CallResult::Applied && !is_behind) {
    return failed(What::Devices, outcome, now, out);
  }
  if (!is_behind) { calls_.worked(What::Devices); }
  if (const auto own = outcome.object.as<OwnStatus>()) { revision_ = own->revision; }
  say(What::Devices, "", out);
}

// ---- what is told of it

void Agent::count(kapi::Effects& out) {
  std::map<std::string, double> now = gpus_.byHealth();
  const LookPtr& look = gpus_.lastLook();
  now["driver"] = look != nullptr && look->has_value() ? 1 : 0;
  now["containers"] = conditions_.find(kContainersCondition)->holds ? 1 : 0;
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

Readiness Agent::readiness() const {
  Readiness out;
  std::string writes;
  for (const auto& [what, trouble] : trouble_) {
    if (writes.empty()) { writes = trouble; }
  }
  out.need("status", written_ && !out_of_date_, writes,
           written_ ? "nothing was written lately" : "not written yet");
  out.note("pods", watches_.all().front().trouble());
  for (const Condition& condition : conditions_.all()) {
    const char* what = condition.type == kDriverCondition       ? "driver"
                       : condition.type == kContainersCondition ? "containers"
                       : condition.type == kWriterCondition     ? "writers"
                                                                : "limits";
    out.note(what, condition.holds ? "" : condition.message);
  }
  return out;
}

}  // namespace gs::agent
