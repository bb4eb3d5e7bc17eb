#include "cel/tokens.h"

#include <fmt/core.h>

#include <optional>
#include <utility>

#include "cel/text_literal.h"

namespace gs::cel {
namespace {

constexpr std::string_view kServed =
    "device.driver, device.attributes and device.capacity; true, false, whole numbers, texts, and lists "
    "behind "
    "'in'; the operators == != < <= > >= in && || ! - and ?:; has(), size(), startsWith(), endsWith(), "
    "contains(), matches(), lowerAscii(), semver(), isSemver(), major(), minor(), patch(), quantity(), "
    "isQuantity(), compareTo(), isLessThan(), isGreaterThan() and cel.bind()";

bool isDecimal(char c) { return c >= '0' && c <= '9'; }
bool isHex(char c) { return isDecimal(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool isNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

struct Symbol {
  std::string_view text;
  Kind kind;
};
// The longer ones first.
constexpr Symbol kSymbols[] = {
    {"==", Kind::Equal},   {"!=", Kind::NotEqual}, {"<=", Kind::LessEqual}, {">=", Kind::GreaterEqual},
    {"&&", Kind::And},     {"||", Kind::Or},       {"<", Kind::Less},       {">", Kind::Greater},
    {".", Kind::Dot},      {",", Kind::Comma},     {"(", Kind::Open},       {")", Kind::Close},
    {"[", Kind::OpenList}, {"]", Kind::CloseList}, {"?", Kind::Question},   {":", Kind::Colon},
    {"!", Kind::Not},      {"-", Kind::Minus},
};

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_{text} {}

  Result<std::vector<Token>> all() {
    std::vector<Token> tokens;
    while (true) {
      skipSpace();
      auto token = next();
      if (!token) { return tl::unexpected<Error>(std::move(token.error())); }
      tokens.push_back(std::move(*token));
      if (tokens.back().kind == Kind::End) { return tokens; }
    }
  }

 private:
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void skipSpace() {
    while (at_ < text_.size()) {
      if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (isSpace(text_[at_])) {
        ++at_;
      } else {
        return;
      }
    }
  }

  Result<Token> next() {
    if (at_ >= text_.size()) { return Token{Kind::End, at_}; }
    const char c = peek();
    if (isDecimal(c) || (c == '.' && isDecimal(peek(1)))) { return number(); }
    if (isNameStart(c)) { return name(); }
    if (c == '"' || c == '\'') { return text(at_, false); }
    for (const Symbol& symbol : kSymbols) {
      if (text_.substr(at_, symbol.text.size()) == symbol.text) {
        const std::size_t at = std::exchange(at_, at_ + symbol.text.size());
        return Token{symbol.kind, at};
      }
    }
    if (std::string_view{"+*/%{}`"}.find(c) != std::string_view::npos) {
      return notServed(at_, fmt::format("'{}'", c));
    }
    return wrong(at_, "a character that begins nothing in CEL");
  }

  Result<Token> text(std::size_t quote, bool raw) {
    auto literal = textLiteral(text_, quote, raw);
    if (!literal) { return tl::unexpected<Error>(std::move(literal.error())); }
    const std::size_t at = std::exchange(at_, literal->end);
    return Token{Kind::Text, at, std::move(literal->text)};
  }

  Result<Token> name() {
    std::size_t end = at_;
    while (end < text_.size() && (isNameStart(text_[end]) || isDecimal(text_[end]))) { ++end; }
    const std::string_view word = text_.substr(at_, end - at_);
    if (end < text_.size() && (text_[end] == '"' || text_[end] == '\'')) {
      if (word == "r" || word == "R") { return text(end, true); }
      return notServed(at_, fmt::format("the literal {}\"\"", word));
    }
    if (word == "null") { return notServed(at_, "null"); }
    const Kind kind = word == "true"    ? Kind::True
                      : word == "false" ? Kind::False
                      : word == "in"    ? Kind::In
                                        : Kind::Name;
    return Token{kind, std::exchange(at_, end), std::string{word}};
  }

  Result<Token> number() {
    const std::size_t at = at_;
    const bool hex = peek() == '0' && peek(1) == 'x' && isHex(peek(2));
    if (hex) { at_ += 2; }
    const unsigned base = hex ? 16 : 10;
    constexpr std::uint64_t kMost = std::uint64_t{1} << 63U;
    std::uint64_t sum = 0;
    for (; hex ? isHex(peek()) : isDecimal(peek()); ++at_) {
      const char c = peek();
      const auto digit = static_cast<std::uint64_t>(isDecimal(c) ? c - '0' : (c | 0x20) - 'a' + 10);
      if (sum > (kMost - digit) / base) { return wrong(at, "a number over 64 bits"); }
      sum = sum * base + digit;
    }
    if (peek() == 'u' || peek() == 'U') { return notServed(at, "an unsigned number"); }
    if (!hex && isFraction()) { return notServed(at, "a number with a fraction or an exponent"); }
    return Token{Kind::Number, at, {}, sum};
  }

  /// Whether what follows digits makes them a number with a fraction or an exponent.
  [[nodiscard]] bool isFraction() const {
    if (peek() == '.') { return isDecimal(peek(1)); }
    if (peek() != 'e' && peek() != 'E') { return false; }
    return isDecimal(peek(1)) || ((peek(1) == '+' || peek(1) == '-') && isDecimal(peek(2)));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Result<std::vector<Token>> tokensOf(std::string_view text) { return Scanner{text}.all(); }

tl::unexpected<Error> wrong(std::size_t at, std::string_view what) {
  return fail(Code::Invalid, fmt::format("at {}: {}", at + 1, what));
}

tl::unexpected<Error> notServed(std::size_t at, std::string_view what) {
  return wrong(at, fmt::format("{} is not served in selectors; served are {}", what, kServed));
}

}  // namespace gs::cel
