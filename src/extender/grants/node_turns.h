// NodeTurns: which node a pod is said to fit, for a scheduler that asks about one node at a time (Volcano
// before 1.13, by its predicate).
//
// Such a scheduler walks the nodes in an order of its own, asks "does the pod fit here?" and binds it to a
// node that said yes. The pod's devices are reserved on one node, "its own". If two nodes said yes, the pod
// would have devices on both. So:
//   1. The pod's own node says yes. All others say no, for kHeldForPredicate after the last time that the
//      own node did: the scheduler may still bind the pod there.
//   2. The scheduler may never bind it there. So after kTurnsOfPredicate turns of kHeldForPredicate each,
//      the own node rests: it says no, and another node that is asked about may take its place, with turns
//      of its own. Nodes that had all their turns in vain say no meanwhile.
//   3. When the rest is over and no other node took its place, its turns begin again.
// Pure; one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>

#include "base/clock.h"
#include "extender/grants/config.h"
#include "model/ids.h"

namespace gs::extender {

class NodeTurns {
 public:
  enum class Other : std::uint8_t { Fits, Held, InVain };

  /// It was decided anew: its own node begins with its first turn.
  void begin(Mono now) {
    held_until_ = turn_until_ = now + kHeldForPredicate;
    rests_until_ = {};
    turns_ = 1;
  }
  /// Its scheduler was told that its own node fits, or may have been.
  void hold(Mono now) { held_until_ = now + kHeldForPredicate; }
  /// It is asked about its own node: takes a turn when one is over. False: that node rests.
  [[nodiscard]] bool ownFits(const model::NodeName& own, Mono now) {
    if (now >= rests_until_ && now >= turn_until_) { takeTurn(own, now); }
    return now >= rests_until_;
  }
  [[nodiscard]] Other otherFits(const model::NodeName& node, Mono now) const {
    if (now < held_until_) { return Other::Held; }
    return now < rests_until_ && rested_.contains(node) ? Other::InVain : Other::Fits;
  }

 private:
  void takeTurn(const model::NodeName& own, Mono now) {
    if (turns_ >= kTurnsOfPredicate) {
      turns_ = 0;
      rests_until_ = std::max(held_until_, now) + kHeldForPredicate;
      rested_.insert(own);
      return;
    }
    if (turns_ == 0) { rested_.clear(); }
    ++turns_;
    turn_until_ = now + kHeldForPredicate;
  }

  Mono held_until_{};                 // no other node is told to fit: some time since its own was last
  Mono turn_until_{};                 // its own node has its turn
  Mono rests_until_{};                // and then none
  int turns_ = 0;                     // in a row
  std::set<model::NodeName> rested_;  // nodes that had all their turns in vain
};

}  // namespace gs::extender
