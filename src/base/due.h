// The first of several times at which something is due, each of which may be never (nullopt).
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>

namespace gs {

template <class Time>
[[nodiscard]] std::optional<Time> sooner(std::optional<Time> a, std::optional<Time> b) {
  return !a ? b : !b ? a : std::optional{std::min(*a, *b)};
}
template <class Time>
[[nodiscard]] std::optional<Time> sooner(std::optional<Time> a, Time b) {
  return sooner(a, std::optional{b});
}
template <class Time>
[[nodiscard]] std::optional<Time> soonest(std::initializer_list<std::optional<Time>> all) {
  std::optional<Time> out;
  for (const auto& one : all) { out = sooner(out, one); }
  return out;
}

}  // namespace gs
