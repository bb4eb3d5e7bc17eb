// When is the device of an ended pod free again? (R14) A pure machine over what agents report.
//
// A node counts as watched by an agent when its GpuNodeStatus has an observedTime, the Node is there, and an agent pod was there
// within the last 5 minutes; its enforcer label does not matter (no container ends when somebody writes a label). On any other node a device is free as soon as its pod ended.
// On a watched node it stays Draining while `inUseBy` names the ended pod and, when the pod ended without all its
// containers reported terminated, until the second observedTime that is new since the end shows it without that uid.
// The agent's times are compared only with each other, and only for change. A watch may be late, so a look counts only when it was
// written after the end: its revision is above one that the statuses had when somebody asked after the end (wantsFloor()).
// A Node or a status that went may come back, with the containers of before: when it does within kAgentGone, what was freed
// because it was away drains on. (Nothing is given there while it is away.)
// A device is followed by its UUID: when a status renumbers the node, what drains does under the new id too.
// Devices that a pod had and that nobody can name (nvidia.com/gpu of others) drain as a count, under the same proofs; each that
// the agent sees in its use then is one less of them.
// Also kept here: agents that are not Ready for 60 s (their devices count as Unknown). One thread; times are arguments.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "model/node.h"
#include "model/pod.h"
#include "sched/ledger.h"

namespace gs::engine {

inline constexpr Duration kAgentGone = std::chrono::minutes{5};
inline constexpr Duration kAgentStale = std::chrono::seconds{60};

class Drain {
 public:
  explicit Drain(sched::Ledger& ledger) : ledger_{ledger} {}

  /// False: nodes or their statuses may still be missing, so every node counts as watched and nothing becomes free.
  void setComplete(bool complete, Mono now);

  /// The pod ended holding these devices, `total` in all with those that cannot be named. `clean`: all its containers are
  /// reported terminated. Again for the same uid: devices are added, and a clean end lifts the wait for observations.
  void ended(const model::Uid& uid, const model::NodeName& node, const std::vector<int>& ids, bool clean,
             Mono now, std::int64_t total = 0);
  /// A look of the agent names this device of a pod that ended: held too, until a later look does not. That look may be older
  /// than the end, so it lifts no wait.
  void seenUsing(const model::Uid& uid, const model::NodeName& node, int id, Mono now);
  /// The pod runs there, and has not ended after all: an agent spoke of it before its own event came. What it may have elsewhere
  /// (it was bound there in a history that the API server lost) drains on.
  void lives(const model::Uid& uid, const model::NodeName& node);
  void statusChanged(const model::GpuNodeStatus& status, Mono now);
  void statusGone(const model::NodeName& node, Mono now);
  void nodeChanged(const model::NodeName& node, Mono now);
  /// An agent pod bound to `node` changed; `present` false when it ended or went.
  void agentChanged(const model::NodeName& node, const model::Uid& agent, bool present, bool ready, Mono now);
  /// Some end waits for looks: the revision of a list of GpuNodeStatuses that is made from now on is to be told with this
  /// number. nullopt: none does.
  [[nodiscard]] std::optional<std::uint64_t> wantsFloor() const {
    return unfloored_.empty() ? std::nullopt : std::optional{*unfloored_.rbegin()};
  }
  void setFloor(std::uint64_t number, model::Revision revision);
  void tick(Mono now);
  [[nodiscard]] std::optional<Mono> nextDue() const {
    return due_.empty() ? std::nullopt : std::optional{due_.begin()->first};
  }

  /// No device of this pod is Draining.
  [[nodiscard]] bool drained(const model::Uid& uid) const;
  /// Nodes of which anything is kept, for tests of what grows.
  [[nodiscard]] std::size_t remembered() const { return agents_.size() + observed_.size() + away_.size(); }
  /// Pods whose devices all became free since the last call.
  [[nodiscard]] std::vector<model::Uid> takeFreed() { return std::exchange(freed_, {}); }

 private:
  using Key = std::pair<model::Uid, model::NodeName>;  // a pod's leases may be on two nodes
  struct Ended {
    std::map<int, std::string> devices;  // id -> UUID when it ended, "" not known
    std::int64_t total = 0;
    bool wait_observations = false;
    int observations = 0;                  // new observedTimes since the end
    std::uint64_t number = 0;              // of those that wait for looks; 0: it does not
    std::optional<model::Revision> floor;  // looks above it were written after the end
  };
  struct Agents {
    std::map<model::Uid, bool> ready{};  // agent pods there -> Ready
    Mono absent_since{};
    Mono not_ready_since{};
    bool stale = false;
    std::optional<Mono> due{};  // its place in due_
    [[nodiscard]] bool isReady() const;
  };
  struct Observed {
    std::string time;
    std::set<model::Uid> users;  // of any of its devices
  };

  /// A node that went, or whose status did, and what was freed there for that reason.
  struct Away {
    Mono since{};
    std::map<model::Uid, Ended> ended;
  };

  [[nodiscard]] bool watched(const model::NodeName& node, Mono now) const;
  [[nodiscard]] bool inUse(const Key& key) const;
  void review(const model::NodeName& node, Mono now);
  void reviewEnded(const Key& key, Mono now);
  void reviewOne(const Key& key, bool is_watched, Mono now);
  void hold(const Key& key, Ended ended);
  /// As many as it says are held.
  void holdAll(const Key& key, const Ended& ended);
  [[nodiscard]] std::string uuidOf(const model::NodeName& node, int id) const;
  void follow(const model::GpuNodeStatus& status);
  [[nodiscard]] Agents& agentsOf(const model::NodeName& node, Mono now);
  void forgetAgents(const model::NodeName& node);
  void free(const Key& key);
  void goAway(const model::NodeName& node, Mono now);
  [[nodiscard]] Away* awayOf(const model::NodeName& node, Mono now);
  void comeBack(const model::NodeName& node, Mono now);
  void refreshStale(const model::NodeName& node, Agents& agents, Mono now);
  /// When time alone changes something on that node.
  void plan(const model::NodeName& node);

  sched::Ledger& ledger_;
  bool complete_ = true;
  std::map<Key, Ended> ended_;
  std::map<model::NodeName, std::set<model::Uid>> on_node_;
  std::map<model::NodeName, Away> away_;
  std::map<model::NodeName, Observed> observed_;
  std::map<model::NodeName, Agents> agents_;
  std::set<std::pair<Mono, model::NodeName>> due_;
  std::vector<model::Uid> freed_;
  std::uint64_t unclean_ends_ = 0;
  std::set<std::uint64_t> unfloored_;  // those in ended_ that wait for looks and have no floor
};

}  // namespace gs::engine
