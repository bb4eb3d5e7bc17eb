// A program under construction: each operation is checked when it is added.
//
// Errors (Invalid): operands whose types do not fit, a pattern that is none or one too many, an operation
// that is nested too deep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cel/tree.h"

namespace gs::cel {

class Builder {
 public:
  /// `patterns_left`: as Selector::parse() has it; outlives it.
  explicit Builder(std::size_t& patterns_left) : patterns_left_{patterns_left} {}

  /// `sign` is how errors name it: "==", "size()".
  [[nodiscard]] Result<NodeId> operation(Op op, std::size_t at, std::string_view sign,
                                         std::vector<NodeId> operands);
  [[nodiscard]] NodeId literal(Type type, Literal value);
  /// map.name
  [[nodiscard]] Result<NodeId> dotted(NodeId map, std::size_t at, std::string name);
  /// Whether what was made by dotted() is there.
  [[nodiscard]] Result<NodeId> has(NodeId picked, std::size_t at);
  /// `pattern` is a text literal, or it is not served: so every pattern is compiled once, here.
  [[nodiscard]] Result<NodeId> matches(NodeId text, std::size_t at, NodeId pattern);
  /// A number for one more variable, and a use of one, which stands for `value`.
  [[nodiscard]] std::int64_t newVariable();
  [[nodiscard]] Result<NodeId> variable(std::int64_t number, std::size_t at, NodeId value);

  [[nodiscard]] const Node& node(NodeId id) const { return program_.nodes[id]; }
  [[nodiscard]] Program take(std::string text, NodeId root) &&;

 private:
  Result<NodeId> add(Node node, std::size_t at);

  Program program_;
  std::size_t patterns_ = 0;
  std::size_t& patterns_left_;
};

}  // namespace gs::cel
