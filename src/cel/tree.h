// A selector that was read: its operations as a table, in which operands come before what uses them.
//
// Invariant: every operation has a type that CEL's rules allow (types.h), and is at most kMaxDepth deep, so
// that recursion over it is bounded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pattern/pattern.h"

namespace gs::cel {

constexpr std::size_t kMaxDepth = 64;

/// What is known before a device is looked at.
enum class Type : std::uint8_t {
  Bool,
  Int,
  Text,
  Version,
  Amount,            // a quantity
  Any,               // an attribute's value: the device decides ("dyn" of the specification)
  List,              // behind `in` and in size() only
  AttributeDomains,  // device.attributes
  Attributes,        // those of one domain
  CapacityDomains,   // device.capacity
  Capacities,        // those of one domain
};

enum class Op : std::uint8_t {
  Literal,
  Driver,
  AttributeDomains,
  CapacityDomains,
  Variable,  // of cel.bind(): operand 0 is what it stands for; the literal is its number
  Pick,      // operand 0 is a map, operand 1 the key
  Has,       // as Pick, and asks whether it is there
  List,
  Not,
  Negate,
  And,
  Or,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  In,
  Choose,
  StartsWith,
  EndsWith,
  Contains,
  Matches,  // operand 1 is a literal, the pattern
  LowerAscii,
  Size,
  Version,
  IsVersion,
  Major,
  Minor,
  Patch,
  Quantity,
  IsQuantity,
  CompareTo,
  IsLessThan,
  IsGreaterThan,
};

using NodeId = std::uint32_t;
using Literal = std::variant<std::monostate, bool, std::int64_t, std::string, Pattern>;

struct Node {
  Op op = Op::Literal;
  Type type = Type::Any;
  Type element = Type::Any;  // of a List
  bool dotted = false;       // Pick by .name: what has() takes
  std::size_t depth = 1;
  std::vector<NodeId> operands{};
  Literal literal{};
};

struct Program {
  std::string text;
  std::vector<Node> nodes;
  NodeId root = 0;
  std::size_t variables = 0;
};

}  // namespace gs::cel
