#include "apiserver/meta/label_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "apiserver/meta/meta_check.h"

namespace gs::apiserver {
namespace {

using Op = Selector::Op;
using Requirement = Selector::Requirement;
using Text = tl::expected<std::string, std::string>;
using Refusal = tl::unexpected<std::string>;

struct Token {
  enum class Kind : std::uint8_t { Word, Symbol, End };
  Kind kind = Kind::End;
  std::string text;

  [[nodiscard]] bool is(std::string_view symbol) const { return kind == Kind::Symbol && text == symbol; }
  [[nodiscard]] bool isWord() const { return kind == Kind::Word; }
  [[nodiscard]] bool isEnd() const { return kind == Kind::End; }
};

std::vector<Token> tokensOf(std::string_view text) {
  static constexpr std::string_view kSymbols = "=!(),><";
  static constexpr std::string_view kSpaces = " \t\r\n";
  std::vector<Token> out;
  for (std::size_t at = 0; at < text.size();) {
    const auto is_one_of = [&](std::string_view set, std::size_t i) {
      return set.find(text[i]) != std::string_view::npos;
    };
    if (is_one_of(kSpaces, at)) {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    if (is_one_of(kSymbols, at)) {
      const bool pair = end < text.size() && text[end] == '=' && (text[at] == '=' || text[at] == '!');
      end += pair ? 1 : 0;
      out.push_back({Token::Kind::Symbol, std::string{text.substr(at, end - at)}});
    } else {
      while (end < text.size() && !is_one_of(kSymbols, end) && !is_one_of(kSpaces, end)) { ++end; }
      out.push_back({Token::Kind::Word, std::string{text.substr(at, end - at)}});
    }
    at = end;
  }
  out.emplace_back();
  return out;
}

Refusal found(const Token& token, std::string_view expected) {
  return Refusal{fmt::format("found '{}', expected: {}", token.text, expected)};
}

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_{tokensOf(text)} {}

  tl::expected<std::vector<Requirement>, std::string> run() {
    std::vector<Requirement> out;
    while (!look().isEnd()) {
      if (!look().isWord() && !look().is("!")) { return found(look(), "!, identifier, or 'end of string'"); }
      auto one = requirement();
      if (!one) { return Refusal{"unable to parse requirement: " + one.error()}; }
      out.push_back(*std::move(one));
      const Token next = take();
      if (next.isEnd()) { break; }
      if (!next.is(",")) { return found(next, "',' or 'end of string'"); }
      if (!look().isWord() && !look().is("!")) { return found(look(), "identifier after ','"); }
    }
    return out;
  }

 private:
  [[nodiscard]] const Token& look() const { return tokens_[at_]; }
  Token take() {
    Token token = tokens_[at_];
    if (at_ + 1 < tokens_.size()) { ++at_; }
    return token;
  }

  tl::expected<Requirement, std::string> requirement() {
    Requirement out;
    const bool absent = look().is("!");
    if (absent) { take(); }
    const Token key = take();
    if (!key.isWord()) { return found(key, "identifier"); }
    if (const auto why = qualifiedNameErrors(key.text); !why.empty()) {
      return Refusal{fmt::format("<nil>: Invalid value: {}: {}", goQuote(key.text), why.front())};
    }
    out.path = {"metadata", "labels", key.text};
    if (absent || look().isEnd() || look().is(",")) {
      out.op = absent ? Op::Absent : Op::Exists;
      return out;
    }
    const Token op = take();
    if (auto done = operands(op, out); !done) { return Refusal{done.error()}; }
    return checkValues(std::move(out));
  }

  tl::expected<void, std::string> operands(const Token& op, Requirement& out) {
    if (op.isWord() && (op.text == "in" || op.text == "notin")) {
      out.op = op.text == "in" ? Op::In : Op::NotIn;
      return list(out.values);
    }
    if (op.is("=") || op.is("==")) {
      out.op = Op::In;
    } else if (op.is("!=")) {
      out.op = Op::NotIn;
    } else if (op.is(">") || op.is("<")) {
      out.op = op.is(">") ? Op::Greater : Op::Less;
    } else {
      return found(op, "in, notin, =, ==, !=, gt, lt");
    }
    if (look().isEnd() || look().is(",")) {
      out.values.emplace_back();
      return {};
    }
    const Token value = take();
    if (!value.isWord()) { return found(value, "identifier"); }
    out.values.push_back(value.text);
    return {};
  }

  /// "(a,b)"; "(,a)" and "(a,)" hold an empty value.
  tl::expected<void, std::string> list(std::vector<std::string>& out) {
    if (const Token open = take(); !open.is("(")) {
      return Refusal{fmt::format("found '{}' expected: '('", open.text)};
    }
    if (look().is(")")) {
      take();
      return {};
    }
    bool value_due = true;
    for (;;) {
      const Token token = take();
      if (token.isWord() && value_due) {
        out.push_back(token.text);
        value_due = false;
      } else if (token.is(",") || token.is(")")) {
        if (value_due) { out.emplace_back(); }
        value_due = true;
        if (token.is(")")) { return {}; }
      } else {
        return found(token, value_due ? "',', or identifier" : "',' or ')'");
      }
    }
  }

  static tl::expected<Requirement, std::string> checkValues(Requirement r) {
    for (std::size_t i = 0; i < r.values.size(); ++i) {
      const std::string& value = r.values[i];
      if (r.op == Op::Greater || r.op == Op::Less) {
        std::int64_t n = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), n);
        if (error != std::errc{} || end != value.data() + value.size()) {
          return Refusal{fmt::format(
              "values[{}]: Invalid value: {}: for 'Gt', 'Lt' operators, the value must be an integer", i,
              goQuote(value))};
        }
      } else if (const auto why = labelValueErrors(value); !why.empty()) {
        return Refusal{fmt::format("values[{}][{}]: Invalid value: {}: {}", i, r.path.back(), goQuote(value),
                                   why.front())};
      }
    }
    return r;
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace

tl::expected<std::vector<Selector::Requirement>, std::string> parseLabelSelector(std::string_view text) {
  return Parser{text}.run();
}

}  // namespace gs::apiserver
