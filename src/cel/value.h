// What an operation of a selector comes to, for one device.
//
// Texts, versions and domains are looked at, not copied: they are the program's, the device's, or kept by
// whoever evaluates (Kept).
#pragma once

#include <cstdint>
#include <forward_list>
#include <string>
#include <string_view>
#include <variant>

#include "cel/tree.h"
#include "model/dra.h"

namespace gs::cel {

/// An error of CEL, which && and || may still get over. One that `stops` ends the whole selector.
struct Fault {
  std::string text;
  bool stops = false;
};
/// A map of the device: all domains, or the names of one.
struct Map {
  Type type = Type::Attributes;
  std::string_view domain{};
  bool none = false;  // of a key that is no text: there is nothing in it
};
using Value =
    std::variant<Fault, bool, std::int64_t, std::string_view, const model::SemVer*, model::Quantity, Map>;

/// What was made while evaluating, until the result is known; and what that cost (kMaxCost).
struct Kept {
  std::forward_list<std::string> texts;
  std::forward_list<model::SemVer> versions;
  std::uint64_t cost = 0;
};

[[nodiscard]] inline Value noSuchOverload() { return Fault{"no such overload"}; }
[[nodiscard]] inline Value tooCostly() {
  return Fault{"it costs too much: it does much with long texts", true};
}

}  // namespace gs::cel
