#include "cel/types.h"

#include <algorithm>
#include <array>

namespace gs::cel {
namespace {

using Types = unsigned;
constexpr Types bit(Type type) { return 1U << static_cast<unsigned>(type); }

constexpr Types kTruth = bit(Type::Bool) | bit(Type::Any);
constexpr Types kInt = bit(Type::Int) | bit(Type::Any);
constexpr Types kText = bit(Type::Text) | bit(Type::Any);
constexpr Types kVersion = bit(Type::Version) | bit(Type::Any);
constexpr Types kOrdered = bit(Type::Bool) | bit(Type::Int) | bit(Type::Text) | bit(Type::Any);
constexpr Types kComparable = bit(Type::Amount) | bit(Type::Version) | bit(Type::Any);
constexpr Types kScalar = kOrdered | kComparable;
constexpr Types kMap =
    bit(Type::AttributeDomains) | bit(Type::Attributes) | bit(Type::CapacityDomains) | bit(Type::Capacities);

bool isOf(Type type, Types types) { return (bit(type) & types) != 0; }
bool agree(Type a, Type b) { return a == b || a == Type::Any || b == Type::Any; }

constexpr Function kFunctions[] = {
    {"startsWith", true, 2, Op::StartsWith},
    {"endsWith", true, 2, Op::EndsWith},
    {"contains", true, 2, Op::Contains},
    {"matches", true, 2, Op::Matches},
    {"lowerAscii", true, 1, Op::LowerAscii},
    {"size", true, 1, Op::Size},
    {"size", false, 1, Op::Size},
    {"semver", false, 1, Op::Version},
    {"isSemver", false, 1, Op::IsVersion},
    {"major", true, 1, Op::Major},
    {"minor", true, 1, Op::Minor},
    {"patch", true, 1, Op::Patch},
    {"quantity", false, 1, Op::Quantity},
    {"isQuantity", false, 1, Op::IsQuantity},
    {"compareTo", true, 2, Op::CompareTo},
    {"isLessThan", true, 2, Op::IsLessThan},
    {"isGreaterThan", true, 2, Op::IsGreaterThan},
};

/// All operands are of `of`, and of one type as far as that is known where they have to agree.
struct Rule {
  Op op;
  Types of;
  bool agree;
  Type result;
};
constexpr Rule kRules[] = {
    {Op::Not, kTruth, false, Type::Bool},
    {Op::And, kTruth, false, Type::Bool},
    {Op::Or, kTruth, false, Type::Bool},
    {Op::Equal, kScalar, true, Type::Bool},
    {Op::NotEqual, kScalar, true, Type::Bool},
    {Op::Less, kOrdered, true, Type::Bool},
    {Op::LessEqual, kOrdered, true, Type::Bool},
    {Op::Greater, kOrdered, true, Type::Bool},
    {Op::GreaterEqual, kOrdered, true, Type::Bool},
    {Op::StartsWith, kText, false, Type::Bool},
    {Op::EndsWith, kText, false, Type::Bool},
    {Op::Contains, kText, false, Type::Bool},
    {Op::Matches, kText, false, Type::Bool},
    {Op::LowerAscii, kText, false, Type::Text},
    {Op::Size, kText | kMap | bit(Type::List), false, Type::Int},
    {Op::Version, kText, false, Type::Version},
    {Op::IsVersion, kText, false, Type::Bool},
    {Op::Major, kVersion, false, Type::Int},
    {Op::Minor, kVersion, false, Type::Int},
    {Op::Patch, kVersion, false, Type::Int},
    {Op::Quantity, kText, false, Type::Amount},
    {Op::IsQuantity, kText, false, Type::Bool},
    {Op::CompareTo, kComparable, true, Type::Int},
    {Op::IsLessThan, kComparable, true, Type::Bool},
    {Op::IsGreaterThan, kComparable, true, Type::Bool},
};

std::optional<Type> pickOf(Type map, Type key) {
  if (!isOf(key, kText)) { return std::nullopt; }
  switch (map) {
    case Type::AttributeDomains: return Type::Attributes;
    case Type::CapacityDomains: return Type::Capacities;
    case Type::Attributes: return Type::Any;
    case Type::Capacities: return Type::Amount;
    default: return std::nullopt;
  }
}

std::optional<Type> inOf(const Node& needle, const Node& all) {
  if (isOf(all.type, kMap)) { return isOf(needle.type, kText) ? std::optional{Type::Bool} : std::nullopt; }
  const bool fits = all.type == Type::List && isOf(needle.type, kScalar) && agree(needle.type, all.element);
  return fits ? std::optional{Type::Bool} : std::nullopt;
}

std::optional<Type> chooseOf(Type condition, Type yes, Type no) {
  if (!isOf(condition, kTruth) || !isOf(yes, kScalar) || !isOf(no, kScalar) || !agree(yes, no)) {
    return std::nullopt;
  }
  return yes == no ? yes : Type::Any;
}

/// Elements have one type, which may be that of attributes' values: [1, device.attributes["d"].x] is refused.
std::optional<Type> listOf(const std::vector<const Node*>& elements) {
  const bool same = std::all_of(elements.begin(), elements.end(), [&](const Node* element) {
    return isOf(element->type, kScalar) && element->type == elements.front()->type;
  });
  return same ? std::optional{Type::List} : std::nullopt;
}

}  // namespace

const Function* functionOf(std::string_view name, bool behind) {
  const auto* const found =
      std::find_if(std::begin(kFunctions), std::end(kFunctions),
                   [&](const Function& one) { return one.name == name && one.behind == behind; });
  return found == std::end(kFunctions) ? nullptr : found;
}

std::optional<Type> typeOf(Op op, const std::vector<const Node*>& operands) {
  switch (op) {
    case Op::Driver: return Type::Text;
    case Op::AttributeDomains: return Type::AttributeDomains;
    case Op::CapacityDomains: return Type::CapacityDomains;
    case Op::Pick: return pickOf(operands[0]->type, operands[1]->type);
    case Op::In: return inOf(*operands[0], *operands[1]);
    case Op::Choose: return chooseOf(operands[0]->type, operands[1]->type, operands[2]->type);
    case Op::List: return listOf(operands);
    case Op::Negate: return isOf(operands[0]->type, kInt) ? std::optional{operands[0]->type} : std::nullopt;
    default: break;
  }
  const auto* const rule =
      std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& one) { return one.op == op; });
  if (rule == std::end(kRules)) { return std::nullopt; }
  for (const Node* operand : operands) {
    if (!isOf(operand->type, rule->of)) { return std::nullopt; }
    if (rule->agree && !agree(operand->type, operands.front()->type)) { return std::nullopt; }
  }
  return rule->result;
}

std::string_view typeName(Type type) {
  constexpr std::array<std::string_view, 11> kNames{"bool",
                                                    "int",
                                                    "string",
                                                    "kubernetes.Semver",
                                                    "kubernetes.Quantity",
                                                    "dyn",
                                                    "list",
                                                    "map of domains",
                                                    "map of attributes",
                                                    "map of domains",
                                                    "map of capacities"};
  return kNames[static_cast<std::size_t>(type)];
}

}  // namespace gs::cel
