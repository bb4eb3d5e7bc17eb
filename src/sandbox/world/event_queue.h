// Virtual time: what is to happen, in order of its time; of equal times, in the order in which it was put in.
//
// Time moves only in step(), runTo() and moveTo(), and never back; what an action puts in for a time that has
// passed happens next. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "base/clock.h"

namespace gs::sandbox {

class EventQueue {
 public:
  using Action = std::function<void()>;

  explicit EventQueue(Wall start) : clock_{start} {}

  [[nodiscard]] Now now() const { return clock_.now(); }
  /// What is written into objects from now on; time itself does not move.
  void setWall(Wall wall) { clock_.setWall(wall); }

  void at(Mono when, Action action);
  void after(Duration by, Action action) { at(now().mono + by, std::move(action)); }

  /// When the next action is due.
  [[nodiscard]] std::optional<Mono> nextDue() const;
  /// Moves time to the next action and does it. False: none is due until then, and nothing happened.
  bool step(Mono until);
  /// Does all that is due until then, and moves time there.
  void runTo(Mono until);
  /// Nothing may be due before.
  void moveTo(Mono when) { clock_.advance(when - now().mono); }

 private:
  ManualClock clock_;
  std::map<std::pair<Mono, std::uint64_t>, Action> actions_;
  std::uint64_t seq_ = 0;
};

}  // namespace gs::sandbox
