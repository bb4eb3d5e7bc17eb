#include "extender/protocol/json_check.h"

#include <cctype>
#include <vector>

namespace gs::extender {
namespace {

enum class Expect { Value, ValueOrEnd, Key, KeyOrEnd, Colon, CommaOrEnd, Nothing };

std::string_view nameOf(Expect expect, bool in_object) {
  switch (expect) {
    case Expect::Value: return "a value";
    case Expect::ValueOrEnd: return "a value or ']'";
    case Expect::Key: return "a key";
    case Expect::KeyOrEnd: return "a key or '}'";
    case Expect::Colon: return "':'";
    case Expect::CommaOrEnd: return in_object ? "',' or '}'" : "',' or ']'";
    case Expect::Nothing: return "nothing more";
  }
  return "";
}

class Walk {
 public:
  explicit Walk(std::string_view text) : text_{text} {}

  JsonCheck run() {
    for (;;) {
      while (at_ < text_.size() && std::string_view{" \t\r\n"}.find(text_[at_]) != std::string_view::npos) {
        ++at_;
      }
      if (at_ == text_.size()) {
        return {expect_ == Expect::Nothing ? JsonCheck::Kind::Whole : JsonCheck::Kind::CutOff, at_};
      }
      if (!step(text_[at_])) {
        const bool cut = at_ == text_.size();
        return {cut ? JsonCheck::Kind::CutOff : JsonCheck::Kind::Wrong, at_, cut ? "" : expected_};
      }
    }
  }

 private:
  /// False: at_ is what is wrong, or the end of the text.
  bool step(char c) {
    expected_ = nameOf(expect_, !open_.empty() && open_.back());
    switch (expect_) {
      case Expect::ValueOrEnd:
        if (c == ']') { return close(); }
        return value(c);
      case Expect::Value: return value(c);
      case Expect::KeyOrEnd:
        if (c == '}') { return close(); }
        return key(c);
      case Expect::Key: return key(c);
      case Expect::Colon: return take(c == ':', Expect::Value);
      case Expect::CommaOrEnd:
        if (c == (open_.back() ? '}' : ']')) { return close(); }
        return take(c == ',', open_.back() ? Expect::Key : Expect::Value);
      case Expect::Nothing: break;
    }
    return false;
  }
  bool take(bool right, Expect next) {
    if (!right) { return false; }
    ++at_;
    expect_ = next;
    return true;
  }
  bool close() {
    open_.pop_back();
    ++at_;
    ended();
    return true;
  }
  /// A value has.
  void ended() { expect_ = open_.empty() ? Expect::Nothing : Expect::CommaOrEnd; }
  bool key(char c) {
    if (c != '"' || !string()) { return false; }
    expect_ = Expect::Colon;
    return true;
  }
  bool value(char c) {
    if (c == '{' || c == '[') {
      open_.push_back(c == '{');
      return take(true, c == '{' ? Expect::KeyOrEnd : Expect::ValueOrEnd);
    }
    const bool is = c == '"'   ? string()
                    : c == 't' ? word("true")
                    : c == 'f' ? word("false")
                    : c == 'n' ? word("null")
                               : number();
    if (is) { ended(); }
    return is;
  }
  bool word(std::string_view whole) {
    expected_ = whole;
    for (const char c : whole) {
      if (at_ == text_.size() || text_[at_] != c) { return false; }
      ++at_;
    }
    return true;
  }
  bool string() {
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return true;
      }
      if (static_cast<unsigned char>(c) < ' ') {
        expected_ = "no control character in a string";
        return false;
      }
      if (c == '\\' && !escape()) { return false; }
    }
    return false;
  }
  /// at_ stays on its last byte.
  bool escape() {
    expected_ = "an escape such as \\n or \\u0041";
    if (++at_ == text_.size()) { return false; }
    if (text_[at_] != 'u') {
      return std::string_view{"\"\\/bfnrt"}.find(text_[at_]) != std::string_view::npos;
    }
    for (int i = 0; i < 4; ++i) {
      if (++at_ == text_.size() || std::isxdigit(static_cast<unsigned char>(text_[at_])) == 0) {
        return false;
      }
    }
    return true;
  }
  bool digits() {
    if (at_ == text_.size() || !isDigit()) { return false; }
    while (at_ < text_.size() && isDigit()) { ++at_; }
    return true;
  }
  bool number() {
    if (text_[at_] == '-') { ++at_; }
    if (at_ < text_.size() && text_[at_] == '0') {
      ++at_;
    } else if (!digits()) {
      return false;
    }
    if (is(".")) {
      ++at_;
      if (!digits()) { return false; }
    }
    if (!is("eE")) { return true; }
    ++at_;
    if (is("+-")) { ++at_; }
    return digits();
  }
  [[nodiscard]] bool isDigit() const { return text_[at_] >= '0' && text_[at_] <= '9'; }
  [[nodiscard]] bool is(std::string_view any) const {
    return at_ < text_.size() && any.find(text_[at_]) != std::string_view::npos;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<bool> open_;  // an object, else an array
  Expect expect_ = Expect::Value;
  std::string_view expected_;
};

}  // namespace

JsonCheck checkJson(std::string_view text) { return Walk{text}.run(); }

}  // namespace gs::extender
