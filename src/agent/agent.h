// The agent of one node as a machine: what the driver and the container runtime say -> this node's
// GpuNodeStatus in the API (docs/use/agent.md).
//
// Who tells it: looked() brings each look at the GPUs, containersSeen() each look at the containers, whenever
// the rim made one; pods of this node and answers come as events. The machine starts with a read of its own
// GpuNodeStatus and of the Node that shall own it, and writes nothing before it knows both and has had a
// look. The Node is read again every five times `calm`: it may offer nvidia.com/gpu by now, or no more.
//
// Written by server-side apply with force, the object itself as `gpu-agent`, its status as
// `gpu-agent-status` (own_object.h): at once when something changed, else every `draining` or `calm`
// (pace.h). One write at a time; what changes meanwhile goes with the next. What fails is tried again with
// backoff and said once (calls.h).
//
// What schedulers conclude from it, and therefore holds:
//   - A GPU that was published stays listed until the machine is booted (known_gpus.h), or, once the driver
//     lists it no more, until kQuiet after that was published no pod there has a number above it. Ids move
//     then, and when a GPU appears before others on the bus; pods are known by the GPUs that their containers
//     have (users.h).
//   - inUseBy goes on over a restart: who was listed is, until a look at the containers says otherwise.
//   - Never is a good list replaced by none because nobody answers.
//   - observedTime is the last look at the *containers*, since schedulers free the GPUs of a pod without an
//     end when two new looks do not show it (own_object.h says which looks count). Without a runtime it stays
//     as it was (or the time of the first write): such GPUs then stay Draining.
//   - The list holds this agent's GPUs only: what others wrote into it is taken out when an answer shows it.
// With enforces_devices it also reads the leases of the pods of its node, makes the record from which the
// container runtime is answered, and says what comes of that (enforced/enforced.h).
// One thread; time is an argument.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/calls.h"
#include "agent/conditions.h"
#include "agent/enforced/enforced.h"
#include "agent/hardware.h"
#include "agent/known_gpus.h"
#include "agent/own_object.h"
#include "agent/users.h"
#include "base/random.h"
#include "base/readiness.h"
#include "controller/gauges.h"
#include "controller/watches.h"
#include "kapi/call.h"

namespace gs::agent {

class Agent {
 public:
  /// A Binding that was decided before others could know that GPUs vanished has landed by then.
  static constexpr Duration kQuiet = std::chrono::seconds{60};

  struct Config {
    model::NodeName node;
    model::Enforcement enforcement = model::Enforcement::Off;
    Duration calm = std::chrono::seconds{60};
    Duration draining = std::chrono::seconds{10};
    /// Of the machine; "" not known: XIDs, and GPUs that are not listed, of before a restart are forgotten.
    std::string boot_id{};
    bool told_uuids = false;  // containers are told GPUs by UUID
    /// Containers are given the GPUs of their pods by who answers the container runtime (enforce/), from
    /// record(), while that is connected. `enforcement` is what is so then: Devices.
    bool enforces_devices = false;
    OnMismatch on_mismatch = OnMismatch::Warn;
    std::string lease_namespace = "default";  // of all GPU leases of the cluster
  };
  Agent(Config config, Rng rng);

  [[nodiscard]] kapi::Effects start(Now now);
  [[nodiscard]] kapi::Effects handle(const kapi::MachineEvent& event, Now now);
  /// A look at the GPUs came to its end, or is overdue.
  [[nodiscard]] kapi::Effects looked(const LookPtr& look, Now now);
  [[nodiscard]] kapi::Effects containersSeen(const ContainersLook& look, Now now);
  /// Who answers the container runtime says what came of it.
  [[nodiscard]] kapi::Effects enforced(const enforce::Report& report, Now now);

  /// What containers are to have, for who answers the container runtime and the kubelet. Never null; another
  /// one, of a higher version, when something in it changed.
  [[nodiscard]] enforce::NodeRecordPtr record() const { return enforced_.record(); }

  void stopTaking() {}
  [[nodiscard]] bool underWay() const { return false; }
  /// Why it can do nothing more; "" it can.
  [[nodiscard]] const std::string& failure() const { return watches_.failure(); }
  /// Ready once this process has written the status, and while its last write is not older than three times
  /// `calm`.
  [[nodiscard]] Readiness readiness() const;

 private:
  void take(const controller::Reflector::Output& output);
  void answered(const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  void nodeRead(const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  void sayWhoPicks(const model::Node& node, Now now);
  void sayWhetherEnforced(Now now);
  /// What is true now of what was asked for.
  [[nodiscard]] model::Enforcement enforcement() const;
  void sayWhoWrites(const std::vector<int>& of_others, Now now, kapi::Effects& out);
  /// Until this process has written anything, what was published before goes on: those GPUs stay until a
  /// driver answers, and so do their users.
  void goOnFrom(const OwnStatus& own);
  /// All that is to be done now, and when to look again.
  void go(Now now, kapi::Effects& out);
  void advance(Now now, kapi::Effects& out);
  void readNode(Now now, kapi::Effects& out);
  void seeToContainers(Now now, kapi::Effects& out);
  /// Those that went are forgotten once no number means them, or one above them, any more.
  void forgetVanished(Now now, kapi::Effects& out);
  [[nodiscard]] bool isQuietAbove(const Device* vanished) const;
  void wake(Now now, kapi::Effects& out) const;
  [[nodiscard]] NodeView wanted() const;
  void gauge(kapi::Effects& out);

  const Config config_;
  controller::Owners owners_;  // alone in its process
  controller::Parts parts_{owners_};
  controller::Watches watches_;  // of the pods of its node
  Rng rng_;
  Calls calls_;
  Users users_;
  KnownGpus gpus_;
  Conditions conditions_;
  OwnObject own_;
  Enforced enforced_;
  std::uint64_t gpus_told_ = 0;       // KnownGpus::changes() that enforced_ knows
  std::optional<Mono> read_node_at_;  // again; nullopt: not read yet
  std::optional<Mono> quiet_since_;   // nobody has a number of one that vanished, or above
  bool out_of_date_ = false;          // the last write is too old
  controller::Gauges gauges_;
};

}  // namespace gs::agent
