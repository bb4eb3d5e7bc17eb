// AwaitedLooks: on which nodes no GPU is given by its id for some seconds, because the node's agent has yet
// to say which GPUs the newest pods there use (R13).
//
// Problem: which GPUs a pod with a limit of nvidia.com/gpu gets is its kubelet's choice. How many is known
// at once; which ones, only after the agent's next look at the containers. Until then any GPU that we give
// there by its id may be one of them. So such a node refuses requests by id (sched::Reason::AwaitsLook),
// and other nodes are taken meanwhile.
// When: from the moment that such a pod comes to the node, and anew from the moment that it begins to run,
// until the agent names as many GPUs as the pod has. The caller reports only nodes on which an agent looks.
//
// Limits, so that pods which come and go cannot close a node for ever:
//   - kLookWait after the last pod came or began to run, and kMostWait in all. After that the node is open
//     for kOpen, whoever comes.
//   - A wait that is over still counts towards kMostWait, less the time since then in which nobody was
//     waited for. So pods that come one after the other do not begin a new kMostWait each. (A short pause
//     is no help to a pod that kube-scheduler places: it needs some seconds until it tries the node again.)
//   - An agent that saw a pod run for kLookWait and named none of its GPUs cannot name such GPUs (its
//     container runtime does not say them). It is not waited for again until it names some.
// One thread; times are arguments.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "model/ids.h"
#include "sched/ledger/ledger.h"

namespace gs::engine {

inline constexpr Duration kLookWait = std::chrono::seconds{15};
inline constexpr Duration kMostWait = std::chrono::seconds{30};
inline constexpr Duration kOpen = std::chrono::seconds{15};

/// Keeps Ledger::setAwaitsLook().
class AwaitedLooks {
 public:
  explicit AwaitedLooks(sched::Ledger& ledger) : ledger_{ledger} {}

  /// A pod with GPUs by their number came to that node, or (`runs`) began to run there.
  void came(const model::NodeName& node, const model::Uid& pod, bool runs, Mono now);
  // named() and over() go by the time of the last came() or tick().

  /// The agent sees it use GPUs: as many as it has, or (not `all`) some of them.
  void named(const model::NodeName& node, const model::Uid& pod, bool all);
  /// It ended, or went.
  void over(const model::NodeName& node, const model::Uid& pod);
  /// No agent looks there now.
  void forget(const model::NodeName& node);
  void tick(Mono now);
  [[nodiscard]] std::optional<Mono> nextDue() const {
    return due_.empty() ? std::nullopt : std::optional{due_.begin()->first};
  }
  /// Nodes of which anything is kept, for tests of what grows.
  [[nodiscard]] std::size_t remembered() const { return nodes_.size(); }

 private:
  struct Unnamed {
    std::optional<Mono> runs_since{};
    bool some = false;  // of its GPUs are named
  };
  struct Node {
    std::map<model::Uid, Unnamed> pods;  // that are waited for
    Mono since{};                        // when the first of them came, earlier by what was waited before
    std::optional<Mono> paused{};        // when the last of them was named, or went
    std::optional<Mono> due{};           // the end of wait, pause, or being open; its place in due_
    bool is_open = false;
    bool is_in_vain = false;  // its agent does not name such GPUs
  };
  using Nodes = std::unordered_map<model::NodeName, Node>;

  void setDue(Nodes::iterator it, std::optional<Mono> due);
  void settle(Nodes::iterator it);
  void letGo(Nodes::iterator it);

  sched::Ledger& ledger_;
  Mono now_{};
  Nodes nodes_;
  std::set<std::pair<Mono, model::NodeName>> due_;
};

}  // namespace gs::engine
