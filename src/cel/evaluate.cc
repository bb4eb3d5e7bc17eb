#include "cel/evaluate.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "cel/apply.h"
#include "cel/selector.h"

namespace gs::cel {
namespace {

template <class Table>
std::int64_t domainsIn(const Table& table) {
  std::int64_t count = 0;
  const std::string* last = nullptr;
  for (const auto& [key, value] : table) {
    if (last == nullptr || *last != key.domain) { ++count; }
    last = &key.domain;
  }
  return count;
}

template <class Table>
std::int64_t namesIn(const Table& table, std::string_view domain) {
  return std::count_if(table.begin(), table.end(),
                       [&](const auto& one) { return one.first.domain == domain; });
}

template <class Table>
bool hasDomain(const Table& table, std::string_view domain) {
  const auto first = table.lower_bound(model::QualifiedName{std::string{domain}, ""});
  return first != table.end() && first->first.domain == domain;
}

template <class Table>
bool hasName(const Table& table, std::string_view domain, std::string_view name) {
  return table.contains(model::QualifiedName{std::string{domain}, std::string{name}});
}

Value valueOf(const model::Attribute& attribute) {
  if (const auto* truth = std::get_if<bool>(&attribute)) { return *truth; }
  if (const auto* number = std::get_if<std::int64_t>(&attribute)) { return *number; }
  if (const auto* text = std::get_if<std::string>(&attribute)) { return std::string_view{*text}; }
  if (const auto* version = std::get_if<model::SemVer>(&attribute)) { return version; }
  return Fault{"the attribute's value is of a kind that is not served (a list)"};
}

/// What making it took, and what the operation that gets it has to go through: some 30 ns each (kMaxCost).
std::uint64_t costOfValue(const Value& value) {
  constexpr std::size_t kBytes = 16;
  if (const auto* text = std::get_if<std::string_view>(&value)) { return 1 + text->size() / kBytes; }
  if (const auto* map = std::get_if<Map>(&value)) { return 1 + map->domain.size() / kBytes; }
  if (const auto* version = std::get_if<const model::SemVer*>(&value)) { return 1 + (*version)->pre.size(); }
  return 1;
}

class Evaluation {
 public:
  Evaluation(const Program& program, std::string_view driver, const model::SliceDevice& device)
      : program_{program}, driver_{driver}, device_{device}, variables_(program.variables) {}

  Value of(NodeId id) {
    if (kept_.cost > kMaxCost) { return tooCostly(); }
    Value value = made(program_.nodes[id]);
    kept_.cost += costOfValue(value);
    return kept_.cost > kMaxCost ? tooCostly() : value;
  }
  [[nodiscard]] std::uint64_t cost() const { return kept_.cost; }

 private:
  Value made(const Node& node) {
    switch (node.op) {
      case Op::Literal: return literal(node);
      case Op::Driver: return driver_;
      case Op::AttributeDomains:
      case Op::CapacityDomains: return Map{node.type};
      case Op::Variable: return variable(node);
      case Op::Pick:
      case Op::Has: return picked(node);
      case Op::And: return logic(node, false);
      case Op::Or: return logic(node, true);
      case Op::In: return in(node);
      case Op::Choose: return choice(node);
      case Op::Size: return size(node);
      default: return strict(node);
    }
  }

  static Value literal(const Node& node) {
    if (const auto* truth = std::get_if<bool>(&node.literal)) { return *truth; }
    if (const auto* number = std::get_if<std::int64_t>(&node.literal)) { return *number; }
    return std::string_view{std::get<std::string>(node.literal)};
  }

  /// Evaluated when it is first used: one that is not used may be an error.
  Value variable(const Node& node) {
    auto& known = variables_[static_cast<std::size_t>(std::get<std::int64_t>(node.literal))];
    if (!known) { known = of(node.operands[0]); }
    return *known;
  }

  /// && and || whose result one operand decides, wherever it stands and whatever error stands before it.
  Value logic(const Node& node, bool decides) {
    std::optional<Value> fault;
    for (const NodeId operand : node.operands) {
      Value value = of(operand);
      if (const auto* truth = std::get_if<bool>(&value)) {
        if (*truth == decides) { return decides; }
        continue;
      }
      const auto* const error = std::get_if<Fault>(&value);
      if (error != nullptr && error->stops) { return value; }
      if (!fault) { fault = error != nullptr ? std::move(value) : noSuchOverload(); }
    }
    return fault ? std::move(*fault) : Value{!decides};
  }

  Value choice(const Node& node) {
    Value condition = of(node.operands[0]);
    if (std::holds_alternative<Fault>(condition)) { return condition; }
    const auto* const truth = std::get_if<bool>(&condition);
    if (truth == nullptr) { return noSuchOverload(); }
    return of(node.operands[*truth ? 1 : 2]);
  }

  /// map[key], or whether it is there.
  Value picked(const Node& node) {
    Value base = of(node.operands[0]);
    const auto* const map = std::get_if<Map>(&base);
    if (map == nullptr) { return base; }
    Value key = of(node.operands[1]);
    if (std::holds_alternative<Fault>(key)) { return key; }
    if (map->type == Type::AttributeDomains || map->type == Type::CapacityDomains) {
      return node.op == Op::Has ? Value{true} : namesOf(*map, key);
    }
    const auto* const name = std::get_if<std::string_view>(&key);
    if (node.op == Op::Has) { return contains(*map, key); }
    if (name == nullptr) { return Fault{"no such key: one that is no text"}; }
    return named(*map, *name);
  }

  /// A domain that the device does not have is empty. So is that of a number, as in cel-go.
  static Value namesOf(const Map& domains, const Value& key) {
    const Type type = domains.type == Type::AttributeDomains ? Type::Attributes : Type::Capacities;
    if (const auto* domain = std::get_if<std::string_view>(&key)) { return Map{type, *domain}; }
    if (std::holds_alternative<bool>(key) || std::holds_alternative<std::int64_t>(key)) {
      return Map{type, {}, true};
    }
    return Fault{"a key that is neither text, number nor bool"};
  }

  [[nodiscard]] Value named(const Map& map, std::string_view name) const {
    const model::QualifiedName key{std::string{map.domain}, std::string{name}};
    if (!map.none && map.type == Type::Attributes) {
      const auto found = device_.attributes.find(key);
      if (found != device_.attributes.end()) { return valueOf(found->second); }
    } else if (!map.none) {
      const auto found = device_.capacity.find(key);
      if (found != device_.capacity.end()) { return found->second; }
    }
    return Fault{fmt::format("no such key: {}", name.substr(0, 80))};
  }

  [[nodiscard]] bool contains(const Map& map, const Value& key) const {
    const auto* const name = std::get_if<std::string_view>(&key);
    if (name == nullptr || map.none) { return false; }
    switch (map.type) {
      case Type::AttributeDomains: return hasDomain(device_.attributes, *name);
      case Type::CapacityDomains: return hasDomain(device_.capacity, *name);
      case Type::Attributes: return hasName(device_.attributes, map.domain, *name);
      default: return hasName(device_.capacity, map.domain, *name);
    }
  }

  [[nodiscard]] std::int64_t sizeOf(const Map& map) const {
    if (map.none) { return 0; }
    switch (map.type) {
      case Type::AttributeDomains: return domainsIn(device_.attributes);
      case Type::CapacityDomains: return domainsIn(device_.capacity);
      case Type::Attributes: return namesIn(device_.attributes, map.domain);
      default: return namesIn(device_.capacity, map.domain);
    }
  }

  Value in(const Node& node) {
    const Node& all = program_.nodes[node.operands[1]];
    if (all.op == Op::List) { return inList(node.operands[0], all.operands); }
    Value needle = of(node.operands[0]);
    if (std::holds_alternative<Fault>(needle)) { return needle; }
    Value map = of(node.operands[1]);
    if (std::holds_alternative<Fault>(map)) { return map; }
    return contains(std::get<Map>(map), needle);
  }

  /// An empty list has nothing in it, not even an error. Of a list of literals cel-go makes a hash set; a
  /// version cannot be looked up in one, and that ends the whole selector.
  Value inList(NodeId sought, const std::vector<NodeId>& elements) {
    if (elements.empty()) { return false; }
    Value needle = of(sought);
    if (std::holds_alternative<Fault>(needle)) { return needle; }
    const bool literals = std::all_of(elements.begin(), elements.end(), [&](NodeId element) {
      return program_.nodes[element].op == Op::Literal;
    });
    if (literals && std::holds_alternative<const model::SemVer*>(needle)) {
      return Fault{"a version cannot be sought in a list of literals", true};
    }
    bool found = false;
    for (const NodeId element : elements) {
      Value value = of(element);
      if (std::holds_alternative<Fault>(value)) { return value; }
      const Value same = equal(needle, value);
      found = found || (std::holds_alternative<bool>(same) && std::get<bool>(same));
    }
    return found;
  }

  Value size(const Node& node) {
    const Node& operand = program_.nodes[node.operands[0]];
    if (operand.op == Op::List) {
      for (const NodeId element : operand.operands) {
        Value value = of(element);
        if (std::holds_alternative<Fault>(value)) { return value; }
      }
      return static_cast<std::int64_t>(operand.operands.size());
    }
    Value value = of(node.operands[0]);
    if (const auto* map = std::get_if<Map>(&value)) { return sizeOf(*map); }
    return std::holds_alternative<Fault>(value) ? value : apply(node, value, value, kept_);
  }

  /// An error of an operand is one of the whole.
  Value strict(const Node& node) {
    Value left = of(node.operands[0]);
    if (node.operands.size() == 1) {
      return std::holds_alternative<Fault>(left) ? left : apply(node, left, left, kept_);
    }
    // Whatever the left one says, the right one may end the whole selector.
    Value right = of(node.operands[1]);
    const auto* const error = std::get_if<Fault>(&right);
    if (std::holds_alternative<Fault>(left) && (error == nullptr || !error->stops)) { return left; }
    return error != nullptr ? right : apply(node, left, right, kept_);
  }

  const Program& program_;
  std::string_view driver_;
  const model::SliceDevice& device_;
  std::vector<std::optional<Value>> variables_;
  Kept kept_;
};

}  // namespace

Value evaluate(const Program& program, std::string_view driver, const model::SliceDevice& device,
               std::uint64_t& cost) {
  Evaluation evaluation{program, driver, device};
  Value result = evaluation.of(program.root);
  cost += evaluation.cost();
  if (std::holds_alternative<bool>(result) || std::holds_alternative<Fault>(result)) { return result; }
  return Fault{"it says neither true nor false for this device"};
}

}  // namespace gs::cel
