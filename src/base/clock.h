// Time as an argument. Machines never read a clock: they are given `Now`. Mono orders and measures
// (deadlines, timers); Wall is what is written into objects. Virtual time in tests and the World is the same
// two numbers moved by hand.
#pragma once

#include <chrono>

namespace gs {

using Duration = std::chrono::nanoseconds;
using Mono = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;
using Wall = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

struct Now {
  Mono mono{};
  Wall wall{};
};

/// Thread-safe. The system's clock lives in base/system_clock.h, one moved by hand below.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Now now() const = 0;
};

/// A clock that moves only when told. Not thread-safe: one test, one thread.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Wall start = Wall{std::chrono::seconds{1'750'000'000}}) : now_{Mono{}, start} {}
  [[nodiscard]] Now now() const override { return now_; }
  void setWall(Wall wall) { now_.wall = wall; }
  void advance(Duration by) {
    now_.mono += by;
    now_.wall += std::chrono::duration_cast<std::chrono::microseconds>(by);
  }

 private:
  Now now_;
};

}  // namespace gs
