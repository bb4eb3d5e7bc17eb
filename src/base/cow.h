// A value whose copies are one until somebody writes: copying costs a count,
// the first write after it a real copy.
//
// A default-made one holds nothing. Each Cow has one owner and one thread at a time, as any value; the copies
// that it shares with may be used on other threads. A reference from write() is good until the next copy of
// this Cow is made: who keeps it longer writes into the copies too.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace gs {

template <class T>
class Cow {
 public:
  Cow() = default;
  Cow(const Cow& other) : held_{other.held_} {
    if (held_ != nullptr) { held_->owners.fetch_add(1, std::memory_order_relaxed); }
  }
  Cow(Cow&& other) noexcept : held_{std::exchange(other.held_, nullptr)} {}
  Cow& operator=(Cow other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~Cow() { drop(); }

  /// nullptr: nothing was ever written.
  [[nodiscard]] const T* read() const { return held_ == nullptr ? nullptr : &held_->value; }
  /// This one's own value from here on.
  T& write() {
    if (held_ == nullptr) {
      held_ = new Held;
    } else if (held_->owners.load(std::memory_order_acquire) > 1) {
      auto* mine = new Held{1, held_->value};
      drop();
      held_ = mine;
    }
    return held_->value;
  }
  [[nodiscard]] bool sameAs(const Cow& other) const { return held_ == other.held_; }

 private:
  struct Held {
    std::atomic<std::uint32_t> owners{1};
    T value{};
  };
  void drop() noexcept {
    if (held_ != nullptr && held_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) { delete held_; }
  }

  Held* held_ = nullptr;
};

}  // namespace gs
