// Which node a pod is said to fit, where its scheduler asks about one node at a time (Predicates,
// as Volcano does).
//
// A pod is promised on one node. Its scheduler walks nodes in an order of its own, and may never bind it
// there: so its own node is said to fit for some turns, each as long as a session takes; when they were in
// vain that node rests, and others have theirs, each once. When nothing came of that either, it is its own
// node's turn again. While its scheduler may still act on what it was told, no other node is said to fit:
// else one pod would be given room on two. Pure; one thread.
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
