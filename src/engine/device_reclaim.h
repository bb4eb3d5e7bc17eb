// When is the device of an ended pod free again? (R14 to R17) A pure machine over what agents report.
//
// Problem: a pod's end says little about its containers, which may still use the GPU.
// Only the node's agent sees that.
// Watched: a node counts as watched by an agent when its GpuNodeStatus has an observedTime, the Node is
// there, and an agent pod was there within the last 5 minutes. Its enforcer label does not matter: no
// container ends when somebody writes a label. On any other node a device is free as soon as its pod ended.
// On a watched node a device stays Draining while `inUseBy` names the ended pod. Where the pod ended without
// all its containers reported terminated, it also stays so until the second look since the end shows it
// without that uid.
// A node of a DRA driver without an agent says nothing of containers: after an end that is not clean its
// devices stay Draining for kAgentGone. So do those of a pod that agents do not see, one there or not: they
// know who has what by the annotations that we write.
// Looks: the agent's times are compared only with each other, and only for change. A watch may be late, so a
// look counts only when it was written after the end: its revision is above one that the statuses had when
// somebody asked after the end (wantsFloor()). Only a new look takes users away: one with the old time adds.
// Away: a Node or a status that went may come back, with the containers of before. When it does within
// kAgentGone, what was freed because it was away is Draining again. (Nothing is given there while it is
// away.) UUIDs: when a status renumbers the node, what is Draining follows its device to the new id.
// Devices that nobody can name (nvidia.com/gpu of other schedulers' pods) are Draining as a count,
// under the same proofs.
// Each that the agent sees in the pod's use is one less of them.
// Also kept here: agents that are not Ready for 60 s (their devices count as Unknown). One thread;
// times are arguments.
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
#include "sched/ledger/ledger.h"

namespace gs::engine {

inline constexpr Duration kAgentGone = std::chrono::minutes{5};
inline constexpr Duration kAgentStale = std::chrono::seconds{60};

class DeviceReclaim {
 public:
  explicit DeviceReclaim(sched::Ledger& ledger) : ledger_{ledger} {}

  /// False: nodes or their statuses may still be missing, so every node counts as watched and nothing becomes
  /// free.
  void setComplete(bool complete, Mono now);

  /// The pod ended holding these devices, and `counted` by their number, some of which these may be
  /// (sched::Counted). `clean`: all its containers are reported terminated. Again for the same uid: devices
  /// are added, and a clean end lifts the wait for observations. `told`: its annotations say what it had, so
  /// that an agent sees its containers.
  void ended(const model::Uid& uid, const model::NodeName& node, const std::vector<int>& ids, bool clean,
             Mono now, std::int64_t counted = 0, bool told = true);
  /// A look of the agent names this device as used by a pod that ended: it is held too, until a later look
  /// does not name it.
  /// That look may be older than the end, so it does not shorten the wait for looks.
  void seenUsing(const model::Uid& uid, const model::NodeName& node, int id, Mono now);
  /// The pod runs there and has not ended: an agent named it before its own event came. What it may have on
  /// another node, where it was bound in a history that the API server lost, stays Draining.
  void lives(const model::Uid& uid, const model::NodeName& node);
  void statusChanged(const model::GpuNodeStatus& status, Mono now);
  void statusGone(const model::NodeName& node, Mono now);
  void nodeChanged(const model::NodeName& node, Mono now);
  /// An agent pod bound to `node` changed; `present` false when it ended or went.
  void agentChanged(const model::NodeName& node, const model::Uid& agent, bool present, bool ready, Mono now);
  /// Some end waits for looks, and it is not known which are new enough. Whoever reads this lists
  /// GpuNodeStatuses, and tells the list's revision with this number to setFloor(). nullopt: no end waits so.
  [[nodiscard]] std::optional<std::uint64_t> wantsFloor() const {
    return unfloored_.empty() ? std::nullopt : std::optional{*unfloored_.rbegin()};
  }
  void setFloor(std::uint64_t number, model::Revision revision);
  void tick(Mono now);
  [[nodiscard]] std::optional<Mono> nextDue() const {
    return due_.empty() ? std::nullopt : std::optional{due_.begin()->first};
  }

  /// An agent pod is bound there that has not ended.
  [[nodiscard]] bool hasAgent(const model::NodeName& node) const {
    const auto it = agents_.find(node);
    return it != agents_.end() && !it->second.ready.empty();
  }
  /// No device of this pod is Draining.
  [[nodiscard]] bool reclaimed(const model::Uid& uid) const;
  /// Nodes of which anything is kept, for tests of what grows.
  [[nodiscard]] std::size_t remembered() const { return agents_.size() + observed_.size() + away_.size(); }
  /// How many times a device was held so far, for tests of what one look costs.
  [[nodiscard]] std::uint64_t held() const { return held_; }
  /// Pods whose devices all became free since the last call.
  [[nodiscard]] std::vector<model::Uid> takeFreed() { return std::exchange(freed_, {}); }

 private:
  using Key = std::pair<model::Uid, model::NodeName>;  // a pod's leases may be on two nodes
  struct Ended {
    std::map<int, std::string> devices;  // id -> UUID when it ended, "" not known
    std::int64_t counted = 0;
    bool wait_observations = false;
    /// Of one that is not clean, on a node that has had a DRA driver since: where nobody else speaks of the
    /// node it drains until then, whatever the driver publishes meanwhile.
    Mono until{};
    bool by_driver = false;
    bool is_seen = true;                   // by agents, while its containers are there
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

  /// A node that went, or whose status went, and the ends whose devices were freed for that reason.
  struct Away {
    Mono since{};
    std::map<model::Uid, Ended> ended;
  };

  [[nodiscard]] bool watched(const model::NodeName& node, Mono now) const;
  [[nodiscard]] bool inUse(const Key& key) const;
  [[nodiscard]] bool isByDriver(const model::NodeName& node) const;
  [[nodiscard]] Mono nextEnd(const model::NodeName& node, Mono absent_until) const;
  [[nodiscard]] Mono nextUnseen(const model::NodeName& node) const;
  void review(const model::NodeName& node, Mono now);
  void reviewEnded(const Key& key, Mono now);
  void reviewOne(const Key& key, bool is_watched, Mono now);
  void hold(const Key& key, Ended ended);
  /// Holds all devices of that end in the ledger.
  void holdAll(const Key& key, const Ended& ended);
  void holdOne(const Key& key, int id);
  [[nodiscard]] std::string uuidOf(const model::NodeName& node, int id) const;
  void follow(const model::GpuNodeStatus& status);
  [[nodiscard]] Agents& agentsOf(const model::NodeName& node, Mono now);
  void forgetAgents(const model::NodeName& node);
  void free(const Key& key);
  void goAway(const model::NodeName& node, Mono now);
  [[nodiscard]] Away* awayOf(const model::NodeName& node, Mono now);
  void comeBack(const model::NodeName& node, Mono now);
  void refreshStale(const model::NodeName& node, Agents& agents, Mono now);
  /// Notes when time alone will change something on that node.
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
  std::uint64_t held_ = 0;
  std::set<std::uint64_t> unfloored_;  // those in ended_ that wait for looks and have no floor
};

}  // namespace gs::engine
