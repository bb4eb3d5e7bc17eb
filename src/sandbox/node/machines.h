// Simulated machines: their Node objects, their GPUs, what their container runtimes know, and whether an
// agent is to run on each.
//
// The first tick creates the Nodes of the list (and, with agents, a Ready agent pod on each, in kube-system,
// as a DaemonSet would). What the agent itself does is the shipped one's: sandbox/world/agents.h runs it on
// what is told here, look() and containers().
// A container keeps the GPU itself that it got when it was first seen, whatever ids do later.
// Without agents each GpuNodeStatus is made by hand: written on a command only, no observedTime, no inUseBy.
// Commands take effect at the next tick(). One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/hardware.h"
#include "agent/users.h"
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

/// Why the API server would refuse a Node of these, with the node's name; nothing: it takes them all. Nothing
/// is written.
[[nodiscard]] std::optional<std::string> refusedNode(apiserver::Api& api,
                                                     const std::vector<kapi::SimNode>& nodes, Now now);

class Machines {
 public:
  /// `api` and `kubelet` must outlive it.
  Machines(apiserver::Api& api, Kubelet& kubelet, std::vector<kapi::SimNode> nodes, bool agents = true);

  void tick(Now now);
  [[nodiscard]] std::optional<Mono> nextDue(Now now);

  /// Hears of each write of a machine that the API server refuses ("POST /api/v1/nodes", why), once.
  void setOnRefused(std::function<void(const std::string& what, const std::string& why)> on_refused) {
    on_refused_ = std::move(on_refused);
  }

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
  /// These GPUs are in it from now on, by their places on the bus (id, from 0), as when it was off for a
  /// moment: its agent starts anew. Containers run on, with the GPUs that they have.
  void setDevices(const std::string& node, std::vector<model::Device> devices);
  /// The same under an agent that goes on, and keeps those that it finds no more.
  void plugDevices(const std::string& node, std::vector<model::Device> devices);
  /// Without: its ResourceSlice goes, as when a kubelet starts anew or the DRA driver is away, until it is
  /// set again.
  void setPublishing(const std::string& node, bool publishes);
  /// How its driver speaks of a GPU that is lost.
  enum class Loss : std::uint8_t { Called, Unnamed };  // by its name; only that there is one
  /// That GPU is lost, and a program that starts there counts it or not: nobody can say. nullopt: it is well.
  void setLost(const std::string& node, const std::string& uuid, std::optional<Loss> how, bool is_counted);
  /// The GPUs that a program may get which starts there now and is told this number; "" none. One, where it
  /// is the same however lost ones are counted.
  [[nodiscard]] std::set<std::string> reachedBy(const std::string& node, int number) const;
  /// What its agent would find; none: no such machine.
  [[nodiscard]] std::vector<model::Device> devicesOf(const std::string& node) const;
  /// The GPUs that containers of this pod have, by UUID, whether or not an agent says so; those without one
  /// are left out.
  [[nodiscard]] std::set<std::string> heldBy(const std::string& uid) const;
  /// Looks at its GPUs fail so from now on; nullopt: they do not.
  void setDriver(const std::string& node, std::optional<agent::Fault> fault);
  /// Its container runtime answers nobody while it is silent.
  void setRuntimeSilent(const std::string& node, bool silent);
  /// No agent runs while it is down, and its pod is not Ready.
  void setAgentDown(const std::string& node, bool down);
  [[nodiscard]] bool isAgentDown(const std::string& node) const;
  /// The Node's Ready condition.
  void setNodeReady(const std::string& node, bool ready);

  // What an agent meets.
  struct Machine {
    kapi::SimNode sim;
    std::uint64_t agent = 0;     // which process of it is to run: another number another one; 0 none
    std::uint64_t hardware = 0;  // which look() there is: changes with it
    /// Of the machine, as its agent can tell it; "" since it was off: what was before is to count no more.
    std::string boot = "boot";
    std::map<std::string, Loss> lost{};  // by UUID

   private:
    friend Machines;
    std::optional<agent::Fault> fault_;
    bool is_silent_ = false;
    bool counts_lost_ = false;  // programs do
    bool created_ = false;
    bool agent_down_ = false;
    bool agent_anew_ = true;
    std::optional<bool> ready_;  // a command to carry out
    std::optional<bool> agent_ready_;
    bool publishes_ = true;     // its DRA driver does, if it has one
    bool dirty_ = true;         // devices changed by a command
    std::optional<Mono> next_;  // when what was made by hand is written again
    /// Pods with containers -> what those got, as it was said to them ("0", "GPU-1", "#0" the first of those
    /// that a pod which names none was given) -> the UUID of the GPU that it was then,
    /// or its id where it has none.
    std::map<std::string, std::map<std::string, std::string>> held_;
  };
  /// By name.
  [[nodiscard]] const std::map<std::string, Machine>& all() const { return machines_; }
  /// Changes with who is in all(), with each `agent` and `hardware` there, and with heldBy().
  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  /// As the driver says it now.
  [[nodiscard]] static agent::LookPtr look(const Machine& machine);
  /// As the container runtime says it now: what containers were told, by what their pods said when they
  /// started, else by the device plugin. (Of the latter a real runtime tells noderim/ nothing yet.)
  [[nodiscard]] agent::ContainersLook containers(const Machine& machine) const;

 private:
  void create(Machine& m, Now now);
  void keepAgentPod(const Machine& m, Now now);
  void createAgentPod(const Machine& m, Now now);
  void carryOut(Machine& m, Now now);
  void runAgent(Machine& m);
  void changeDevices(Machine& m, std::vector<model::Device> devices);
  void writeByHand(Machine& m, Now now);
  void publish(const Machine& m, Now now);
  void setAllocatable(const Machine& m, Now now);
  void seeContainers(Machine& m) const;
  [[nodiscard]] Machine* find(const std::string& node);
  bool send(std::string method, std::string target, json::Value body, Now now,
            std::string type = "application/json");
  void tellRefused(const std::string& what, const std::string& why);

  apiserver::Api& api_;
  Kubelet& kubelet_;
  bool agents_;
  std::map<std::string, Machine> machines_;
  std::vector<std::string> to_remove_;
  Addresses addresses_{"10.0"};
  std::function<void(const std::string&, const std::string&)> on_refused_;
  std::set<std::string> refused_;
  std::uint64_t seen_changes_ = 0;
  std::uint64_t changes_ = 1;
  bool commanded_ = true;
};

}  // namespace gs::sandbox
