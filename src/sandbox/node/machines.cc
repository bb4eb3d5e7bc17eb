#include "sandbox/node/machines.h"

#include "sandbox/node/dra_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/simulated.h"
#include "agent/status.h"
#include "apiserver/handlers/api.h"
#include "base/short_name.h"
#include "kapi/decode.h"
#include "kapi/time.h"
#include "model/resources.h"

namespace gs::sandbox {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr Duration kRetry = std::chrono::seconds{1};
constexpr const char* kAgentNamespace = "kube-system";
constexpr const char* kMerge = "application/merge-patch+json";
constexpr const char* kStrategic = "application/strategic-merge-patch+json";
constexpr const char* kApply = "application/apply-patch+yaml";

/// A pod's name has 253 characters at most, and so has a node's: of a long one the end becomes a hash.
std::string agentPodOf(const std::string& node) {
  return shortName("gpu-scheduler-agent-" + node, kMostOfAName);
}

std::string agentPod(const kapi::SimNode& node) { return agentPodOf(node.name.text); }

/// What may come of a race with somebody else is no refusal.
bool isRefusal(int code) { return code >= 400 && code != 404 && code != 409 && code != 410; }

std::vector<std::string> splitCommas(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    out.emplace_back(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return out;
}

/// Those that a program counts, in their order on the bus.
std::vector<const model::Device*> counted(const Machines::Machine& m, bool with_lost) {
  std::vector<const model::Device*> out;
  for (const model::Device& d : m.sim.devices) {
    if (with_lost || !m.lost.contains(d.uuid)) { out.push_back(&d); }
  }
  std::sort(out.begin(), out.end(), [](const auto* a, const auto* b) { return a->id < b->id; });
  return out;
}

/// nullptr: none.
const model::Device* reached(const std::vector<const model::Device*>& devices, const std::string& said) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (said == std::to_string(i) || said == devices[i]->uuid) { return devices[i]; }
  }
  return nullptr;
}

/// What tells a GPU from others though ids change.
std::string nameOf(const model::Device& d) { return d.uuid.empty() ? std::to_string(d.id) : d.uuid; }

}  // namespace

std::vector<kapi::SimNode> machinesIn(const apiserver::Api& api) {
  std::vector<kapi::SimNode> out;
  const auto [begin, end] = api.store().range("/nodes");
  for (auto it = begin; it != end; ++it) {
    const Value& node = *it->second.object;
    kapi::SimNode sim;
    sim.name = model::NodeName{it->first.name};
    if (api.store().find({"/pods", kAgentNamespace, agentPod(sim)}) == nullptr) { continue; }
    for (const auto& [key, value] : node["metadata"]["labels"].members()) { sim.labels[key] = value.str(); }
    sim.taints = kapi::decodeNode(node).taints;
    for (const auto& [name, amount] : node["status"]["allocatable"].members()) {
      if (name != model::kNvidiaGpu) { sim.allocatable[name] = amount.str(); }
    }
    if (const auto* status = api.store().find({"gpu.scheduling/gpunodestatuses", "", sim.name.text})) {
      auto known = kapi::decodeGpuNodeStatus(*status->object);
      const bool by_driver = api.store().find({kSlices, "", sliceOf(sim)}) != nullptr;
      sim.enforcement = by_driver ? model::Enforcement::Dra : known.enforcement;
      sim.devices = std::move(known.devices);
      for (auto& device : sim.devices) { device.in_use_by.clear(); }
    }
    out.push_back(std::move(sim));
  }
  return out;
}

Machines::Machines(apiserver::Api& api, Kubelet& kubelet, std::vector<kapi::SimNode> nodes, bool agents)
    : api_{api}, kubelet_{kubelet}, agents_{agents} {
  for (auto& node : nodes) { addNode(std::move(node)); }
  const auto [first, last] = api_.store().range("/nodes");
  for (auto it = first; it != last; ++it) {
    for (const Value& address : (*it->second.object)["status"]["addresses"].items()) {
      addresses_.inUse(address["address"].str());
    }
  }
}

// ---- commands

Machines::Machine* Machines::find(const std::string& node) {
  const auto at = machines_.find(node);
  if (at == machines_.end()) { return nullptr; }
  commanded_ = true;
  return &at->second;
}

void Machines::addNode(kapi::SimNode node) {
  Machine& m = machines_[node.name.text];
  m = Machine{};
  m.sim = std::move(node);
  m.hardware = ++changes_;
  commanded_ = true;
}

void Machines::removeNode(const std::string& node) {
  machines_.erase(node);
  ++changes_;
  to_remove_.push_back(node);
  commanded_ = true;
}

void Machines::setHealth(const std::string& node, int gpu, model::Health health, const std::string& reason) {
  Machine* m = find(node);
  if (m == nullptr) { return; }
  auto devices = m->sim.devices;
  for (auto& d : devices) {
    if (d.id != gpu) { continue; }
    d.health = health;
    d.health_reason = reason;
  }
  changeDevices(*m, std::move(devices));
}

void Machines::setDevices(const std::string& node, std::vector<model::Device> devices) {
  if (Machine* m = find(node)) {
    m->lost.clear();
    m->boot.clear();
    changeDevices(*m, std::move(devices));
    m->agent_anew_ = true;
  }
}

void Machines::plugDevices(const std::string& node, std::vector<model::Device> devices) {
  if (Machine* m = find(node)) { changeDevices(*m, std::move(devices)); }
}

void Machines::setLost(const std::string& node, const std::string& uuid, std::optional<Loss> how,
                       bool is_counted) {
  Machine* m = find(node);
  if (m == nullptr) { return; }
  if (agents_) { seeContainers(*m); }
  if (how) {
    m->lost[uuid] = *how;
  } else {
    m->lost.erase(uuid);
  }
  m->counts_lost_ = is_counted;
  m->hardware = ++changes_;
  m->dirty_ = true;
}

std::set<std::string> Machines::reachedBy(const std::string& node, int number) const {
  const auto on = machines_.find(node);
  if (on == machines_.end()) { return {}; }
  std::set<std::string> out;
  for (const bool with_lost : {false, true}) {
    const auto devices = counted(on->second, with_lost);
    const auto at = static_cast<std::size_t>(number);
    out.insert(at < devices.size() ? devices[at]->uuid : "");
  }
  return out;
}

void Machines::setPublishing(const std::string& node, bool publishes) {
  Machine* m = find(node);
  if (m == nullptr) { return; }
  m->publishes_ = publishes;
  m->dirty_ = true;
}

void Machines::changeDevices(Machine& m, std::vector<model::Device> devices) {
  if (agents_) { seeContainers(m); }
  m.sim.devices = std::move(devices);
  m.hardware = ++changes_;
  m.dirty_ = true;
}

void Machines::setDriver(const std::string& node, std::optional<agent::Fault> fault) {
  Machine* m = find(node);
  if (m == nullptr || m->fault_ == fault) { return; }
  m->fault_ = std::move(fault);
  m->hardware = ++changes_;
}

void Machines::setRuntimeSilent(const std::string& node, bool silent) {
  if (Machine* m = find(node)) { m->is_silent_ = silent; }
}

void Machines::setAgentDown(const std::string& node, bool down) {
  Machine* m = find(node);
  if (m == nullptr) { return; }
  m->agent_ready_ = !down;
  const bool other = std::exchange(m->agent_down_, down) != down;
  m->agent_anew_ = m->agent_anew_ || other;
}

bool Machines::isAgentDown(const std::string& node) const {
  const auto it = machines_.find(node);
  return it != machines_.end() && it->second.agent_down_;
}

void Machines::setNodeReady(const std::string& node, bool ready) {
  if (Machine* m = find(node)) { m->ready_ = ready; }
}

// ---- acting

namespace {

/// What `kubectl describe node` tells of a machine, beside what the scheduler reads.
void describe(Value& node, const std::string& address, Now now) {
  Value& status = node.child("status");
  status.set("nodeInfo", Object{{"architecture", "amd64"},
                                {"operatingSystem", "linux"},
                                {"osImage", "gpu-sandbox"},
                                {"kernelVersion", "simulated"},
                                {"containerRuntimeVersion", "simulated://1"},
                                {"kubeletVersion", "v1.33.0"}});
  status.set("addresses", Array{Value{Object{{"type", "InternalIP"}, {"address", address}}},
                                Value{Object{{"type", "Hostname"}, {"address", node["metadata"]["name"]}}}});
  for (Value& condition : status.child("conditions").array()) {
    condition.set("lastHeartbeatTime", kapi::timeText(now.wall));
    condition.set("lastTransitionTime", kapi::timeText(now.wall));
    condition.set("message", "simulated");
  }
}

}  // namespace

std::optional<Mono> Machines::nextDue(Now now) {
  if (commanded_ || (agents_ && kubelet_.changes() != seen_changes_)) { return now.mono; }
  std::optional<Mono> due;
  for (const auto& entry : machines_) {
    const auto& next = entry.second.next_;
    if (next && (!due || *next < *due)) { due = next; }
  }
  return due;
}

void Machines::tick(Now now) {
  commanded_ = false;
  const bool containers_changed = std::exchange(seen_changes_, kubelet_.changes()) != kubelet_.changes();
  if (containers_changed) { ++changes_; }
  for (const std::string& node : std::exchange(to_remove_, {})) {
    (void)send("DELETE", "/api/v1/nodes/" + node, {}, now);
    if (agents_) {
      (void)send("DELETE", fmt::format("/api/v1/namespaces/{}/pods/{}", kAgentNamespace, agentPodOf(node)),
                 Object{{"gracePeriodSeconds", 0}}, now);
    }
  }
  for (auto& [name, m] : machines_) {
    if (!m.created_) { create(m, now); }
    if (agents_) { keepAgentPod(m, now); }
    if (agents_ && (containers_changed || m.dirty_)) { seeContainers(m); }
    carryOut(m, now);
    if (agents_) { runAgent(m); }
    const bool by_driver = m.sim.enforcement == model::Enforcement::Dra;
    if (m.dirty_ && by_driver) { publish(m, now); }
    if (m.dirty_ && !by_driver && !m.sim.devices.empty()) { setAllocatable(m, now); }
    const bool is_due = m.dirty_ || (m.next_ && *m.next_ <= now.mono);
    m.dirty_ = false;
    if (is_due && !agents_ && !by_driver) { writeByHand(m, now); }
  }
}

void Machines::create(Machine& m, Now now) {
  m.created_ = true;
  Value node = kapi::encodeNode(m.sim);
  describe(node, addresses_.next(), now);
  if (m.sim.enforcement == model::Enforcement::Dra) {  // an older one would know of none
    node.child("status").child("nodeInfo").set("kubeletVersion", "v1.37.2");
  }
  (void)send("POST", "/api/v1/nodes", std::move(node), now);
}

/// As a DaemonSet does: one on the node, again when somebody deleted it.
void Machines::keepAgentPod(const Machine& m, Now now) {
  const bool there = api_.store().find({"/pods", kAgentNamespace, agentPod(m.sim)}) != nullptr;
  const bool node = api_.store().find({"/nodes", "", m.sim.name.text}) != nullptr;
  if (node && !there) { createAgentPod(m, now); }
}

void Machines::createAgentPod(const Machine& m, Now now) {
  Value pod = Object{{"apiVersion", "v1"}, {"kind", "Pod"}};
  // A pod of the machine itself, so that draining leaves it alone.
  pod.set("metadata", Object{{"name", agentPod(m.sim)},
                             {"labels", Object{{"app", "gpu-scheduler-agent"}}},
                             {"annotations", Object{{"kubernetes.io/config.mirror", "gpu-sandbox"}}}});
  pod.set("spec",
          Object{{"nodeName", m.sim.name.text},
                 {"tolerations", Array{Value{Object{{"operator", "Exists"}}}}},
                 {"containers", Array{Value{Object{{"name", "agent"}, {"image", "gpu-scheduler-agent"}}}}}});
  (void)send("POST", fmt::format("/api/v1/namespaces/{}/pods", kAgentNamespace), std::move(pod), now);
}

/// Ready conditions that a command asked for.
void Machines::carryOut(Machine& m, Now now) {
  const auto conditions = [](bool ready) {
    return Object{
        {"status", Object{{"conditions",
                           Array{Value{Object{{"type", "Ready"}, {"status", ready ? "True" : "False"}}}}}}}};
  };
  if (m.ready_) {
    (void)send("PATCH", "/api/v1/nodes/" + m.sim.name.text + "/status", conditions(*m.ready_), now,
               kStrategic);
    m.ready_.reset();
  }
  if (m.agent_ready_ && agents_) {
    (void)send("PATCH", fmt::format("/api/v1/namespaces/{}/pods/{}/status", kAgentNamespace, agentPod(m.sim)),
               conditions(*m.agent_ready_), now, kStrategic);
    m.agent_ready_.reset();
  }
}

void Machines::runAgent(Machine& m) {
  if (!std::exchange(m.agent_anew_, false)) { return; }
  ++changes_;
  m.agent = m.agent_down_ ? 0 : changes_;
}

/// As somebody would who has `gpu-scheduler-agent look` tell him. Its kind may not be served yet.
void Machines::writeByHand(Machine& m, Now now) {
  const apiserver::StoredObject* node = api_.store().find({"/nodes", "", m.sim.name.text});
  const model::Uid owner{node == nullptr ? "" : std::string{(*node->object)["metadata"]["uid"].str()}};
  agent::NodeView view;
  view.devices = agent::devicesOf(agent::hardwareOf(m.sim));
  view.enforcement = m.sim.enforcement;
  const auto apply = [&](const char* what, Value body) {
    return send("PATCH",
                fmt::format("/apis/gpu.scheduling/v1/gpunodestatuses/{}{}?fieldManager=by-hand&force=true",
                            m.sim.name.text, what),
                std::move(body), now, kApply);
  };
  const bool written = node != nullptr && apply("", agent::specBody(m.sim.name, owner)) &&
                       apply("/status", agent::statusBody(m.sim.name, view, ""));
  m.next_ = written ? std::nullopt : std::optional{now.mono + kRetry};
}

/// As the node's DRA driver does: all its GPUs in one slice, under names that stay.
void Machines::publish(const Machine& m, Now now) {
  const std::string name = sliceOf(m.sim);
  const auto* node = api_.store().find({"/nodes", "", m.sim.name.text});
  if (node == nullptr) { return; }
  const auto* there = api_.store().find({kSlices, "", name});
  const std::string path = "/apis/resource.k8s.io/v1/resourceslices";
  if (!m.publishes_) {
    if (there != nullptr) { (void)send("DELETE", path + "/" + name, {}, now); }
    return;
  }
  Value slice = draSlice(m.sim, (*node->object)["metadata"]["uid"].str());
  std::int64_t generation = 1;
  if (there != nullptr) {
    generation += (*there->object)["spec"]["pool"]["generation"].intOr(0);
    slice.child("metadata").set("resourceVersion", (*there->object)["metadata"]["resourceVersion"]);
  }
  slice.child("spec").child("pool").set("generation", generation);
  if (there == nullptr) {
    (void)send("POST", path, std::move(slice), now);
  } else {
    (void)send("PUT", path + "/" + name, std::move(slice), now);
  }
}

/// nvidia.com/gpu as the kubelet counts it: the healthy devices.
void Machines::setAllocatable(const Machine& m, Now now) {
  const auto healthy = std::count_if(m.sim.devices.begin(), m.sim.devices.end(), [&](const auto& d) {
    return d.health == model::Health::Healthy && !m.lost.contains(d.uuid);
  });
  (void)send("PATCH", "/api/v1/nodes/" + m.sim.name.text + "/status",
             Object{{"status",
                     Object{{"capacity", Object{{model::kNvidiaGpu, std::to_string(m.sim.devices.size())}}},
                            {"allocatable", Object{{model::kNvidiaGpu, std::to_string(healthy)}}}}}},
             now, kMerge);
}

/// Notes which GPUs containers that are new got. One that is named and not there may come later.
void Machines::seeContainers(Machine& m) const {
  const auto running = kubelet_.running(m.sim.name.text);
  const auto devices = counted(m, m.counts_lost_);
  std::set<std::string> alive;
  std::set<std::string> used;
  for (const auto& r : running) {
    alive.insert(r.uid);
    if (r.devices.empty()) { continue; }
    auto& got = m.held_[r.uid];
    for (const std::string& said : splitCommas(r.devices)) {
      if (const auto* device = reached(devices, said)) { got.try_emplace(said, nameOf(*device)); }
    }
  }
  std::erase_if(m.held_, [&](const auto& entry) { return !alive.contains(entry.first); });
  for (const auto& [uid, got] : m.held_) {
    for (const auto& [said, gpu] : got) { used.insert(gpu); }
  }
  for (const auto& r : running) {
    if (!r.devices.empty() || r.gpus == 0 || r.by_driver || m.held_.contains(r.uid)) { continue; }
    auto& got = m.held_[r.uid];  // the lowest that nobody uses, as a device plugin would hand them out
    for (const auto& d : m.sim.devices) {
      if (static_cast<int>(got.size()) == r.gpus) { break; }
      if (m.lost.contains(d.uuid)) { continue; }
      if (used.insert(nameOf(d)).second) { got.emplace(fmt::format("#{}", got.size()), nameOf(d)); }
    }
  }
}

std::vector<model::Device> Machines::devicesOf(const std::string& node) const {
  const auto at = machines_.find(node);
  return at == machines_.end() ? std::vector<model::Device>{} : at->second.sim.devices;
}

std::set<std::string> Machines::heldBy(const std::string& uid) const {
  std::set<std::string> out;
  for (const auto& [node, m] : machines_) {
    const auto at = m.held_.find(uid);
    if (at == m.held_.end()) { continue; }
    for (const auto& [said, gpu] : at->second) { out.insert(gpu); }
  }
  return out;
}

agent::LookPtr Machines::look(const Machine& machine) {
  if (machine.fault_) { return std::make_shared<const agent::Look>(tl::unexpected(*machine.fault_)); }
  agent::Hardware hardware = agent::hardwareOf(machine.sim);
  for (agent::Gpu& gpu : hardware.gpus) {
    const auto lost = machine.lost.find(gpu.uuid);
    if (lost == machine.lost.end()) { continue; }
    gpu.counted = agent::Counted::Maybe;
    gpu.health = model::Health::Unhealthy;
    gpu.reason = "GPU is lost";
    if (lost->second == Loss::Unnamed) { gpu.uuid = gpu.pci_bus_id = ""; }
  }
  return std::make_shared<const agent::Look>(std::move(hardware));
}

agent::ContainersLook Machines::containers(const Machine& machine) const {
  if (machine.is_silent_) { return fail(Code::Unavailable, "connection refused"); }
  agent::Containers out;
  for (const auto& r : kubelet_.running(machine.sim.name.text)) {
    agent::PodContainers& pod = out.pods[model::Uid{r.uid}];
    pod.created = {r.created};
    const auto got = machine.held_.find(r.uid);
    if (!r.devices.empty()) {
      pod.visible = r.devices;
    } else if (got != machine.held_.end()) {
      std::vector<std::string> gpus;
      for (const auto& [said, gpu] : got->second) { gpus.push_back(gpu); }
      pod.visible = fmt::format("{}", fmt::join(gpus, ","));
    }
  }
  return out;
}

bool Machines::send(std::string method, std::string target, json::Value body, Now now, std::string type) {
  std::string what = fmt::format("{} {}", method, target);
  const auto answer =
      api_.handle({std::move(method), std::move(target), std::move(type), std::move(body)}, now);
  if (isRefusal(answer.code)) { tellRefused(what, std::string{answer.body["message"].str()}); }
  return answer.code < 300;
}

/// Once: what is tried again is refused again.
void Machines::tellRefused(const std::string& what, const std::string& why) {
  if (!on_refused_ || !refused_.insert(what + why).second) { return; }
  on_refused_(what, why);
}

std::optional<std::string> refusedNode(apiserver::Api& api, const std::vector<kapi::SimNode>& nodes,
                                       Now now) {
  for (const auto& node : nodes) {
    const auto answer =
        api.handle({"POST", "/api/v1/nodes?dryRun=All", "application/json", kapi::encodeNode(node)}, now);
    if (isRefusal(answer.code)) {
      return fmt::format("node {} was not made: {}", node.name.text, answer.body["message"].str());
    }
  }
  return std::nullopt;
}

}  // namespace gs::sandbox
