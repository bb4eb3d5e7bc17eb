// Turns for large bodies, so that few of them are in work at a time.
//
// Problem: reading a body takes up to ten bytes of memory for each of its own. Five are for an index of its
// brackets and for keys without escapes, the rest is for objects in it that were not known. Many large ones
// side by side would take the memory of the machine. So their bytes together have a bound, and what they take
// has one too.
// Bodies have their turns in the order in which they came, and wait for `patience` at most. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"

namespace gs::serve {

class LargeBodies {
 public:
  struct Limits {
    std::size_t small = std::size_t{1} << 20;  // bytes; up to this none has to wait
    std::size_t most = std::size_t{128}
                       << 20;  // of all large ones in work; one that is larger has its turn alone
    Duration patience = std::chrono::seconds{1};
  };
  explicit LargeBodies(Limits limits) : limits_{limits} {}

  /// While it lives the bytes count. Does not outlive the LargeBodies.
  class [[nodiscard]] Turn {
   public:
    Turn(Turn&& other) noexcept : bodies_{std::exchange(other.bodies_, nullptr)}, bytes_{other.bytes_} {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (bodies_ != nullptr) { bodies_->giveBack(bytes_); }
    }

   private:
    friend class LargeBodies;
    Turn(LargeBodies* bodies, std::size_t bytes) : bodies_{bodies}, bytes_{bytes} {}
    LargeBodies* bodies_;  // nullptr: a small one's
    std::size_t bytes_;
  };

  [[nodiscard]] bool isLarge(std::size_t bytes) const { return bytes > limits_.small; }
  /// nullopt: those before it took too long.
  [[nodiscard]] std::optional<Turn> take(std::size_t bytes) { return take(bytes, limits_.patience); }
  [[nodiscard]] std::optional<Turn> take(std::size_t bytes, Duration patience);
  /// How many wait for their turn.
  [[nodiscard]] std::size_t waiting() const;

 private:
  void giveBack(std::size_t bytes);

  const Limits limits_;
  mutable Mutex mutex_;
  Signal changed_;
  std::set<std::uint64_t> waiting_ GS_GUARDED_BY(mutex_);
  std::uint64_t last_ GS_GUARDED_BY(mutex_) = 0;
  std::size_t in_work_ GS_GUARDED_BY(mutex_) = 0;
  std::size_t most_in_work_ GS_GUARDED_BY(mutex_) = 0;  // since it was 0
};

}  // namespace gs::serve
