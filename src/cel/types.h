// Which operands an operation takes, and what comes of it: the part of CEL's type check that Kubernetes makes
// when a selector is stored. An attribute's value is of any type until a device is looked at.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "cel/tree.h"

namespace gs::cel {

/// A function by its name, and whether it is called behind a dot ("x.size()") or in front ("size(x)").
struct Function {
  std::string_view name;
  bool behind;
  std::size_t operands;  // with the one before the dot
  Op op;
};
/// nullptr: none of that name, called so.
[[nodiscard]] const Function* functionOf(std::string_view name, bool behind);

/// What comes of it. Nothing: no such operation on these. Has, Literal and Variable have no rule here.
[[nodiscard]] std::optional<Type> typeOf(Op op, const std::vector<const Node*>& operands);
/// How errors name it: as Kubernetes' own do ("string", "kubernetes.Quantity").
[[nodiscard]] std::string_view typeName(Type type);

}  // namespace gs::cel
