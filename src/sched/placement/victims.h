// Who has to leave a node so that a pod fits there. kube-scheduler's preemption chooses victims by what it
// counts itself; of GPUs that it does not count it lets its extenders name them. Pure over the node's state.
//
// Rules, as kube-scheduler's own: only pods of lower priority; as few as will do: all of them are thought
// away, then they come back one after the other, the most important first, and whoever finds no place beside
// the pod is a victim. More important is a higher priority, then who was bound earlier, then the lower uid.
// So none of those that are named can be left out. PodDisruptionBudgets are not looked at: nobody tells us.
//
// Invariant that this rests on: a pod that fits still fits when another one goes.
// Cost: of n pods of which k are victims some k log n looks at the node (NodeWithout), and never more than
// 3 + 2n. n is kMostLowerPods at most: of more, the least important are thought away, and the others stay.
// A look may be a search that takes long, so they are taken one by one, and whoever has other things to do
// goes on later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "model/pod.h"
#include "sched/placement/what_if.h"

namespace gs::sched {

inline constexpr std::size_t kMostLowerPods = 256;  // of one node; more than kubelets run

/// As kube-scheduler orders victims.
[[nodiscard]] bool isMoreImportant(const model::Pod& a, const model::Pod& b);

/// The pods of a node, as far as somebody gets room when they go.
struct NodePods {
  std::vector<const model::Pod*> given;  // go in any case: bound there, not finished, each once
  std::vector<model::Uid> leaving;       // go by themselves
  std::vector<const model::Pod*> lower;  // may be told to go; none of the others
  /// They come back in the order in which `lower` lists them, not the most important first.
  bool as_listed = false;
  /// What each of them counts of the quota of the pod's namespace.
  std::map<model::Uid, std::int64_t> charges;
  /// Hears of each pod that is thought away, or comes back; of those that leave by themselves nothing.
  std::function<void(const model::Pod&, bool goes)> tell{};
};

/// Whether the pod fits on the node as it would be, when so much of its namespace's quota was given back.
using FitsOn = std::function<bool(const NodeState&, std::int64_t given_back)>;

struct Room {
  enum class When : std::uint8_t {
    Never,
    WithGiven,    // once the given ones are gone, or with none of them
    WithLeaving,  // once those that leave are gone too
    WithVictims,
  };
  When when{};
  std::vector<const model::Pod*> victims{};  // besides the given ones; the most important first
  std::size_t looks = 0;                     // at the node
};

/// A search for room on one node, by what the node and its pods were when it began. The pods must outlive it.
class RoomSearch {
 public:
  /// `node`: all its pods are there.
  RoomSearch(NodeWithout node, NodePods pods);

  /// One look at the node. nullopt: it is not known yet; afterwards it is over.
  [[nodiscard]] std::optional<Room> look(const FitsOn& fits);
  /// Entries of holders that the looks since the last call went over as pods came and went.
  [[nodiscard]] std::size_t takeCost() { return node_.takeCost(); }

 private:
  enum class Without : std::uint8_t { Given, Leaving, AllLower, SomeLower };  // who is thought away now
  struct Range {                                                              // of NodePods::lower
    std::size_t first = 0;
    std::size_t end = 0;
  };

  [[nodiscard]] Room room(Room::When when) { return {when, std::move(victims_), looks_}; }
  [[nodiscard]] std::int64_t chargeOf(const model::Uid& uid) const;
  void take(const model::Pod& pod);
  void comeBack(const model::Pod& pod);
  [[nodiscard]] std::optional<Room> takeLower();
  void takeAgain(Range range);
  [[nodiscard]] std::optional<Room> next();

  NodeWithout node_;
  NodePods pods_;
  Without without_ = Without::Given;
  std::vector<Range> gone_;  // that may come back, the next one last: disjoint, and ordered
  std::int64_t given_back_ = 0;
  std::vector<const model::Pod*> victims_;
  std::size_t looks_ = 0;
};

}  // namespace gs::sched
