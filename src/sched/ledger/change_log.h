// What changed, in order, each under a position that only grows. Readers keep a position. Trimmed from its
// beginning when it is long: who reads slower than that starts anew.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace gs::sched {

template <class T>
class ChangeLog {
 public:
  /// When `most` are kept the older half of them goes.
  void append(T what, std::size_t most) {
    if (items_.size() >= most) {
      const std::size_t dropped = items_.size() / 2;
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(dropped));
      begin_ += dropped;
    }
    items_.push_back(std::move(what));
  }
  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  [[nodiscard]] std::uint64_t end() const { return begin_ + items_.size(); }
  [[nodiscard]] const T& at(std::uint64_t position) const {
    return items_[static_cast<std::size_t>(position - begin_)];
  }

 private:
  std::uint64_t begin_ = 0;
  std::vector<T> items_;
};

}  // namespace gs::sched
