#include "cel/parser.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "cel/builder.h"
#include "cel/cursor.h"
#include "cel/tokens.h"
#include "cel/types.h"

namespace gs::cel {
namespace {

struct Relation {
  Kind kind;
  Op op;
  std::string_view sign;
};
constexpr Relation kRelations[] = {
    {Kind::Equal, Op::Equal, "=="},    {Kind::NotEqual, Op::NotEqual, "!="},
    {Kind::Less, Op::Less, "<"},       {Kind::LessEqual, Op::LessEqual, "<="},
    {Kind::Greater, Op::Greater, ">"}, {Kind::GreaterEqual, Op::GreaterEqual, ">="},
    {Kind::In, Op::In, "in"},
};

/// Names that CEL keeps for itself; behind a dot they are names like any other.
constexpr std::string_view kReserved[] = {"as",        "break",  "const",  "continue", "else", "for",
                                          "function",  "if",     "import", "let",      "loop", "package",
                                          "namespace", "return", "var",    "void",     "while"};
bool isReserved(std::string_view name) {
  return std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved);
}

class Parser {
 public:
  Parser(std::vector<Token> tokens, std::size_t& patterns_left)
      : at_{std::move(tokens)}, build_{patterns_left} {}

  Result<Program> all(std::string text) {
    const auto root = expression();
    if (!root) { return tl::unexpected<Error>(root.error()); }
    if (at_.peek().kind != Kind::End) { return at_.unexpected("the end of the selector"); }
    const Type type = build_.node(*root).type;
    if (type != Type::Bool && type != Type::Any) {
      return wrong(0, fmt::format("it says neither true nor false, but is a {}", typeName(type)));
    }
    return std::move(build_).take(std::move(text), *root);
  }

 private:
  struct Bound {
    std::string name;
    std::int64_t number;
    NodeId value;
  };

  Result<NodeId> expression() {
    if (nesting_ >= kMaxDepth) {
      return wrong(at_.peek().at, fmt::format("nested deeper than {}", kMaxDepth));
    }
    ++nesting_;
    auto made = choice();
    --nesting_;
    return made;
  }

  Result<NodeId> choice() {
    auto condition = either();
    if (!condition || at_.peek().kind != Kind::Question) { return condition; }
    const std::size_t at = at_.take().at;
    auto yes = either();
    if (!yes) { return yes; }
    if (!at_.accept(Kind::Colon)) { return at_.unexpected("':'"); }
    auto no = expression();
    if (!no) { return no; }
    return build_.operation(Op::Choose, at, "?:", {*condition, *yes, *no});
  }

  Result<NodeId> either() { return chain(Kind::Or, Op::Or, "||", &Parser::both); }
  Result<NodeId> both() { return chain(Kind::And, Op::And, "&&", &Parser::relation); }

  Result<NodeId> chain(Kind kind, Op op, std::string_view sign, Result<NodeId> (Parser::*part)()) {
    std::vector<NodeId> parts;
    const std::size_t at = at_.peek().at;
    do {
      auto one = (this->*part)();
      if (!one) { return one; }
      parts.push_back(*one);
    } while (at_.accept(kind));
    if (parts.size() == 1) { return parts.front(); }
    return build_.operation(op, at, sign, std::move(parts));
  }

  Result<NodeId> relation() {
    auto left = unary();
    while (left) {
      const auto* const found =
          std::find_if(std::begin(kRelations), std::end(kRelations),
                       [&](const Relation& one) { return one.kind == at_.peek().kind; });
      if (found == std::end(kRelations)) { break; }
      const std::size_t at = at_.take().at;
      auto right = unary();
      if (!right) { return right; }
      left = build_.operation(found->op, at, found->sign, {*left, *right});
    }
    return left;
  }

  /// Two of a sign say nothing, not even that the operand has to be of its type: as in cel-go.
  Result<NodeId> unary() {
    const Token& first = at_.peek();
    if (first.kind != Kind::Not && first.kind != Kind::Minus) { return member(); }
    std::size_t signs = 0;
    while (at_.accept(first.kind)) { ++signs; }
    const bool odd = signs % 2 == 1;
    if (first.kind == Kind::Minus && signs == 1 && at_.peek().kind == Kind::Number) {
      const auto number = numberLiteral(true);  // one sign is the number's own, so that -2^63 is a number
      return number ? memberOf(*number) : number;
    }
    auto operand = member();
    if (!operand || !odd) { return operand; }
    const bool negate = first.kind == Kind::Minus;
    return build_.operation(negate ? Op::Negate : Op::Not, first.at, negate ? "-" : "!", {*operand});
  }

  Result<NodeId> numberLiteral(bool negative) {
    const Token& token = at_.take();
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (token.number > kMost && !negative) { return wrong(token.at, "a number over 64 bits"); }
    const auto number = static_cast<std::int64_t>(negative ? -token.number : token.number);
    return build_.literal(Type::Int, number);
  }

  Result<NodeId> member() {
    const auto first = primary();
    return first ? memberOf(*first) : first;
  }

  Result<NodeId> memberOf(NodeId first) {
    Result<NodeId> made = first;
    while (made) {
      const std::size_t at = at_.peek().at;
      if (at_.accept(Kind::Dot)) {
        if (at_.peek().kind != Kind::Name) { return at_.unexpected("a name"); }
        const std::string name = at_.take().text;
        made = at_.peek().kind == Kind::Open ? callBehind(*made, at, name) : build_.dotted(*made, at, name);
      } else if (at_.accept(Kind::OpenList)) {
        auto key = expression();
        if (!key) { return key; }
        if (!at_.accept(Kind::CloseList)) { return at_.unexpected("']'"); }
        made = build_.operation(Op::Pick, at, "[]", {*made, *key});
      } else {
        break;
      }
    }
    return made;
  }

  Result<NodeId> primary() {
    const Token& token = at_.peek();
    switch (token.kind) {
      case Kind::True:
      case Kind::False: at_.take(); return build_.literal(Type::Bool, token.kind == Kind::True);
      case Kind::Text: at_.take(); return build_.literal(Type::Text, token.text);
      case Kind::Number: return numberLiteral(false);
      case Kind::Minus:  // behind '!', which is followed by a value: -1 is one, -x is not
        if (at_.peek(1).kind != Kind::Number) { return at_.unexpected("a value"); }
        at_.take();
        return numberLiteral(true);
      case Kind::OpenList: return list();
      case Kind::Name: return named();
      case Kind::Open: break;
      default: return at_.unexpected("a value");
    }
    at_.take();
    auto inner = expression();
    if (inner && !at_.accept(Kind::Close)) { return at_.unexpected("')'"); }
    return inner;
  }

  Result<NodeId> list() {
    const std::size_t at = at_.take().at;
    std::vector<NodeId> elements;
    while (at_.peek().kind != Kind::CloseList) {
      auto element = expression();
      if (!element) { return element; }
      elements.push_back(*element);
      if (!at_.accept(Kind::Comma)) { break; }
    }
    if (!at_.accept(Kind::CloseList)) { return at_.unexpected("']'"); }
    return build_.operation(Op::List, at, "[]", std::move(elements));
  }

  Result<NodeId> named() {
    const Token& token = at_.take();
    if (isReserved(token.text)) {
      return wrong(token.at, fmt::format("'{}' is a word that CEL keeps for itself", token.text));
    }
    if (at_.peek().kind == Kind::Open) { return callInFront(token.at, token.text); }
    if (token.text == "cel" && at_.peek().kind == Kind::Dot && at_.peek(1).kind == Kind::Name &&
        at_.peek(1).text == "bind" && at_.peek(2).kind == Kind::Open) {
      return bind();
    }
    const auto bound = std::find_if(bound_.rbegin(), bound_.rend(),
                                    [&](const Bound& one) { return one.name == token.text; });
    if (bound != bound_.rend()) { return build_.variable(bound->number, token.at, bound->value); }
    if (token.text != "device") { return notServed(token.at, fmt::format("the name '{}'", token.text)); }
    return fieldOfDevice(token.at);
  }

  Result<NodeId> fieldOfDevice(std::size_t at) {
    const std::string field =
        at_.peek().kind == Kind::Dot && at_.peek(1).kind == Kind::Name && at_.peek(2).kind != Kind::Open
            ? at_.peek(1).text
            : "";
    const Op op = field == "driver"       ? Op::Driver
                  : field == "attributes" ? Op::AttributeDomains
                  : field == "capacity"   ? Op::CapacityDomains
                                          : Op::Literal;
    if (op == Op::Literal) {
      return notServed(at, field.empty() ? "device alone" : fmt::format("device.{}", field));
    }
    at_.take();
    at_.take();
    return build_.operation(op, at, field, {});
  }

  /// What is between the parentheses, which are taken too.
  Result<std::vector<NodeId>> arguments() {
    at_.take();
    std::vector<NodeId> made;
    if (at_.accept(Kind::Close)) { return made; }
    do {
      const auto one = expression();
      if (!one) { return tl::unexpected<Error>(one.error()); }
      made.push_back(*one);
    } while (at_.accept(Kind::Comma));
    if (!at_.accept(Kind::Close)) { return at_.unexpected("',' or ')'"); }
    return made;
  }

  Result<NodeId> callBehind(NodeId operand, std::size_t at, const std::string& name) {
    const Function* const function = functionOf(name, true);
    if (function == nullptr) { return notServed(at, "." + name + "()"); }
    auto given = arguments();
    if (!given) { return tl::unexpected<Error>(given.error()); }
    given->insert(given->begin(), operand);
    return call(*function, at, std::move(*given));
  }

  Result<NodeId> callInFront(std::size_t at, const std::string& name) {
    const Function* const function = functionOf(name, false);
    const bool has = name == "has";
    if (function == nullptr && !has) { return notServed(at, name + "()"); }
    auto given = arguments();
    if (!given) { return tl::unexpected<Error>(given.error()); }
    if (!has) { return call(*function, at, std::move(*given)); }
    return given->size() == 1 ? build_.has(given->front(), at) : Result<NodeId>{wrong(at, "has() takes one")};
  }

  Result<NodeId> call(const Function& function, std::size_t at, std::vector<NodeId> given) {
    if (given.size() != function.operands) {
      return notServed(at, fmt::format("{}() with {} values between its parentheses", function.name,
                                       given.size() - (function.behind ? 1 : 0)));
    }
    if (function.op == Op::Matches) { return build_.matches(given[0], at, given[1]); }
    return build_.operation(function.op, at, fmt::format("{}()", function.name), std::move(given));
  }

  /// cel.bind(name, value, body): the body, in which the name stands for the value. A list is not bound, so
  /// that nobody looks through one twice.
  Result<NodeId> bind() {
    for (int i = 0; i < 3; ++i) { at_.take(); }  // .bind(
    if (at_.peek().kind != Kind::Name) { return at_.unexpected("a name"); }
    const Token& name = at_.take();
    if (name.text == "device" || name.text == "cel" || isReserved(name.text)) {
      return notServed(name.at, fmt::format("cel.bind() of the name '{}'", name.text));
    }
    if (!at_.accept(Kind::Comma)) { return at_.unexpected("','"); }
    auto value = expression();
    if (!value) { return value; }
    if (build_.node(*value).type == Type::List) { return notServed(name.at, "cel.bind() of a list"); }
    if (!at_.accept(Kind::Comma)) { return at_.unexpected("','"); }
    bound_.push_back({name.text, build_.newVariable(), *value});
    auto body = expression();
    bound_.pop_back();
    if (body && !at_.accept(Kind::Close)) { return at_.unexpected("')'"); }
    return body;
  }

  Cursor at_;
  std::size_t nesting_ = 0;
  std::vector<Bound> bound_;
  Builder build_;
};

}  // namespace

Result<Program> parse(std::string text, std::size_t& patterns_left) {
  auto tokens = tokensOf(text);
  if (!tokens) { return tl::unexpected<Error>(std::move(tokens.error())); }
  return Parser{std::move(*tokens), patterns_left}.all(std::move(text));
}

}  // namespace gs::cel
