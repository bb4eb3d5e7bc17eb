// Simulated nodes and their agents: Node objects, agent pods,
// and the GpuNodeStatus that each agent publishes.
//
// The first tick creates the Nodes of the list (and, with agents, a Ready agent pod on each, in kube-system).
// An agent writes `spec` and the owner (its Node) once, by server-side apply as gpu-agent, and `status` as
// gpu-agent-status: devices with their health, `inUseBy` from the simulated kubelet's containers, and
// observedTime at once when something changed, every 10 s while a container outlives its pod (the device may
// be Draining), else every 60 s (R5).
// A container keeps the GPU itself that it got: when ids change under it, `inUseBy` follows the GPU's UUID.
// Without agents the status is made by hand: written on a command only, no observedTime, no inUseBy.
// Commands take effect at the next tick(). One thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "kapi/node_file.h"
#include "sandbox/node/addresses.h"
#include "sandbox/node/kubelet.h"

namespace gs::apiserver {
class Api;
}

namespace gs::sandbox {

/// The machines whose Nodes, GpuNodeStatuses and agent pods are in `api`: those that made them there.
[[nodiscard]] std::vector<kapi::SimNode> machinesIn(const apiserver::Api& api);

class NodeAgents {
 public:
  /// `api` and `kubelet` must outlive it.
  NodeAgents(apiserver::Api& api, Kubelet& kubelet, std::vector<kapi::SimNode> nodes, bool agents = true);

  void tick(Now now);
  [[nodiscard]] std::optional<Mono> nextDue(Now now);

  /// A machine of ours, not only a Node that somebody wrote.
  [[nodiscard]] bool has(const std::string& node) const { return machines_.contains(node); }
  void addNode(kapi::SimNode node);
  /// The machine goes and its Node is deleted (the GpuNodeStatus goes with it, by its owner).
  void removeNode(const std::string& node);
  void setHealth(const std::string& node, int gpu, model::Health health, const std::string& reason = "");
  /// As after a driver error: Unhealthy with "XID <xid>".
  void failGpu(const std::string& node, int gpu, int xid) {
    setHealth(node, gpu, model::Health::Unhealthy, "XID " + std::to_string(xid));
  }
  /// What the agent finds from now on (GPUs pulled or added).
  void setDevices(const std::string& node, std::vector<model::Device> devices);
  /// What its agent would find; none: no such machine.
  [[nodiscard]] std::vector<model::Device> devicesOf(const std::string& node) const;
  /// The GPUs that containers of this pod have, by UUID, whether or not an agent says so; those without one
  /// are left out.
  [[nodiscard]] std::set<std::string> heldBy(const std::string& uid) const;
  /// The agent says nothing while it is down, and its pod is not Ready.
  void setAgentDown(const std::string& node, bool down);
  [[nodiscard]] bool isAgentDown(const std::string& node) const;
  /// The Node's Ready condition.
  void setNodeReady(const std::string& node, bool ready);

 private:
  struct Machine {
    kapi::SimNode sim;
    bool created = false;
    std::string owner_uid;      // of the Node that the GpuNodeStatus was given to; "" : not yet
    std::optional<bool> ready;  // a command to carry out
    std::optional<bool> agent_ready;
    bool agent_down = false;
    bool dirty = true;  // devices changed by a command
    std::vector<model::Device> published;
    std::optional<Mono> next;  // when it looks again
    /// Pods with containers -> what those got, as it was said to them ("0", "GPU-1", "#0" the first of those
    /// that a pod which names none was given) -> the UUID of the GPU that it was then,
    /// or its id where it has none.
    std::map<std::string, std::map<std::string, std::string>> held;
  };

  void create(Machine& m, Now now);
  void keepAgentPod(const Machine& m, Now now);
  void createAgentPod(const Machine& m, Now now);
  void carryOut(Machine& m, Now now);
  void look(Machine& m, Now now);
  bool publish(Machine& m, const std::vector<model::Device>& devices, bool with_time, Now now);
  bool own(Machine& m, Now now);
  void setAllocatable(const Machine& m, Now now);
  void seeContainers(Machine& m) const;
  [[nodiscard]] std::vector<model::Device> withUsers(const Machine& m, bool& draining) const;
  [[nodiscard]] Machine* find(const std::string& node);
  bool send(std::string method, std::string target, json::Value body, Now now,
            std::string type = "application/json");

  apiserver::Api& api_;
  Kubelet& kubelet_;
  bool agents_;
  std::map<std::string, Machine> machines_;
  std::vector<std::string> to_remove_;
  Addresses addresses_{"10.0"};
  std::uint64_t seen_changes_ = 0;
  bool commanded_ = true;
};

}  // namespace gs::sandbox
