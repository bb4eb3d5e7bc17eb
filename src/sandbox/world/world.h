// The World: a whole cluster in one thread on virtual time, deterministic for one seed.
//
// An API server in memory (api.h), simulated kubelets and node agents, and any number of replicas of the scheduler and of
// the extender alone, each with
// its own and an election machine, run by the World as k8s/ runs them in a process: calls take time, lanes are kept, guarded calls pass
// the replica's gate, streams deliver in order. What happens to a call is decided by a Judge, so tests and seeds can
// refuse, lose, delay or cut at any point. Same options and same Judge: the same bytes.
//
// Time moves only in run() and runUntil(); between two events nothing happens. One thread. live.h runs one along the real
// clock.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apiserver/handlers/api.h"
#include "base/clock.h"
#include "base/random.h"
#include "extender/alone.h"
#include "kapi/election.h"
#include "kapi/node_file.h"
#include "sandbox/controllers/controllers.h"
#include "sandbox/node/kubelet.h"
#include "sandbox/node/node_agent.h"
#include "sandbox/world/api_port.h"
#include "sandbox/world/companion.h"
#include "scheduler/scheduler.h"

namespace gs::sandbox {

using ReplicaId = int;

/// What becomes of one call on its way.
struct CallFate {
  enum class How : std::uint8_t {
    Normal,      // carried out, answered
    Refused,     // answered with `http`, not carried out
    LostBefore,  // never carried out; the caller hears nothing: Unknown
    LostAfter,   // carried out; the caller hears nothing: Unknown
    Late,        // the caller hears Unknown now; carried out `delay` later
  };
  How how = How::Normal;
  int http = 500;
  Duration delay{};
  bool crash_before = false;  // the sender dies as it sends this (nothing was sent)
  bool crash_after = false;   // the sender dies when the server has decided (the answer is never read)
  Duration retry_after{};     // Refused: what the answer asks for
};

class World {
 public:
  struct Options {
    std::uint64_t seed = 1;
    std::vector<kapi::SimNode> nodes = kapi::defaultNodes();
    bool agents = true;        // false: GpuNodeStatus made by hand (no observedTime)
    bool kubelets = true;      // false: nothing runs; a pod that was bound stays as it is
    bool crds = true;          // false: without the chart's CRDs
    bool controllers = false;  // of Deployments, ReplicaSets, StatefulSets and Jobs
    Duration latency = std::chrono::milliseconds{1};
    Duration lease_duration = std::chrono::seconds{5};
    Duration renew_deadline = std::chrono::seconds{3};
    Duration retry_period = std::chrono::milliseconds{500};
    Wall start = ManualClock{}.now().wall;
    bool records = true;  // false: log() and writes() stay empty, so that a World can run for ever
    std::function<void(ReplicaId, const kapi::Log&)> on_log{};
    json::Value
        restore{};  // what Api::save() gave: begins with these objects and their machines, not with `nodes`
  };
  using Judge = std::function<CallFate(ReplicaId, const kapi::Call&)>;
  /// How long what a watch has to bring waits; asked when it has something.
  using StreamJudge = std::function<Duration(ReplicaId, kapi::Token)>;

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
  ReplicaId startReplica(scheduler::Config config = {}, MakeCompanion beside = {});
  /// Gone without a word: its streams and timers end, calls that left go on at the server.
  void crash(ReplicaId id);
  /// A crashed one starts again, with nothing remembered.
  void restart(ReplicaId id);
  /// Takes nothing in and lets no timer run until thawed (SIGSTOP).
  void freeze(ReplicaId id, bool frozen);
  /// SIGTERM: what is under way comes to its end (2 s at most), then the leader lease is released.
  void stop(ReplicaId id);
  [[nodiscard]] bool alive(ReplicaId id) const;
  [[nodiscard]] bool frozen(ReplicaId id) const;
  [[nodiscard]] const scheduler::Scheduler& scheduler(ReplicaId id) const;
  [[nodiscard]] std::optional<ReplicaId> leader() const;  // the lowest that leads and decides

  // Replicas of the extender alone; all of the above but scheduler() and leader() is for them too. What they draw at
  // random does not shift what schedulers draw.
  ReplicaId startExtender(extender::Config config = {});
  [[nodiscard]] const extender::Alone& extender(ReplicaId id) const;
  /// Beside that scheduler; null: there is none.
  [[nodiscard]] const extender::Extender* extenderBeside(ReplicaId id) const;
  /// The lowest that leads and decides, alone or beside a scheduler.
  [[nodiscard]] std::optional<ReplicaId> leadingExtender() const;
  /// Another scheduler's question about these nodes; its candidates are set here. The answer comes to setListener()'s, or
  /// never: from a replica that dies or freezes meanwhile.
  void ask(ReplicaId id, extender::Ticket ticket, extender::Question question,
           std::vector<std::string> nodes);
  using Listener = std::function<void(ReplicaId, extender::Ticket, const extender::Answer&)>;
  void setListener(Listener listener) { listener_ = std::move(listener); }

  /// Told of each call of a replica that was answered, lost or refused on its way, as its sender will hear of it.
  using Witness = std::function<void(ReplicaId, const kapi::Call&, const kapi::Outcome&)>;
  void setWitness(Witness witness) { witness_ = std::move(witness); }
  void setJudge(Judge judge) { judge_ = std::move(judge); }
  void setStreamJudge(StreamJudge judge) { stream_judge_ = std::move(judge); }
  /// All watches of this replica end with that answer (0: a lost connection; 410: relist).
  void endStreams(ReplicaId id, int http);
  /// Its clock stands still for so long, while it goes on working: then it is that much behind, for good.
  void stallClock(ReplicaId id, Duration by);
  /// Every request fails to connect while true; streams end.
  void setApiAway(bool away);
  /// The API server has an older state again (what Api::save() gave), as after a restore of etcd; connections are lost.
  void goBack(const json::Value& saved);
  /// The API server forgets its history: watches from before now get 410.
  void compact() { api_->compact(); }

  // Nodes.
  [[nodiscard]] Kubelet& kubelet() { return *kubelet_; }
  [[nodiscard]] NodeAgents& agents() { return *agents_; }

  /// To be called after changing something through kubelet() or agents().
  void touch() { changed(); }
  /// Does it then, between two events.
  void after(Duration by, std::function<void()> action) { at(clock_.now().mono + by, std::move(action)); }

  // Time.
  [[nodiscard]] Now now() const { return clock_.now(); }
  void run(Duration by);
  /// What is written into objects from now on; time itself does not move.
  void setWall(Wall wall) { clock_.setWall(wall); }
  /// When run() has something to do next.
  [[nodiscard]] std::optional<Mono> nextDue() const;
  /// Runs until `done()` or `limit` has passed; true when done. Asked when an object or the leader changed.
  bool runUntil(const std::function<bool()>& done, Duration limit);

  /// Log lines of all replicas so far ("replica level message k=v ...").
  [[nodiscard]] const std::vector<std::string>& log() const { return log_; }
  /// What all replicas added to this metric so far.
  [[nodiscard]] double counted(const std::string& metric) const;
  /// Writes that left a replica: "verb kind/sub ns/name", in order of arrival at the server.
  [[nodiscard]] const std::vector<std::string>& writes() const { return writes_; }

 private:
  struct Replica;
  ReplicaId add(std::unique_ptr<Replica> r);
  void tellAnswers(Replica& r);
  using Action = std::function<void()>;

  void at(Mono when, Action action);
  bool step(Mono until);
  Replica& replica(ReplicaId id) { return *replicas_.at(static_cast<std::size_t>(id)); }
  /// Runs `action` if that life of the replica still goes on; a frozen one gets it when thawed.
  void inReplica(ReplicaId id, std::uint64_t life, std::function<void(Replica&)> action);
  void begin(Replica& r);
  void post(Replica& r, const scheduler::Event& event);
  void carry(Replica& r, kapi::Effects effects);
  void submit(Replica& r, kapi::Call call);
  void send(Replica& r, kapi::Call call);
  void arrive(ReplicaId id, std::uint64_t life, const kapi::Call& call, CallFate fate);
  void deliver(ReplicaId id, std::uint64_t life, std::string its_lane, kapi::Outcome outcome);
  void outcome(Replica& r, const kapi::Outcome& o);
  void elected(Replica& r, kapi::Election::Output output);
  void stopWhenDone(ReplicaId id, Mono end);
  void wakeAt(Replica& r, Mono when);
  void openWatch(Replica& r, const kapi::OpenWatch& watch);
  void streamLives(ReplicaId id, std::uint64_t life, kapi::Token stream, Duration bookmark_every, Mono end);
  void drainStreams();
  [[nodiscard]] bool held(ReplicaId id, kapi::Token stream);
  void changed();
  void simulate();
  void line(const Replica& r, const kapi::Log& log);

  Options options_;
  ManualClock clock_;
  Rng rng_;
  Rng extender_rng_;
  std::unique_ptr<apiserver::Api> api_;
  ApiPort port_;
  std::unique_ptr<Kubelet> kubelet_;
  std::unique_ptr<NodeAgents> agents_;
  std::optional<controllers::Controllers> controllers_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  Judge judge_;
  StreamJudge stream_judge_;
  Witness witness_;
  Listener listener_;
  std::map<std::pair<ReplicaId, kapi::Token>, Mono> holds_;  // streams that wait
  bool api_away_ = false;
  std::map<std::pair<Mono, std::uint64_t>, Action> actions_;
  std::uint64_t seq_ = 0;
  bool drain_due_ = false;
  std::optional<Mono> simulate_at_;
  std::vector<std::string> log_;
  std::vector<std::string> writes_;
  std::map<std::string, double> counted_;
};

}  // namespace gs::sandbox
