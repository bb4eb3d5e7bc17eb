// One hash of several things: each is mixed into the hash of those before it, so their order counts. For
// tables in memory; not against whoever looks for collisions (base/hash.h is).
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace gs {

[[nodiscard]] constexpr std::size_t mix(std::size_t h, std::size_t v) { return (h ^ v) * 0x100000001b3ULL; }
[[nodiscard]] inline std::size_t mix(std::size_t h, const std::string& v) {
  return mix(h, std::hash<std::string>{}(v));
}

}  // namespace gs
