// On which nodes is the agent's next look waited for, since pods there have GPUs that nobody has named yet?
// (R13)
//
// Problem: which GPUs a pod with nvidia.com/gpu has is its kubelet's choice. They are counted, but until the
// agent has looked any GPU that is given by its id there may be one of them. So while a look is due within
// seconds nothing is given by id on that node (sched::Reason::AwaitsLook), and other nodes are taken.
// Waited for: a pod that came to the node, and again when it began to run, until the agent names as many
// GPUs as it has. Whoever calls this says so of nodes only where an agent looks.
// Bounds: kLookWait after the last one came or began to run, and kMostWait in all. After that the node is
// open for kOpen, whoever comes: nobody keeps others from it by pods that come and go. Nor by pods that go
// one after the other: a wait that is over is forgotten only once nobody was waited for as long. (Who is
// placed by kube-scheduler needs some seconds to come back to a node, and does so in vain in a short pause.)
// An agent that let a pod run for kLookWait and named none of its GPUs does not name such GPUs (its container
// runtime says nothing of them). It is not waited for any more, until it names some.
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
