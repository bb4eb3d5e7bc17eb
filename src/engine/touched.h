// Whom something changed for since somebody last asked: pods, claims and nodes that are to be looked at
// again.
//
// Pods are kept as they come, each as often as it is touched: a list of all pods would pay for order that
// nobody asks for. Pods that ask for shares are kept a second time for the extender, from noteShares() on.
// One thread.
#pragma once

#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "model/ids.h"
#include "model/object.h"
#include "sched/ledger/ledger.h"

namespace gs::engine {

class Touched {
 public:
  void pod(const model::Uid& uid) { pods_.push_back(uid); }
  /// Everybody who holds that device of the node, if it is there.
  void holdersOf(const sched::NodeState* node, int id) {
    const sched::DeviceState* device = node == nullptr ? nullptr : node->device(id);
    if (device == nullptr) { return; }
    for (const auto& holder : device->holders) { pod(holder.uid); }
  }
  void claim(const model::ObjectKey& key) { claims_.insert(key); }
  /// What may be written of its GpuNodeStatus may be another one.
  void node(const model::NodeName& name) { nodes_.insert(name); }
  void noteShares() { notes_shares_ = true; }
  void sharing(const model::Uid& uid) {
    if (notes_shares_) { shares_.insert(uid); }
  }

  // Since the last call; ascending.
  [[nodiscard]] std::set<model::Uid> takePods() {
    auto pods = std::exchange(pods_, {});
    return {std::make_move_iterator(pods.begin()), std::make_move_iterator(pods.end())};
  }
  [[nodiscard]] std::set<model::ObjectKey> takeClaims() { return std::exchange(claims_, {}); }
  [[nodiscard]] std::set<model::NodeName> takeNodes() { return std::exchange(nodes_, {}); }
  [[nodiscard]] std::set<model::Uid> takeShares() { return std::exchange(shares_, {}); }
  [[nodiscard]] const std::set<model::NodeName>& nodes() const { return nodes_; }
  /// Pods, claims and nodes.
  void forget() {
    (void)std::exchange(pods_, {});  // its memory too
    claims_.clear();
    nodes_.clear();
  }

 private:
  std::vector<model::Uid> pods_;
  std::set<model::ObjectKey> claims_;
  std::set<model::NodeName> nodes_;
  bool notes_shares_ = false;
  std::set<model::Uid> shares_;
};

}  // namespace gs::engine
