#include "sandbox/node/node_agent.h"

#include <fmt/core.h>

#include <algorithm>

#include "apiserver/handlers/api.h"
#include "kapi/decode.h"
#include "kapi/time.h"
#include "model/resources.h"

namespace gs::sandbox {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr Duration kCalm = std::chrono::seconds{60};
constexpr Duration kDraining = std::chrono::seconds{10};
constexpr Duration kRetry = std::chrono::seconds{1};
constexpr const char* kAgentNamespace = "kube-system";
constexpr const char* kMerge = "application/merge-patch+json";
constexpr const char* kStrategic = "application/strategic-merge-patch+json";
constexpr const char* kApply = "application/apply-patch+yaml";

std::string agentPod(const kapi::SimNode& node) { return "gpu-scheduler-agent-" + node.name.text; }

std::vector<std::string> splitCommas(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    out.emplace_back(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return out;
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
      sim.enforcement = known.enforcement;
      sim.devices = std::move(known.devices);
      for (auto& device : sim.devices) { device.in_use_by.clear(); }
    }
    out.push_back(std::move(sim));
  }
  return out;
}

NodeAgents::NodeAgents(apiserver::Api& api, Kubelet& kubelet, std::vector<kapi::SimNode> nodes, bool agents)
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

NodeAgents::Machine* NodeAgents::find(const std::string& node) {
  const auto at = machines_.find(node);
  if (at == machines_.end()) { return nullptr; }
  commanded_ = true;
  return &at->second;
}

void NodeAgents::addNode(kapi::SimNode node) {
  Machine& m = machines_[node.name.text];
  m = Machine{};
  m.sim = std::move(node);
  commanded_ = true;
}

void NodeAgents::removeNode(const std::string& node) {
  machines_.erase(node);
  to_remove_.push_back(node);
  commanded_ = true;
}

void NodeAgents::setHealth(const std::string& node, int gpu, model::Health health,
                           const std::string& reason) {
  Machine* m = find(node);
  if (m == nullptr) { return; }
  for (auto& d : m->sim.devices) {
    if (d.id != gpu) { continue; }
    d.health = health;
    d.health_reason = reason;
    m->dirty = true;
  }
}

void NodeAgents::setDevices(const std::string& node, std::vector<model::Device> devices) {
  if (Machine* m = find(node)) {
    if (agents_) { seeContainers(*m); }
    m->sim.devices = std::move(devices);
    m->dirty = true;
  }
}

void NodeAgents::setAgentDown(const std::string& node, bool down) {
  if (Machine* m = find(node)) {
    m->agent_down = down;
    m->agent_ready = !down;
    m->dirty = m->dirty || !down;
  }
}

bool NodeAgents::isAgentDown(const std::string& node) const {
  const auto it = machines_.find(node);
  return it != machines_.end() && it->second.agent_down;
}

void NodeAgents::setNodeReady(const std::string& node, bool ready) {
  if (Machine* m = find(node)) { m->ready = ready; }
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

std::optional<Mono> NodeAgents::nextDue(Now now) {
  if (commanded_ || kubelet_.changes() != seen_changes_) { return now.mono; }
  std::optional<Mono> due;
  for (const auto& entry : machines_) {
    const auto& next = entry.second.next;
    if (next && (!due || *next < *due)) { due = next; }
  }
  return due;
}

void NodeAgents::tick(Now now) {
  commanded_ = false;
  seen_changes_ = kubelet_.changes();
  for (const std::string& node : std::exchange(to_remove_, {})) {
    (void)send("DELETE", "/api/v1/nodes/" + node, {}, now);
    if (agents_) {
      (void)send("DELETE",
                 fmt::format("/api/v1/namespaces/{}/pods/gpu-scheduler-agent-{}", kAgentNamespace, node),
                 Object{{"gracePeriodSeconds", 0}}, now);
    }
  }
  for (auto& [name, m] : machines_) {
    if (!m.created) { create(m, now); }
    if (agents_) { keepAgentPod(m, now); }
    if (agents_) { seeContainers(m); }
    carryOut(m, now);
    look(m, now);
  }
}

void NodeAgents::create(Machine& m, Now now) {
  m.created = true;
  Value node = kapi::encodeNode(m.sim);
  describe(node, addresses_.next(), now);
  (void)send("POST", "/api/v1/nodes", std::move(node), now);
}

/// As a DaemonSet does: one on the node, again when somebody deleted it.
void NodeAgents::keepAgentPod(const Machine& m, Now now) {
  const bool there = api_.store().find({"/pods", kAgentNamespace, agentPod(m.sim)}) != nullptr;
  const bool node = api_.store().find({"/nodes", "", m.sim.name.text}) != nullptr;
  if (node && !there) { createAgentPod(m, now); }
}

void NodeAgents::createAgentPod(const Machine& m, Now now) {
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
void NodeAgents::carryOut(Machine& m, Now now) {
  const auto conditions = [](bool ready) {
    return Object{
        {"status", Object{{"conditions",
                           Array{Value{Object{{"type", "Ready"}, {"status", ready ? "True" : "False"}}}}}}}};
  };
  if (m.ready) {
    (void)send("PATCH", "/api/v1/nodes/" + m.sim.name.text + "/status", conditions(*m.ready), now,
               kStrategic);
    m.ready.reset();
  }
  if (m.agent_ready && agents_) {
    (void)send("PATCH", fmt::format("/api/v1/namespaces/{}/pods/{}/status", kAgentNamespace, agentPod(m.sim)),
               conditions(*m.agent_ready), now, kStrategic);
    m.agent_ready.reset();
  }
}

/// One look of the agent at its node: publishes when something changed or it is time.
void NodeAgents::look(Machine& m, Now now) {
  if (m.agent_down) {
    m.next.reset();
    return;
  }
  bool draining = false;
  std::vector<model::Device> devices = agents_ ? withUsers(m, draining) : m.sim.devices;
  const bool changed = m.dirty || devices != m.published;
  const bool due = agents_ && m.next && *m.next <= now.mono;
  const Duration pace = draining ? kDraining : kCalm;
  if (!changed && !due) {
    if (m.next && *m.next > now.mono + pace) { m.next = now.mono + pace; }
    return;
  }
  if (m.dirty && !m.sim.devices.empty()) { setAllocatable(m, now); }
  if (!publish(m, devices, agents_, now)) {
    m.dirty = true;
    m.next = now.mono + (m.owner_uid.empty() ? kRetry : kCalm);  // not served yet, or the Node went
    return;
  }
  m.published = std::move(devices);
  m.dirty = false;
  m.next = agents_ ? std::optional{now.mono + pace} : std::nullopt;
}

bool NodeAgents::publish(Machine& m, const std::vector<model::Device>& devices, bool with_time, Now now) {
  if (!own(m, now)) { return false; }
  kapi::SimNode seen = m.sim;
  seen.devices = devices;
  Value body = kapi::encodeGpuNodeStatus(seen, with_time ? kapi::microTimeText(now.wall) : std::string{});
  body.erase("spec");
  for (std::size_t i = 0; i < devices.size(); ++i) {
    Value& users = body.child("status").child("devices").array()[i].child("inUseBy");
    users = Array{};
    for (const auto& uid : devices[i].in_use_by) { users.array().emplace_back(uid.text); }
  }
  return send(
      "PATCH",
      fmt::format(
          "/apis/gpu.scheduling/v1/gpunodestatuses/{}/status?fieldManager=gpu-agent-status&force=true",
          m.sim.name.text),
      std::move(body), now, kApply);
}

/// The object itself, owned by the Node as it is now. False: no such Node, or its kind is not served yet.
bool NodeAgents::own(Machine& m, Now now) {
  const apiserver::StoredObject* node = api_.store().find({"/nodes", "", m.sim.name.text});
  if (node == nullptr) { return false; }
  const std::string uid{(*node->object)["metadata"]["uid"].str()};
  const bool there = api_.store().find({"gpu.scheduling/gpunodestatuses", "", m.sim.name.text}) != nullptr;
  if (there && uid == m.owner_uid) { return true; }
  Value body = kapi::encodeGpuNodeStatus(m.sim, {});
  body.erase("status");
  body.child("metadata")
      .set("ownerReferences",
           Array{Value{
               Object{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", m.sim.name.text}, {"uid", uid}}}});
  if (!send("PATCH",
            fmt::format("/apis/gpu.scheduling/v1/gpunodestatuses/{}?fieldManager=gpu-agent&force=true",
                        m.sim.name.text),
            std::move(body), now, kApply)) {
    return false;
  }
  m.owner_uid = uid;
  return true;
}

/// nvidia.com/gpu as the kubelet counts it: the healthy devices.
void NodeAgents::setAllocatable(const Machine& m, Now now) {
  const auto healthy = std::count_if(m.sim.devices.begin(), m.sim.devices.end(),
                                     [](const auto& d) { return d.health == model::Health::Healthy; });
  (void)send("PATCH", "/api/v1/nodes/" + m.sim.name.text + "/status",
             Object{{"status",
                     Object{{"capacity", Object{{model::kNvidiaGpu, std::to_string(m.sim.devices.size())}}},
                            {"allocatable", Object{{model::kNvidiaGpu, std::to_string(healthy)}}}}}},
             now, kMerge);
}

/// Notes which GPUs containers that are new got. One that is named and not there may come later.
void NodeAgents::seeContainers(Machine& m) const {
  const auto running = kubelet_.running(m.sim.name.text);
  std::set<std::string> alive;
  std::set<std::string> used;
  for (const auto& r : running) {
    alive.insert(r.uid);
    if (r.devices.empty()) { continue; }
    auto& got = m.held[r.uid];
    for (const std::string& said : splitCommas(r.devices)) {
      const auto is_it = [&](const model::Device& d) {
        return said == std::to_string(d.id) || said == d.uuid;
      };
      const auto at = std::find_if(m.sim.devices.begin(), m.sim.devices.end(), is_it);
      if (at != m.sim.devices.end()) { got.try_emplace(said, nameOf(*at)); }
    }
  }
  std::erase_if(m.held, [&](const auto& entry) { return !alive.contains(entry.first); });
  for (const auto& [uid, got] : m.held) {
    for (const auto& [said, gpu] : got) { used.insert(gpu); }
  }
  for (const auto& r : running) {
    if (!r.devices.empty() || r.gpus == 0 || m.held.contains(r.uid)) { continue; }
    auto& got = m.held[r.uid];  // the lowest that nobody uses, as a device plugin would hand them out
    for (const auto& d : m.sim.devices) {
      if (static_cast<int>(got.size()) == r.gpus) { break; }
      if (used.insert(nameOf(d)).second) { got.emplace(fmt::format("#{}", got.size()), nameOf(d)); }
    }
  }
}

std::vector<model::Device> NodeAgents::devicesOf(const std::string& node) const {
  const auto at = machines_.find(node);
  return at == machines_.end() ? std::vector<model::Device>{} : at->second.sim.devices;
}

std::set<std::string> NodeAgents::heldBy(const std::string& uid) const {
  std::set<std::string> out;
  for (const auto& [node, m] : machines_) {
    const auto at = m.held.find(uid);
    if (at == m.held.end()) { continue; }
    for (const auto& [said, gpu] : at->second) { out.insert(gpu); }
  }
  return out;
}

std::vector<model::Device> NodeAgents::withUsers(const Machine& m, bool& draining) const {
  std::vector<model::Device> devices = m.sim.devices;
  for (const auto& r : kubelet_.running(m.sim.name.text)) {
    const auto got = m.held.find(r.uid);
    if (got == m.held.end()) { continue; }
    bool has_some = false;
    for (auto& d : devices) {
      const auto is_it = [&](const auto& entry) { return entry.second == nameOf(d); };
      if (std::none_of(got->second.begin(), got->second.end(), is_it)) { continue; }
      has_some = true;
      d.in_use_by.emplace_back(r.uid);
    }
    draining = draining || (r.ended && (has_some || r.devices.empty()));
  }
  return devices;  // running() is ordered by uid, so inUseBy is too
}

bool NodeAgents::send(std::string method, std::string target, json::Value body, Now now, std::string type) {
  return api_.handle({std::move(method), std::move(target), std::move(type), std::move(body)}, now).code <
         300;
}

}  // namespace gs::sandbox
