#include "apiserver/wire/go_json.h"

#include <fmt/format.h>

#include <vector>

namespace gs::apiserver {
namespace {

constexpr std::size_t kMaxDepth = 1000;

bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isHex(char c) { return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

/// As Go's quoteChar.
std::string quoteChar(char c) {
  if (c == '\'') { return R"('\'')"; }
  if (c == '"') { return R"('"')"; }
  const auto byte = static_cast<unsigned char>(c);
  switch (c) {
    case '\n': return R"('\n')";
    case '\r': return R"('\r')";
    case '\t': return R"('\t')";
    case '\\': return R"('\\')";
    default: break;
  }
  if (byte < 0x20 || byte == 0x7f) { return fmt::format("'\\x{:02x}'", byte); }
  if (byte < 0x80) { return fmt::format("'{}'", c); }
  // Go makes a rune of the byte: U+0080 .. U+00FF, of which the first 32 and U+00AD are not printable.
  if (byte < 0xa0 || byte == 0xad) { return fmt::format("'\\u{:04x}'", byte); }
  return std::string{"'"} + static_cast<char>(0xc0U | (byte >> 6U)) +
         static_cast<char>(0x80U | (byte & 0x3fU)) + "'";
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_{text} {}

  std::string run() {
    if (!value(0)) { return error_; }
    spaces();
    if (at_ < text_.size()) { (void)bad("after top-level value"); }
    return error_;
  }

 private:
  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  void spaces() {
    while (!done() && isSpace(text_[at_])) { ++at_; }
  }
  bool bad(std::string_view where) {
    error_ = done() ? "unexpected end of JSON input"
                    : fmt::format("invalid character {} {}", quoteChar(text_[at_]), where);
    return false;
  }

  bool value(std::size_t depth) {
    spaces();
    if (done()) { return bad(""); }
    if (depth > kMaxDepth) {
      error_ = "exceeded max depth";
      return false;
    }
    const char c = text_[at_];
    if (c == '{') { return object(depth); }
    if (c == '[') { return array(depth); }
    if (c == '"') { return string(); }
    if (c == 't') { return literal("true"); }
    if (c == 'f') { return literal("false"); }
    if (c == 'n') { return literal("null"); }
    if (c == '-' || isDigit(c)) { return number(); }
    return bad("looking for beginning of value");
  }

  bool literal(std::string_view word) {
    for (std::size_t i = 1; i < word.size(); ++i) {
      ++at_;
      if (done() || text_[at_] != word[i]) {
        return bad(fmt::format("in literal {} (expecting {})", word, quoteChar(word[i])));
      }
    }
    ++at_;
    return true;
  }

  bool digits(std::string_view where) {
    if (done() || !isDigit(text_[at_])) { return bad(where); }
    while (!done() && isDigit(text_[at_])) { ++at_; }
    return true;
  }

  bool number() {
    if (text_[at_] == '-') { ++at_; }
    if (done() || !isDigit(text_[at_])) { return bad("in numeric literal"); }
    if (text_[at_] == '0') {
      ++at_;
    } else if (!digits("in numeric literal")) {
      return false;
    }
    if (!done() && text_[at_] == '.') {
      ++at_;
      if (!digits("after decimal point in numeric literal")) { return false; }
    }
    if (!done() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      if (!done() && (text_[at_] == '+' || text_[at_] == '-')) { ++at_; }
      return digits("in exponent of numeric literal");
    }
    return true;
  }

  bool string() {
    for (++at_; !done(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return true;
      }
      if (static_cast<unsigned char>(c) < 0x20) { return bad("in string literal"); }
      if (c == '\\' && !escape()) { return false; }
    }
    return bad("");
  }

  bool escape() {
    ++at_;
    if (done()) { return bad(""); }
    if (text_[at_] != 'u') {
      return std::string_view{"bfnrt\\/\""}.find(text_[at_]) != std::string_view::npos ||
             bad("in string escape code");
    }
    for (int i = 0; i < 4; ++i) {
      ++at_;
      if (done() || !isHex(text_[at_])) { return bad("in \\u hexadecimal character escape"); }
    }
    return true;
  }

  bool array(std::size_t depth) {
    ++at_;
    spaces();
    if (!done() && text_[at_] == ']') {
      ++at_;
      return true;
    }
    for (;;) {
      if (!value(depth + 1)) { return false; }
      spaces();
      if (!done() && text_[at_] == ']') {
        ++at_;
        return true;
      }
      if (done() || text_[at_] != ',') { return bad("after array element"); }
      ++at_;
    }
  }

  bool object(std::size_t depth) {
    ++at_;
    spaces();
    if (!done() && text_[at_] == '}') {
      ++at_;
      return true;
    }
    for (;;) {
      spaces();
      if (done() || text_[at_] != '"') { return bad("looking for beginning of object key string"); }
      if (!string()) { return false; }
      spaces();
      if (done() || text_[at_] != ':') { return bad("after object key"); }
      ++at_;
      if (!value(depth + 1)) { return false; }
      spaces();
      if (!done() && text_[at_] == '}') {
        ++at_;
        return true;
      }
      if (done() || text_[at_] != ',') { return bad("after object key:value pair"); }
      ++at_;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string error_;
};

}  // namespace

std::string goJsonError(std::string_view text) { return Scanner{text}.run(); }

}  // namespace gs::apiserver
