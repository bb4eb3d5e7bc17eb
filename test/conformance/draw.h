// Objects drawn from a seed, as somebody might send them: the shape of the built-in types, filled with values
// that collide and with those at the edges. Most are wrong in a place or two.
//
// The same seed and number give the same object on every machine.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "json/value.h"

namespace gs::conformance {

struct Drawn {
  std::string kind;  // "Pod"
  std::string path;  // of the collection: "/api/v1/namespaces/$ns/pods"
  json::Value object;
  json::Value next;  // null, or what an update makes of it
};

[[nodiscard]] Drawn draw(std::uint64_t seed, std::uint64_t number);

/// What is left of `object` when as much as possible is taken away while `fails` goes on to say yes.
[[nodiscard]] json::Value shrunk(json::Value object, const std::function<bool(const json::Value&)>& fails);

}  // namespace gs::conformance
