// The World: a whole cluster in one thread on virtual time, deterministic for one seed.
//
// An API server in memory (api.h), simulated machines and their kubelets, the shipped agent on each machine
// (agents.h), and any number of replicas of the scheduler and of the extender alone (replicas.h), with wires
// between that take time and can fail (transport.h), on one queue of what is to happen (event_queue.h).
// This class puts them together. What happens to a call is decided by a Judge, so tests and seeds can refuse,
// lose, delay or cut at any point. Same options and same Judges: the same bytes.
//
// Time moves only in run() and runUntil(); between two events nothing happens. One thread. live.h runs one
// along the real clock.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apiserver/handlers/api.h"
#include "base/clock.h"
#include "base/random.h"
#include "extender/standalone.h"
#include "kapi/node_file.h"
#include "sandbox/controllers/controllers.h"
#include "sandbox/node/dra_driver.h"
#include "sandbox/node/kubelet.h"
#include "sandbox/node/machines.h"
#include "sandbox/world/agents.h"
#include "sandbox/world/companion.h"
#include "sandbox/world/event_queue.h"
#include "sandbox/world/own_pods.h"
#include "sandbox/world/replicas.h"
#include "sandbox/world/transport.h"
#include "scheduler/scheduler.h"

namespace gs::sandbox {

class World {
 public:
  struct Options {
    std::uint64_t seed = 1;
    std::vector<kapi::SimNode> nodes = kapi::defaultNodes();
    bool agents = true;        // false: GpuNodeStatus made by hand (no observedTime)
    bool told_uuids = false;   // agents are told that containers are, by --visible-devices=uuid
    bool enforced = false;     // agents enforce devices: whoever plays the container runtime reports to them
    bool kubelets = true;      // false: nothing runs; a pod that was bound stays as it is
    bool crds = true;          // false: without the chart's CRDs
    bool webhook = false;      // true: admission asks the shipped one (webhook_plugin.h)
    bool own_pods = false;     // true: replicas run in pods, so that it shows when they end (own_pods.h)
    bool controllers = false;  // of workloads, volumes and budgets (controllers.h)
    bool classes = false;      // true: begins with those of sandbox/world/classes.h
    Duration latency = std::chrono::milliseconds{1};
    Duration lease_duration = std::chrono::seconds{5};
    Duration renew_deadline = std::chrono::seconds{3};
    Duration retry_period = std::chrono::milliseconds{500};
    Wall start = ManualClock{}.now().wall;
    bool records = true;  // false: log() and writes() stay empty, so that a World can run for ever
    std::function<void(ReplicaId, const kapi::Log&)> on_log{};
    std::function<void(const kapi::Log&)> on_refused{};  // a write of the sandbox itself, by the API server
    json::Value
        restore{};  // what Api::save() gave: begins with these objects and their machines, not with `nodes`
  };
  using Judge = Transport::Judge;
  using StreamJudge = Transport::StreamJudge;

  explicit World(Options options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // The cluster, as a user with every right sees it. Bodies as kubectl sends them.
  [[nodiscard]] apiserver::Api& api() { return *api_; }
  apiserver::Response request(std::string method, std::string target, json::Value body = {},
                              std::string content_type = "application/json");
  /// POSTs each object to where its kind and namespace belong; CHECKs that it was accepted.
  void create(const json::Value& object);
  [[nodiscard]] json::Value get(const std::string& path);

  // Scheduler replicas.
  ReplicaId startReplica(scheduler::Config config = {}, MakeCompanion companion = {}) {
    return replicas_.startScheduler(std::move(config), std::move(companion));
  }
  /// Gone without a word: its streams and timers end, calls that left go on at the server.
  void crash(ReplicaId id) { replicas_.crash(id); }
  /// A crashed one starts again, with nothing remembered.
  void restart(ReplicaId id) { replicas_.restart(id); }
  /// Takes nothing in and lets no timer run until thawed (SIGSTOP).
  void freeze(ReplicaId id, bool frozen) { replicas_.freeze(id, frozen); }
  /// SIGTERM: what is under way comes to its end (2 s at most), then the leader lease is released.
  void stop(ReplicaId id) { replicas_.stop(id); }
  [[nodiscard]] bool alive(ReplicaId id) const { return replicas_.alive(id); }
  [[nodiscard]] bool frozen(ReplicaId id) const { return replicas_.frozen(id); }
  [[nodiscard]] const scheduler::Scheduler& scheduler(ReplicaId id) const { return replicas_.scheduler(id); }
  /// The lowest that leads and decides.
  [[nodiscard]] std::optional<ReplicaId> leader() const { return replicas_.leader(); }

  // Replicas of the extender alone; all of the above but scheduler() and leader() is for them too. What they
  // draw at random does not shift what schedulers draw.
  ReplicaId startExtender(extender::Config config = {}) { return replicas_.startExtender(std::move(config)); }
  [[nodiscard]] const extender::Standalone& extender(ReplicaId id) const { return replicas_.extender(id); }
  /// Beside that scheduler; null: there is none.
  [[nodiscard]] const extender::Extender* extenderOfCompanion(ReplicaId id) const {
    return replicas_.extenderOfCompanion(id);
  }
  /// The lowest that leads and decides, alone or beside a scheduler.
  [[nodiscard]] std::optional<ReplicaId> leadingExtender() const { return replicas_.leadingExtender(); }
  /// Another scheduler's request about these nodes; its candidates are set here. The answer comes to
  /// setListener()'s, or never: from a replica that dies or freezes meanwhile.
  void ask(ReplicaId id, extender::RequestId request_id, extender::Request request,
           std::vector<std::string> nodes) {
    replicas_.ask(id, request_id, std::move(request), std::move(nodes));
  }
  using Listener = Replicas::Listener;
  void setListener(Listener listener) { replicas_.setListener(std::move(listener)); }

  using Witness = Transport::Witness;
  void setWitness(Witness witness) { transport_.setWitness(std::move(witness)); }
  void setTampering(Tampering tampering) { transport_.setTampering(std::move(tampering)); }
  void setJudge(Judge judge) { transport_.setJudge(std::move(judge)); }
  void setStreamJudge(StreamJudge judge) { transport_.setStreamJudge(std::move(judge)); }
  /// All watches of this replica end with that answer (0: a lost connection; 410: relist).
  void endStreams(ReplicaId id, int http) { transport_.endStreams(id, http); }
  /// Its clock stands still for so long, while it goes on working: then it is that much behind, for good.
  void stallClock(ReplicaId id, Duration by) { replicas_.stallClock(id, by); }
  /// Every request fails to connect while true; streams end.
  void setApiAway(bool away);
  /// The API server has an older state again (what Api::save() gave), as after a restore of etcd;
  /// connections are lost.
  void goBack(const json::Value& saved);
  /// The API server forgets its history: watches from before now get 410.
  void compact() { api_->compact(); }

  // Nodes.
  [[nodiscard]] Kubelet& kubelet() { return *kubelet_; }
  [[nodiscard]] Machines& machines() { return *machines_; }
  /// Of the machines whose enforcement is dra.
  [[nodiscard]] DraDriver& driver() { return driver_; }
  /// The processes of the shipped agent, and the wire by which they reach the API server: its judge, stream
  /// judge, witness and tampering are of their own. setApiAway() is for both wires.
  [[nodiscard]] Agents& agents() { return *agents_; }
  [[nodiscard]] Transport& agentWire() { return agent_wire_; }

  /// Other processes beside those of this class (sandbox/caches/), with a wire to the API server of their
  /// own: both are as the World's own ones from now on. `follow` is called when machines have come or gone.
  /// To be called at the moment at which they begin; `wire` must not go before the last run().
  void join(Transport& wire, std::function<void()> follow);
  [[nodiscard]] EventQueue& queue() { return queue_; }

  /// What an admission plugin says late to a request that waits (Api::answered); of the controllers' too.
  [[nodiscard]] std::optional<apiserver::Response> answered(apiserver::RequestId request_id,
                                                            apiserver::AdmissionResponse said);

  /// To be called after changing something through kubelet(), machines() or agents().
  void touch() { changed(); }
  /// Does it then, between two events.
  void after(Duration by, std::function<void()> action) { queue_.after(by, std::move(action)); }

  // Time.
  [[nodiscard]] Now now() const { return queue_.now(); }
  void run(Duration by);
  /// What is written into objects from now on; time itself does not move.
  void setWall(Wall wall) { queue_.setWall(wall); }
  /// When run() has something to do next.
  [[nodiscard]] std::optional<Mono> nextDue() const { return queue_.nextDue(); }
  /// Runs until `done()` or `limit` has passed; true when done. Asked when an object or the leader changed.
  bool runUntil(const std::function<bool()>& done, Duration limit);

  /// Log lines of all replicas so far ("replica level message k=v ...").
  [[nodiscard]] const std::vector<std::string>& log() const { return replicas_.log(); }
  /// What all replicas added to this metric so far.
  [[nodiscard]] double counted(const std::string& metric) const { return replicas_.counted(metric); }
  /// Writes that left a replica: "verb kind/sub ns/name", in order of arrival at the server.
  [[nodiscard]] const std::vector<std::string>& writes() const { return transport_.writes(); }

 private:
  void changed();
  void simulate();
  struct Beside {
    Transport& wire;
    std::function<void()> follow;
  };

  Options options_;
  EventQueue queue_;
  std::unique_ptr<apiserver::Api> api_;
  ApiPort port_;
  Transport transport_;
  Transport agent_wire_;
  std::optional<OwnPods> own_pods_;
  Replicas replicas_;
  std::unique_ptr<Kubelet> kubelet_;
  DraDriver driver_;
  std::unique_ptr<Machines> machines_;
  std::unique_ptr<Agents> agents_;
  std::optional<controllers::Controllers> controllers_;
  std::vector<Beside> beside_;
  std::optional<Mono> simulate_at_;  // what kubelets and machines have to do next
};

}  // namespace gs::sandbox
