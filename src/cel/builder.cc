#include "cel/builder.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "cel/tokens.h"
#include "cel/types.h"

namespace gs::cel {
namespace {

/// One alone may take 64 KiB (pattern.h).
constexpr std::size_t kMostMatches = 16;

std::string typeNames(const std::vector<const Node*>& nodes) {
  std::string out;
  for (const Node* node : nodes) {
    if (!out.empty()) { out += ", "; }
    out += typeName(node->type);
  }
  return out;
}

}  // namespace

Result<NodeId> Builder::add(Node node, std::size_t at) {
  for (const NodeId operand : node.operands) {
    node.depth = std::max(node.depth, program_.nodes[operand].depth + 1);
  }
  if (node.depth > kMaxDepth) { return wrong(at, fmt::format("nested deeper than {}", kMaxDepth)); }
  program_.nodes.push_back(std::move(node));
  return static_cast<NodeId>(program_.nodes.size() - 1);
}

Result<NodeId> Builder::operation(Op op, std::size_t at, std::string_view sign,
                                  std::vector<NodeId> operands) {
  std::vector<const Node*> nodes;
  nodes.reserve(operands.size());
  for (const NodeId operand : operands) { nodes.push_back(&program_.nodes[operand]); }
  const auto type = typeOf(op, nodes);
  if (!type) { return wrong(at, fmt::format("'{}' does not take ({})", sign, typeNames(nodes))); }
  Node node;
  node.op = op;
  node.type = *type;
  if (op == Op::List && !nodes.empty()) { node.element = nodes.front()->type; }
  node.operands = std::move(operands);
  return add(std::move(node), at);
}

NodeId Builder::literal(Type type, Literal value) {
  Node node;
  node.type = type;
  node.literal = std::move(value);
  program_.nodes.push_back(std::move(node));
  return static_cast<NodeId>(program_.nodes.size() - 1);
}

Result<NodeId> Builder::dotted(NodeId map, std::size_t at, std::string name) {
  const std::string sign = "." + name;
  const NodeId key = literal(Type::Text, std::move(name));
  auto picked = operation(Op::Pick, at, sign, {map, key});
  if (picked) { program_.nodes[*picked].dotted = true; }
  return picked;
}

Result<NodeId> Builder::has(NodeId picked, std::size_t at) {
  if (!program_.nodes[picked].dotted) { return notServed(at, "has() of anything but map.name"); }
  Node node = program_.nodes[picked];
  node.op = Op::Has;
  node.type = Type::Bool;
  node.dotted = false;
  return add(std::move(node), at);
}

Result<NodeId> Builder::matches(NodeId text, std::size_t at, NodeId pattern) {
  const auto* const written = std::get_if<std::string>(&program_.nodes[pattern].literal);
  if (written == nullptr) { return notServed(at, "matches() of anything but a text that is written there"); }
  if (++patterns_ > kMostMatches) { return wrong(at, fmt::format("more than {} matches()", kMostMatches)); }
  auto compiled = Pattern::compile(*written, patterns_left_);
  if (!compiled) {
    patterns_left_ = 0;
    return wrong(
        at,
        "matches() of a text that is no pattern of RE2, or of a large one (repeated {1000} times, say, "
        "or in many selectors): write a shorter one, or 'in' and a list of texts");
  }
  patterns_left_ -= compiled->size();
  auto made = operation(Op::Matches, at, "matches()", {text, pattern});
  if (made) { program_.nodes[*made].literal = std::move(*compiled); }
  return made;
}

std::int64_t Builder::newVariable() { return static_cast<std::int64_t>(program_.variables++); }

Result<NodeId> Builder::variable(std::int64_t number, std::size_t at, NodeId value) {
  Node node;
  node.op = Op::Variable;
  node.type = program_.nodes[value].type;
  node.operands = {value};
  node.literal = number;
  return add(std::move(node), at);
}

Program Builder::take(std::string text, NodeId root) && {
  program_.text = std::move(text);
  program_.root = root;
  return std::move(program_);
}

}  // namespace gs::cel
