// A node as it would be: for questions about a state that is not, or not yet, the ledger's. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "sched/doors/door.h"
#include "sched/ledger/node_state.h"

namespace gs::sched {

/// If the Node object said this.
[[nodiscard]] NodeState withFacts(NodeState node, const model::Node& facts, Doors doors);

/// A node without some of its pods, where which ones changes often: it is copied once, and a pod that goes or
/// comes back costs as much as the devices that it is on, and the next look one at each device of the node.
/// What comes of the node itself meanwhile is not seen.
class NodeWithout {
 public:
  explicit NodeWithout(const NodeState& node);

  /// Whoever holds GPUs of it, is counted there, or is on its way.
  struct Holding {
    std::vector<std::size_t> devices;  // by position
    bool counted = false;
    bool in_flight = false;
    bool ended = true;  // of its devices by id only Source::Draining says so; it is not on its way
    bool gone = false;
  };
  using Holdings = std::map<model::Uid, Holding>;
  [[nodiscard]] const Holdings& holdings() const { return holdings_; }

  void take(const model::Uid& uid) { move(uid, true); }
  void giveBack(const model::Uid& uid) { move(uid, false); }
  /// And what it uses of ordinary resources. Of a pod that is bound there and has not finished.
  void take(const model::Pod& pod);
  void giveBack(const model::Pod& pod);

  [[nodiscard]] const NodeState& state();
  /// Entries of holders that were looked at since the last call.
  [[nodiscard]] std::size_t takeCost() { return std::exchange(cost_, 0); }

 private:
  void move(const model::Uid& uid, bool gone);
  [[nodiscard]] bool isGone(const model::Uid& uid) const;

  NodeState state_;
  // As they are with all pods.
  std::vector<std::vector<Holder>> holders_;  // by position of the device
  std::vector<InFlight> in_flight_;
  std::vector<Counted> counted_;
  Holdings holdings_;
  bool derived_ = true;
  std::size_t cost_ = 0;
};

}  // namespace gs::sched
