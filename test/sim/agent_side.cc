#include "test/sim/agent_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "kapi/time.h"
#include "test/sim/busy.h"
#include "test/sim/cluster.h"

namespace gs::sim {
namespace {

using namespace std::chrono_literals;
using json::Value;
using sandbox::CallFault;
using sandbox::Machines;
using How = CallFault::How;

/// What was so for so long a look has seen.
constexpr Duration kSeen = sandbox::Agents::kLookEvery + 1s;
/// An agent that goes on does not know between which of its looks GPUs got other numbers.
constexpr Duration kUnsure = 3 * sandbox::Agents::kLookEvery + 1s;
/// So long after a fault, a start or a change an agent says what is so.
constexpr Duration kRecovers = 8s;
/// So long after its node's GPUs got other numbers nobody decides by the old ones.
constexpr Duration kSettles = 20s;
/// So long after a change even who had to open his watch anew decides by what is so.
constexpr Duration kKnownToAll = 45s;
constexpr Duration kRateWindow = 60s;
/// Every ten seconds while GPUs wait to be free, and what is found out after a start.
constexpr std::size_t kMostCalmWrites = 9;
/// Once a minute, and the write takes its time.
constexpr Duration kOldestLook = 75s;
constexpr std::uint64_t kAgentFaultSeed = 0xa9e275;

std::string_view healthText(model::Health health) {
  return health == model::Health::Healthy     ? "Healthy"
         : health == model::Health::Unhealthy ? "Unhealthy"
                                              : "Unknown";
}

bool has(const Machines::Machine& machine, const std::string& uuid) {
  const auto& devices = machine.sim.devices;
  return std::any_of(devices.begin(), devices.end(), [&](const auto& d) { return d.uuid == uuid; });
}

/// GPUs that a number reaches.
std::string textOf(const std::set<std::string>& uuids) {
  std::string out;
  for (const std::string& uuid : uuids) {
    out += fmt::format("{}{}", out.empty() ? "" : " or ", uuid.empty() ? "nothing" : uuid);
  }
  return out;
}

void forgetBefore(std::deque<Mono>& times, Mono from) {
  while (!times.empty() && times.front() < from) { times.pop_front(); }
}

}  // namespace

AgentSide::AgentSide(sandbox::World& world, const Plan& plan)
    : world_{world},
      plan_{plan},
      rng_{plan.seed ^ kAgentFaultSeed},
      judges_users_{!plan.has(Feature::PodEdits) && !plan.has(Feature::Forged) &&
                    !plan.has(Feature::Restore) && !plan.has(Feature::Large)} {
  sandbox::Transport& wire = world_.agentWire();
  wire.setJudge([this](sandbox::ReplicaId id, const kapi::Call& call) { return resultOf(id, call); });
  wire.setStreamJudge([this](sandbox::ReplicaId, kapi::Token) { return lateness(); });
  wire.setWitness([this](sandbox::ReplicaId id, const kapi::Call& call, const kapi::Outcome& outcome) {
    answered(id, call, outcome);
  });
}

void AgentSide::wrong(std::string what) {
  if (problem_.empty()) { problem_ = std::move(what); }
}

// ---- what goes wrong

void AgentSide::carryOut(const Step& s) {
  Machines& machines = world_.machines();
  const std::string node = nodeName(s.x);
  const Mono now = world_.now().mono;
  switch (s.op) {
    case Op::AgentFaults:
      faults_until_ = now + std::chrono::seconds{s.y};
      fault_permille_ = static_cast<std::uint64_t>(s.z);
      return;
    case Op::AgentSlow:
      slow_until_ = now + std::chrono::seconds{s.y};
      slow_ms_ = static_cast<std::uint64_t>(s.z);
      return;
    case Op::AgentDies: world_.agents().crash(node); return;
    case Op::Plug:
      nodes_[node].was_plugged = true;
      machines.plugDevices(node, gpus(s.x, s.y));
      break;
    case Op::Lose: lose(s); break;
    case Op::DriverFails:
      nodes_[node].ignorant_until = std::max(nodes_[node].ignorant_until, now + std::chrono::seconds{s.y});
      machines.setDriver(node, agent::Fault{agent::Fault::Kind::Hanging, "a call of the driver hangs"});
      world_.after(std::chrono::seconds{s.y}, [this, node] {
        world_.machines().setDriver(node, std::nullopt);
        world_.touch();
      });
      break;
    case Op::RuntimeSilent:
      machines.setRuntimeSilent(node, true);
      nodes_[node].blind_until = std::max(nodes_[node].blind_until, now + std::chrono::seconds{s.y});
      world_.after(std::chrono::seconds{s.y}, [this, node] {
        if (nodes_[node].blind_until <= world_.now().mono) {
          world_.machines().setRuntimeSilent(node, false);
        }
      });
      break;
    default: return;
  }
  world_.touch();
}

void AgentSide::lose(const Step& s) {
  Machines& machines = world_.machines();
  const std::string name = nodeName(s.x);
  Node& node = nodes_[name];
  auto devices = machines.devicesOf(name);
  const bool is_well = s.z == 5;
  if (is_well) {
    for (const auto& device : devices) { machines.setLost(name, device.uuid, std::nullopt, false); }
    for (model::Device& back : std::exchange(node.gone, {})) {
      const bool has_room = std::none_of(devices.begin(), devices.end(), [&](const auto& d) {
        return d.id == back.id || d.uuid == back.uuid;
      });
      auto& where = has_room ? devices : node.gone;
      where.push_back(std::move(back));
    }
    node.was_lost = !node.gone.empty();  // another one may have its number
    std::sort(devices.begin(), devices.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    return machines.plugDevices(name, std::move(devices));
  }
  if (devices.empty()) { return; }
  node.was_lost = true;
  const auto which = devices.begin() + s.y % static_cast<int>(devices.size());
  if (s.z < 4) {
    const auto how = s.z < 2 ? Machines::Loss::Called : Machines::Loss::Unnamed;
    return machines.setLost(name, which->uuid, how, s.z % 2 == 1);
  }
  machines.setLost(name, which->uuid, std::nullopt, false);
  node.gone.push_back(*which);
  devices.erase(which);
  machines.plugDevices(name, std::move(devices));
}

void AgentSide::calmDown() {
  const Mono now = world_.now().mono;
  faults_until_ = std::min(faults_until_, now);
  slow_until_ = std::min(slow_until_, now);
  for (const auto& [name, machine] : world_.machines().all()) {
    world_.machines().setDriver(name, std::nullopt);
    world_.machines().setRuntimeSilent(name, false);
    Node& node = nodes_[name];
    node.blind_until = std::min(node.blind_until, now);
    node.ignorant_until = std::min(node.ignorant_until, now);
  }
}

CallFault AgentSide::resultOf(sandbox::ReplicaId id, const kapi::Call& call) {
  if (call.subresource == "status") { statusLeaves(world_.agents().nodeOf(id), call.body["status"]); }
  if (world_.now().mono >= faults_until_ || rng_.below(1000) >= fault_permille_) { return {}; }
  switch (rng_.below(8)) {
    case 0: return busy(call, rng_);
    case 1: return {How::Refused, 500, {}, false, false};
    case 2: return {How::Refused, kapi::isRead(call.verb) ? 500 : 409, {}, false, false};
    case 3: return {How::LostBefore, 0, {}, false, false};
    case 4: return {How::LostAfter, 0, {}, false, false};
    case 5: {
      const How how = plan_.has(Feature::LateStatuses) ? How::Late : How::LostBefore;
      return {how, 0, Duration{50ms} * (1 + rng_.below(200)), false, false};
    }
    case 6: return {How::Normal, 0, {}, true, false};
    default: return {How::Normal, 0, {}, false, true};
  }
}

Duration AgentSide::lateness() {
  if (world_.now().mono >= slow_until_ || rng_.chance(40)) { return {}; }
  return Duration{1ms} * static_cast<std::int64_t>(rng_.below(slow_ms_));
}

// ---- what must hold at any time

AgentSide::Users AgentSide::usersOn(const Machines::Machine& machine) const {
  Users out;
  for (const auto& running : world_.kubelet().running(machine.sim.name.text)) {
    for (const auto& uuid : world_.machines().heldBy(running.uid)) { out.emplace(uuid, running.uid); }
  }
  return out;
}

void AgentSide::look() {
  const std::uint64_t containers = world_.kubelet().changes();
  const std::uint64_t machines = world_.machines().changes();
  if (!judges_users_ || (containers == seen_containers_ && machines == seen_machines_)) { return; }
  seen_containers_ = containers;
  seen_machines_ = machines;
  const Mono now = world_.now().mono;
  for (const auto& [name, machine] : world_.machines().all()) {
    Node& node = nodes_[name];
    const bool other_process =
        std::exchange(node.process, world_.agents().starts(name)) != world_.agents().starts(name);
    const bool other_hardware = std::exchange(node.hardware, machine.hardware) != machine.hardware;
    if (other_process || other_hardware) { node.plain_from = std::max(node.plain_from, now + kRecovers); }
    const Users users = usersOn(machine);
    const bool knows_not = world_.agents().of(name) == nullptr || node.ignorant_until > now;
    const bool knew_not = std::exchange(node.knew_not, knows_not);  // it may have come back just now
    if (other_hardware || (node.shaken && (knows_not || knew_not))) { node.shaken = now; }
    noteUnclear(name, node);
    if (other_hardware) { noteUnpublished(name); }
    const bool other_users = node.users.set(users, now);
    if (other_process || other_users || other_hardware) { node.changes.push_back(now); }
  }
}

/// Of a container that starts as numbers change its agent does not know what its number means to the driver:
/// it may name both GPUs. So it may of one whose number reaches another GPU for a while: what starts in it
/// then has that one, also when all are well again (R48).
void AgentSide::noteUnclear(const std::string& name, Node& node) {
  const Mono now = world_.now().mono;
  const bool shaken = node.shaken && *node.shaken + kSettles > now;
  const bool has_lost = !world_.machines().all().at(name).lost.empty();
  const bool goes_on = plan_.has(Feature::Agents) || plan_.has(Feature::Lost);
  const Duration unsure = goes_on ? kUnsure : kSeen;
  for (const auto& running : world_.kubelet().running(name)) {
    const auto [known, is_new] = node.began.try_emplace(running.uid, now);
    const Mono began = known->second;
    if (is_new) { judgeStart(name, node, running); }
    if (is_new && has_lost) { unclear_.insert(running.uid); }
    if (mayGetOthers(name, running)) { unclear_.insert(running.uid); }
    // The wall clock went back: an agent that starts now cannot tell what was before the last status.
    if (running.created > world_.now().wall) { unclear_.insert(running.uid); }
    if (shaken && began + unsure > now) { unclear_.insert(running.uid); }
  }
}

/// So is a container that no status names when numbers change: no agent has seen it, or could say so.
void AgentSide::noteUnpublished(const std::string& name) {
  const auto* stored = world_.api().store().find({kStatusesId, "", name});
  const Value status = stored == nullptr ? Value{} : (*stored->object)["status"];
  std::set<std::string> named;
  for (const Value& device : status["devices"].items()) {
    for (const Value& uid : device["inUseBy"].items()) { named.emplace(uid.str()); }
  }
  for (const auto& running : world_.kubelet().running(name)) {
    if (!named.contains(running.uid)) { unclear_.insert(running.uid); }
  }
}

/// So is one that has a GPU which is not there any more: to an agent that starts after the next one, which is
/// told of no such GPU, its number means the GPU that has it now.
bool AgentSide::isUnclear(const Machines::Machine& machine, const std::string& uid) const {
  const auto held = world_.machines().heldBy(uid);
  const auto is_gone = [&](const std::string& uuid) { return !has(machine, uuid); };
  return unclear_.contains(uid) || std::any_of(held.begin(), held.end(), is_gone);
}

bool AgentSide::mayGetOthers(const std::string& name, const sandbox::Kubelet::Running& running) const {
  const auto held = world_.machines().heldBy(running.uid);
  std::istringstream told{running.devices};
  for (std::string number; std::getline(told, number, ',');) {
    if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos) { continue; }
    for (const std::string& uuid : world_.machines().reachedBy(name, std::atoi(number.c_str()))) {
      if (!held.contains(uuid)) { return true; }
    }
  }
  return false;
}

Mono AgentSide::hinderedUntil(const Node& node) const {
  return std::max({node.plain_from, node.blind_until + kRecovers, faults_until_ + kRecovers,
                   slow_until_ + kRecovers, node.ignorant_until + kRecovers});
}

std::string AgentSide::misleads(const std::string& name, const Value& status) const {
  if (plan_.has(Feature::Uuids)) { return ""; }
  for (const Value& device : status["devices"].items()) {
    if (device["health"].str() == "Unhealthy") { continue; }
    const int id = static_cast<int>(device["id"].intOr(-1));
    const auto reached = world_.machines().reachedBy(name, id);
    const std::string uuid{device["uuid"].str()};
    if (reached == std::set<std::string>{uuid}) { continue; }
    return fmt::format("the status of {} offers {} as GPU {}, and who is told that number may get {}", name,
                       uuid, id, textOf(reached));
  }
  return "";
}

/// Its lease says which GPU is meant, and was written when all could know how they are numbered.
void AgentSide::judgeStart(const std::string& name, const Node& node,
                           const sandbox::Kubelet::Running& running) {
  // Pods with a map are told ids where all others are told UUIDs.
  const bool is_told_ids =
      running.devices.find("GPU-") == std::string::npos && !plan_.has(Feature::LeaseEdits);
  const Mono known = hinderedUntil(node) + kKnownToAll;
  if (!is_told_ids || known > world_.now().mono || running.devices.empty()) { return; }
  const auto [begin, end] = world_.api().store().range("/coordination.k8s.io/leases");
  for (auto it = begin; it != end; ++it) {
    const Value& lease = *it->second.object;
    const Value& notes = lease["metadata"]["annotations"];
    const bool is_its =
        lease["spec"]["holderIdentity"].str() == running.uid && notes["gpu.scheduling/node"].str() == name;
    const auto written = kapi::parseTime(lease["metadata"]["creationTimestamp"].str());
    if (!is_its || !written || *written < world_.now().wall - (world_.now().mono - known)) { continue; }
    const std::string number{notes["gpu.scheduling/gpu"].str()};
    const auto reached = world_.machines().reachedBy(name, std::atoi(number.c_str()));
    const std::string uuid{notes["gpu.scheduling/uuid"].str()};
    if (reached == std::set<std::string>{uuid}) { continue; }
    return wrong(fmt::format("pod {} starts on {} with number {} of {}, and may get {}", running.uid, name,
                             number, uuid, textOf(reached)));
  }
}

/// "" or which GPU has another number than in the status that stands there.
std::string AgentSide::renumbers(const std::string& name, const Value& status) const {
  const auto* stored = world_.api().store().find({kStatusesId, "", name});
  if (stored == nullptr) { return ""; }
  std::map<std::string, std::int64_t> before;
  for (const Value& device : (*stored->object)["status"]["devices"].items()) {
    before[std::string{device["uuid"].str()}] = device["id"].intOr(-1);
  }
  std::string moved;
  for (const Value& device : status["devices"].items()) {
    const auto was = before.find(std::string{device["uuid"].str()});
    if (was == before.end()) { return ""; }  // it has come
    const bool is_named = !was->first.empty();
    if (is_named && was->second != device["id"].intOr(-1)) { moved = was->first; }
  }
  return moved.empty() ? "" : fmt::format("another agent of {} gives {} another number", name, moved);
}

void AgentSide::statusLeaves(const std::string& name, const Value& status) {
  look();
  const Mono now = world_.now().mono;
  Node& node = nodes_[name];
  const Machines::Machine& machine = world_.machines().all().at(name);
  const bool is_another =
      std::exchange(node.spoke, world_.agents().starts(name)) != world_.agents().starts(name);
  if (is_another && judges_users_ && !machine.boot.empty() && !plan_.has(Feature::LateStatuses)) {
    if (std::string what = renumbers(name, status); !what.empty()) { return wrong(std::move(what)); }
  }
  const Mono from = now - kSeen;
  Users says;
  std::set<std::string> listed;
  for (const Value& device : status["devices"].items()) {
    const std::string uuid{device["uuid"].str()};
    listed.insert(uuid);
    for (const Value& uid : device["inUseBy"].items()) { says.emplace(uuid, uid.str()); }
  }
  if (hinderedUntil(node) > now || !judges_users_) { return; }
  if (std::string what = misleads(name, status); !what.empty()) { return wrong(std::move(what)); }
  for (const auto& user : says) {
    if (!has(machine, user.first) || isUnclear(machine, user.second)) { continue; }
    if (node.users.any(from, now, [&](const Users& users) { return users.contains(user); })) { continue; }
    return wrong(
        fmt::format("the agent of {} says that pod {} uses {}, which its containers have not for {} s", name,
                    user.second, user.first, kSeen / 1s));
  }
  for (const auto& user : usersOn(machine)) {
    const bool long_there = node.users.all(from, now, [&](const Users& u) { return u.contains(user); });
    if (!long_there || !listed.contains(user.first) || says.contains(user)) { continue; }
    if (isUnclear(machine, user.second)) { continue; }
    return wrong(
        fmt::format("the agent of {} does not say that pod {} uses {}, which its containers have for "
                    "{} s",
                    name, user.second, user.first, kSeen / 1s));
  }
}

void AgentSide::answered(sandbox::ReplicaId id, const kapi::Call& call, const kapi::Outcome& outcome) {
  const bool written = call.subresource == "status" && outcome.result == kapi::CallResult::Applied;
  if (!written || !judges_users_) { return; }
  const std::string& name = world_.agents().nodeOf(id);
  Node& node = nodes_[name];
  const Mono now = world_.now().mono;
  node.writes.push_back(now);
  forgetBefore(node.writes, now - kRateWindow);
  forgetBefore(node.changes, now - kRateWindow - kSeen);
  if (node.writes.size() > kMostCalmWrites + 2 * node.changes.size()) {
    wrong(fmt::format("the agent of {} wrote {} times within a minute, in which {} things changed", name,
                      node.writes.size(), node.changes.size()));
  }
}

// ---- what must hold in the end

std::string AgentSide::settled() const {
  for (const auto& [name, machine] : world_.machines().all()) {
    if (std::string what = wrongOf(name, machine); !what.empty()) { return what; }
  }
  return "";
}

/// Its numbers may not be sure.
bool AgentSide::mayKeepBack(const std::string& name) const {
  const auto node = nodes_.find(name);
  if (!plan_.has(Feature::Lost) || node == nodes_.end()) { return false; }
  return node->second.was_lost || node->second.was_plugged;
}

std::string AgentSide::wrongOf(const std::string& name, const Machines::Machine& machine) const {
  const auto& store = world_.api().store();
  const auto* stored = store.find({kStatusesId, "", name});
  const auto* node = store.find({kNodesId, "", name});
  if (node == nullptr) { return ""; }  // a restore took it
  if (stored == nullptr) { return fmt::format("node {} has no status", name); }
  const Value& owner = (*stored->object)["metadata"]["ownerReferences"].at(0)["uid"];
  if (owner != (*node->object)["metadata"]["uid"]) {
    return fmt::format("the status of {} is owned by another Node", name);
  }
  const Value& status = (*stored->object)["status"];
  const auto observed = kapi::parseTime(status["observedTime"].str());
  // While containers have a GPU that is not there by a number, its agent does not say that it looked.
  const auto running = world_.kubelet().running(name);
  const bool says_no_time =
      std::any_of(running.begin(), running.end(), [&](const auto& r) { return isUnclear(machine, r.uid); });
  if (!plan_.has(Feature::Clock) && !says_no_time &&
      (!observed || *observed + kOldestLook < world_.now().wall)) {
    return fmt::format("the status of {} is of {}", name, status["observedTime"].str());
  }
  std::map<std::string, const Value*> listed;
  Users says;
  for (const Value& device : status["devices"].items()) {
    const std::string uuid{device["uuid"].str()};
    listed[uuid] = &device;
    for (const Value& uid : device["inUseBy"].items()) { says.emplace(uuid, uid.str()); }
  }
  std::set<std::string> named;
  for (const auto& [uuid, device] : listed) { named.insert(uuid); }
  for (const auto& device : machine.sim.devices) {
    const auto it = listed.find(device.uuid);
    const bool is_lost = machine.lost.contains(device.uuid);
    if (is_lost && it == listed.end()) { continue; }  // it cannot be named
    const std::string health{it == listed.end() ? "not there" : (*it->second)["health"].str()};
    const std::string want{is_lost ? "Unhealthy" : healthText(device.health)};
    const bool is_kept_back = health == "Unhealthy" && !plan_.has(Feature::Uuids);
    if (health != want && !(is_kept_back && mayKeepBack(name))) {
      return fmt::format("the status of {} says that {} is {}, it is {}", name, device.uuid, health, want);
    }
    if (it != listed.end() && (*it->second)["idMoved"].boolOr(false) && !mayKeepBack(name)) {
      return fmt::format("the status of {} says that the id of {} moved", name, device.uuid);
    }
    listed.erase(device.uuid);
  }
  for (const auto& [uuid, device] : listed) {  // it was pulled under this very agent
    if ((*device)["health"].str() == "Unhealthy") { continue; }
    return fmt::format("the status of {} says that {} is {}, and it is not there", name, uuid,
                       (*device)["health"].str());
  }
  if (std::string what = misleads(name, status); !what.empty()) { return what; }
  if (!judges_users_) { return ""; }
  for (const auto& [uuid, uid] : usersOn(machine)) {
    if (machine.lost.contains(uuid) && !named.contains(uuid)) { continue; }
    if (has(machine, uuid) && says.erase({uuid, uid}) == 0 && !isUnclear(machine, uid)) {
      return fmt::format("the status of {} does not say that pod {} uses {}", name, uid, uuid);
    }
  }
  for (const auto& [uuid, uid] : says) {
    const bool known = has(machine, uuid) && !isUnclear(machine, uid);
    if (known && !world_.machines().heldBy(uid).contains(uuid)) {
      return fmt::format("the status of {} says that pod {} uses {}, it does not", name, uid, uuid);
    }
  }
  return "";
}

}  // namespace gs::sim
