// What held when: values, each with the time from which it held. Times come in order. A value type;
// one thread.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace gs::sim {

template <class T>
class Past {
 public:
  /// From `now` on. False: that held already.
  bool set(T value, Mono now) {
    if (!values_.empty() && values_.back().second == value) { return false; }
    values_.emplace_back(now, std::move(value));
    return true;
  }
  /// The last value; one must have been set.
  [[nodiscard]] const T& now() const { return values_.back().second; }
  /// Something that held at some time from `from` to `to` is so. Before the first value nothing held.
  template <class Predicate>
  [[nodiscard]] bool any(Mono from, Mono to, Predicate is) const {
    for (auto it = values_.begin(); it != values_.end() && it->first <= to; ++it) {
      const auto next = std::next(it);
      const bool over = next != values_.end() && next->first < from;
      if (!over && is(it->second)) { return true; }
    }
    return false;
  }

  /// It was so all the time from `from` to `to`.
  template <class Predicate>
  [[nodiscard]] bool all(Mono from, Mono to, Predicate is) const {
    return !values_.empty() && values_.front().first <= from &&
           !any(from, to, [&](const T& v) { return !is(v); });
  }

 private:
  std::vector<std::pair<Mono, T>> values_;
};

}  // namespace gs::sim
