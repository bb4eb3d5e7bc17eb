#include "cel/apply.h"

#include <fmt/core.h>

#include <compare>
#include <limits>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/utf8.h"
#include "cel/selector.h"
#include "kapi/quantity.h"

namespace gs::cel {
namespace {

using Version = const model::SemVer*;

/// By value, of one type that has an order.
std::optional<std::strong_ordering> orderOf(const Value& left, const Value& right) {
  if (left.index() != right.index()) { return std::nullopt; }
  if (const auto* a = std::get_if<bool>(&left)) { return *a <=> std::get<bool>(right); }
  if (const auto* a = std::get_if<std::int64_t>(&left)) { return *a <=> std::get<std::int64_t>(right); }
  if (const auto* a = std::get_if<std::string_view>(&left)) {
    return a->compare(std::get<std::string_view>(right)) <=> 0;
  }
  return std::nullopt;
}

Value ordered(Op op, const Value& left, const Value& right) {
  const auto order = orderOf(left, right);
  if (!order) { return noSuchOverload(); }
  switch (op) {
    case Op::Less: return *order < 0;
    case Op::LessEqual: return *order <= 0;
    case Op::Greater: return *order > 0;
    default: return *order >= 0;
  }
}

/// compareTo(), isLessThan() and isGreaterThan(), of two versions or two quantities.
Value compared(Op op, const Value& left, const Value& right) {
  std::strong_ordering order = std::strong_ordering::equal;
  const auto* const version = std::get_if<Version>(&left);
  const auto* const amount = std::get_if<model::Quantity>(&left);
  if (left.index() != right.index() || (version == nullptr && amount == nullptr)) { return noSuchOverload(); }
  order = version != nullptr ? model::precedence(**version, *std::get<Version>(right))
                             : *amount <=> std::get<model::Quantity>(right);
  if (op == Op::IsLessThan) { return order < 0; }
  if (op == Op::IsGreaterThan) { return order > 0; }
  return std::int64_t{order < 0 ? -1 : order > 0 ? 1 : 0};
}

/// What these take beside going through each text once. Texts may be long, since names stand for them.
std::uint64_t costOfTexts(const Node& node, std::string_view text, std::string_view part) {
  constexpr std::uint64_t kInstructions =
      4;  // of a pattern's program; where its automaton is known, far less
  if (node.op == Op::Matches) { return std::get<Pattern>(node.literal).cost(text.size()) / kInstructions; }
  return node.op == Op::Contains ? text.size() / 4 + text.size() * part.size() / 512 : 0;
}

Value ofTexts(const Node& node, const Value& left, const Value& right, Kept& kept) {
  const auto* const text = std::get_if<std::string_view>(&left);
  const auto* const part = std::get_if<std::string_view>(&right);
  if (text == nullptr || part == nullptr) { return noSuchOverload(); }
  const std::uint64_t more = costOfTexts(node, *text, *part);
  if (kept.cost + more > kMaxCost) { return tooCostly(); }
  kept.cost += more;
  switch (node.op) {
    case Op::StartsWith: return text->starts_with(*part);
    case Op::EndsWith: return text->ends_with(*part);
    case Op::Contains: return text->find(*part) != std::string_view::npos;
    default: return std::get<Pattern>(node.literal).matches(*text);
  }
}

Value versionOf(std::string_view text, Kept& kept) {
  auto version = model::parseSemVer(text);
  if (!version) { return Fault{fmt::format("'{}' is not a version", text.substr(0, 80))}; }
  return &kept.versions.emplace_front(std::move(*version));
}

Value ofText(Op op, const Value& operand, Kept& kept) {
  const auto* const text = std::get_if<std::string_view>(&operand);
  if (text == nullptr) { return noSuchOverload(); }
  kept.cost += text->size() / 4;  // read byte by byte
  switch (op) {
    case Op::LowerAscii: return std::string_view{kept.texts.emplace_front(inLowerCase(*text))};
    case Op::Size: return static_cast<std::int64_t>(codePoints(*text));
    case Op::Version: return versionOf(*text, kept);
    case Op::IsVersion: return model::parseSemVer(*text).has_value();
    case Op::IsQuantity: return kapi::canonicalQuantity(*text).has_value();
    default: break;
  }
  const auto quantity = kapi::exactQuantity(*text);
  if (!quantity) { return Fault{quantity.error().message}; }
  return *quantity;
}

Value partOf(Op op, const Value& operand) {
  const auto* const version = std::get_if<Version>(&operand);
  if (version == nullptr) { return noSuchOverload(); }
  return static_cast<std::int64_t>(op == Op::Major   ? (*version)->major
                                   : op == Op::Minor ? (*version)->minor
                                                     : (*version)->patch);
}

Value negated(const Value& operand) {
  const auto* const number = std::get_if<std::int64_t>(&operand);
  if (number == nullptr) { return noSuchOverload(); }
  if (*number == std::numeric_limits<std::int64_t>::min()) { return Fault{"integer overflow"}; }
  return -*number;
}

Value isNot(const Value& operand) {
  const auto* const truth = std::get_if<bool>(&operand);
  return truth == nullptr ? noSuchOverload() : Value{!*truth};
}

}  // namespace

Value equal(const Value& left, const Value& right) {
  const auto* const version = std::get_if<Version>(&left);
  const auto* const amount = std::get_if<model::Quantity>(&left);
  if (version == nullptr && amount == nullptr) {
    const auto order = orderOf(left, right);
    return order.has_value() && *order == 0;
  }
  if (left.index() != right.index()) { return noSuchOverload(); }
  if (version != nullptr) { return model::precedence(**version, *std::get<Version>(right)) == 0; }
  return *amount == std::get<model::Quantity>(right);
}

Value apply(const Node& node, const Value& left, const Value& right, Kept& kept) {
  switch (node.op) {
    case Op::Not: return isNot(left);
    case Op::Negate: return negated(left);
    case Op::Equal: return equal(left, right);
    case Op::NotEqual: {
      // What cannot be compared is not equal: cel-go asks whether == says true.
      const Value same = equal(left, right);
      return !(std::holds_alternative<bool>(same) && std::get<bool>(same));
    }
    case Op::Less:
    case Op::LessEqual:
    case Op::Greater:
    case Op::GreaterEqual: return ordered(node.op, left, right);
    case Op::StartsWith:
    case Op::EndsWith:
    case Op::Contains:
    case Op::Matches: return ofTexts(node, left, right, kept);
    case Op::Major:
    case Op::Minor:
    case Op::Patch: return partOf(node.op, left);
    case Op::CompareTo:
    case Op::IsLessThan:
    case Op::IsGreaterThan: return compared(node.op, left, right);
    default: return ofText(node.op, left, kept);
  }
}

}  // namespace gs::cel
