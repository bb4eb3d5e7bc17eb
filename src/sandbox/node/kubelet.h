// Simulated kubelets: what happens to a pod after it was bound,
// as a pure machine on the API server in memory.
//
// A pod bound to a Node that exists starts `start_after` later: its env is resolved then, from the pod as it
// is then, and its status becomes Running. On a node with a device plugin (setPlugin) the pod is taken first,
// when the plugin says, which shows as its startTime, and starts `start_after` later; what the plugin refuses
// fails. With volumes (setVolumes) its containers wait until those are mounted, and with claims
// (setWaitsForClaims) until those are bound. It ends when told (finish) or
// by itself (program.h), whatever its restartPolicy. Sidecars (init containers with restartPolicy Always) run
// on for `sidecar_takes` when the others ended, and the pod with
// them. A deletion stops the containers within the grace, reports them terminated, then deletes the pod with
// grace 0. Deleted by force, its containers go on for `linger` without a pod. A Node that is deleted takes
// its containers along; its pods are failed and deleted `orphan_after` later, as the controller-manager's pod
// GC does. A node that is down (setNodeDown) keeps its containers but does and says nothing. Containers that
// somebody reports as waiting as he fails their pod run all the same, unseen, for `linger`, if there is one.
//
// Pods that run already when it begins (a restored store) are taken over as they are.
// What happens when is pod_lifecycle.h's, how a status reads is pod_status.h's; here is who sees what changed
// and does what is due.
// Reads the store's history since the last call; acts only in tick(). Same calls, same writes. One thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apiserver/storage/store.h"
#include "base/clock.h"
#include "model/ids.h"
#include "sandbox/node/addresses.h"
#include "sandbox/node/device_driver.h"
#include "sandbox/node/device_plugin.h"
#include "sandbox/node/pod_env.h"
#include "sandbox/node/pod_lifecycle.h"
#include "sandbox/node/volumes.h"

namespace gs::apiserver {
class Api;
}

namespace gs::sandbox {

class Kubelet {
 public:
  using Config = PodTimes;
  /// `api` must outlive it.
  explicit Kubelet(apiserver::Api& api) : Kubelet{api, Config{}} {}
  Kubelet(apiserver::Api& api, Config config);

  /// Does everything that is due.
  void tick(Now now);
  /// When tick() has something to do next; sees what changed in the store first.
  [[nodiscard]] std::optional<Mono> nextDue(Now now);
  void setConfig(Config config) { config_ = config; }

  /// The containers of this pod end by themselves, at the next tick (or as soon as they run).
  void finish(const std::string& ns, const std::string& name, int exit_code = 0);
  void setNodeDown(const std::string& node, bool down);
  /// Of pods that are bound to this node from now on. It must outlive this.
  void setPlugin(const std::string& node, DevicePlugin& plugin) { plugins_[node] = &plugin; }
  /// Of all nodes. It must outlive this.
  void setVolumes(Volumes& volumes) { volumes_ = &volumes; }
  /// Containers wait until the claims of their pod are bound. (Else nobody may be there to bind them.)
  void setWaitsForClaims(bool waits) { waits_for_claims_ = waits; }
  /// Of the pods that it serves. It must outlive this.
  void setDriver(DeviceDriver& driver) { driver_ = &driver; }
  /// A pod that is to have its volumes: its containers exist, or are to start.
  [[nodiscard]] bool needsVolumes(const std::string& uid) const;

  /// Containers that exist on a node now, with what they were started with.
  struct Running {
    std::string uid;
    model::ObjectKey pod;
    /// gpu.scheduling/visible-devices, else the ids of gpu.scheduling/allocated, at the start; on a node with
    /// a driver, the UUIDs of what it prepared.
    std::string devices;
    int gpus = 0;            // that its containers have at once, by their limits of nvidia.com/gpu
    bool by_driver = false;  // they have what a driver prepared, and nothing else
    bool ended = false;      // the API says that its pod ended or went
    Wall created{};
  };
  /// Ordered by uid.
  [[nodiscard]] std::vector<Running> running(const std::string& node) const;
  /// Counts changes of what running() says; equal counts, equal answers.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  /// The env that the container got when it started; nullptr when it did not start. "" : the first container.
  /// Kept after the end, while the pod is there.
  [[nodiscard]] const Env* envOf(const std::string& uid, const std::string& container = "") const;
  /// Running::devices of a pod whose containers were started; nullopt: they were not, or it named none.
  [[nodiscard]] std::optional<std::string> devicesAtStart(const std::string& uid) const;

 private:
  struct Sim {
    model::ObjectKey key;
    std::string node;
    apiserver::ObjectPtr pod;  // last seen
    PodState state;
    std::string started_at;
    std::vector<std::string> prepared;      // by a driver, before its containers started
    std::optional<json::Value> unprepared;  // its annotations when a driver could not prepare its devices
    Running running;
  };
  using Sims = std::map<std::string, Sim>;  // by uid

  void observe(Now now);
  void resync(Now now);
  void podChanged(const apiserver::ObjectPtr& pod, Now now);
  void firstSeen(Sim& sim, const std::string& uid, Now now);
  void podGone(const std::string& uid, Now now);
  void nodeChanged(const std::string& node, bool exists, Now now);
  /// The lifecycle's next state; returns what is to be done.
  PodStep happened(Sim& sim, const std::string& uid, const PodEvent& event, Now now);
  void plan(Sim& sim, const std::string& uid, std::optional<Mono> due);
  void act(Sims::iterator at, Now now);
  void take(Sim& sim, const std::string& uid, Now now);
  void refuse(Sim& sim, const std::string& uid, const DevicePlugin::Refusal& refusal, Now now);
  void start(Sim& sim, const std::string& uid, const PodReport& report, Now now);
  void notPrepared(Sim& sim, const std::string& uid, Now now);
  void report(const Sim& sim, const std::string& uid, const PodReport& report, Now now);
  [[nodiscard]] std::optional<Mono> endOfAdopted(const Sim& sim, Now now) const;
  void holdContainers(Sim& sim, const std::string& uid, Wall created);
  void remove(const Sim& sim, const std::string& uid, Now now);
  void orphan(const Sim& sim, const std::string& uid, Now now);
  bool patchStatus(const Sim& sim, const std::string& uid, json::Value status, Now now);
  [[nodiscard]] std::optional<Duration> timeToRun(const json::Value& pod, Now now);
  [[nodiscard]] std::string addressOf(const std::string& node) const;
  [[nodiscard]] bool nodeExists(const std::string& node) const;
  [[nodiscard]] bool hasItsClaims(const json::Value& pod) const;

  apiserver::Api& api_;
  Config config_;
  std::uint64_t position_ = 0;  // of the store's history
  bool begins_ = true;          // nothing was looked at yet: pods that run are taken over
  Sims sims_;
  std::set<std::pair<Mono, std::string>> due_;
  std::set<std::string> down_;
  std::map<std::string, DevicePlugin*> plugins_;  // by node
  Volumes* volumes_ = nullptr;                    // nullptr: nothing is waited for
  bool waits_for_claims_ = false;
  DeviceDriver* driver_ = nullptr;  // nullptr: no node has one
  std::map<model::ObjectKey, int> to_finish_;
  std::map<std::string, std::vector<std::pair<std::string, Env>>> envs_;  // uid -> containers in their order
  Addresses addresses_{"10.244"};
  std::uint64_t changes_ = 0;
};

}  // namespace gs::sandbox
