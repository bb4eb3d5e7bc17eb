#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "json/value.h"

namespace gs::json {
namespace {

constexpr double kTwoTo53 = 9007199254740992.0;
constexpr char kHex[] = "0123456789abcdef";

/// What Go writes for this ASCII character inside a string; "" when it stays as it is.
std::string_view escapeOf(char c) {
  switch (c) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\b': return "\\b";
    case '\f': return "\\f";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    case '<': return "\\u003c";
    case '>': return "\\u003e";
    case '&': return "\\u0026";
    default: return {};
  }
}

void printAscii(std::string& out, char c) {
  const std::string_view escaped = escapeOf(c);
  if (!escaped.empty()) {
    out += escaped;
  } else if (static_cast<unsigned char>(c) < 0x20) {
    out += "\\u00";
    out += kHex[static_cast<unsigned char>(c) >> 4U];
    out += kHex[static_cast<unsigned char>(c) & 15U];
  } else {
    out += c;
  }
}

bool isPlain(char c) {
  return c >= 0x20 && static_cast<unsigned char>(c) < 0x80 && c != '"' && c != '\\' && c != '<' && c != '>' &&
         c != '&';
}

}  // namespace

void appendString(std::string& out, std::string_view s) {
  out += '"';
  while (!s.empty()) {
    std::size_t plain = 0;
    while (plain < s.size() && isPlain(s[plain])) { ++plain; }
    out += s.substr(0, plain);
    s.remove_prefix(plain);
    if (s.empty()) { break; }
    const std::size_t length = utf8Length(s);
    if (length == 0) {
      out += "\\ufffd";
    } else if (length == 1) {
      printAscii(out, s[0]);
    } else if (s.substr(0, length) == "\u2028") {
      out += "\\u2028";
    } else if (s.substr(0, length) == "\u2029") {
      out += "\\u2029";
    } else {
      out += s.substr(0, length);
    }
    s.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

namespace {

std::string digitsOf(double d, std::chars_format form) {
  char buffer[64];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, d, form).ptr};
}

/// The fewest digits that read back as `d`: plain from 1e-6 to below 1e21, else with an exponent,
/// as Go does it.
void printDouble(std::string& out, double d) {
  const double size = std::abs(d);
  if (!std::isfinite(d)) {
    out += "null";
  } else if (size != 0 && (size < 1e-6 || size >= 1e21)) {
    const std::string text = digitsOf(d, std::chars_format::scientific);
    const std::size_t power = text.find('e') + 2;  // behind the sign: "1e-09" -> "1e-9"
    out += text.substr(0, power);
    out += text.substr(text[power] == '0' ? power + 1 : power);
  } else if (size >= kTwoTo53) {  // whole; the standard would print digits that are not needed
    const std::string text = digitsOf(d, std::chars_format::scientific);
    const std::size_t e = text.find('e');
    std::string digits = text.substr(0, e);
    std::size_t zeros = static_cast<std::size_t>(std::stoi(text.substr(e + 1)));
    if (const std::size_t point = digits.find('.'); point != std::string::npos) {
      zeros -= std::min(zeros, digits.size() - point - 1);
      digits.erase(point, 1);
    }
    out += digits;
    out.append(zeros, '0');
    out += ".0";
  } else {
    const std::string text = digitsOf(d, std::chars_format::fixed);
    out += text;
    if (text.find('.') == std::string::npos) { out += ".0"; }
  }
}

/// `step` 0: compact.
class Printer {
 public:
  Printer(std::string& out, int step) : out_{out}, step_{step} {}

  void print(const Value& v) {
    if (v.isObject()) {
      printObject(v.members());
    } else if (v.isArray()) {
      printArray(v.items());
    } else if (v.isString()) {
      appendString(out_, v.str());
    } else if (v.isInt()) {
      out_ += std::to_string(v.intOr(0));
    } else if (v.isNumber()) {
      printDouble(out_, v.number().value_or(0));
    } else if (v.isBool()) {
      out_ += v.boolOr(false) ? "true" : "false";
    } else {
      out_ += "null";
    }
  }

 private:
  void newLine() {
    if (step_ == 0) { return; }
    out_ += '\n';
    out_.append(static_cast<std::size_t>(level_) * static_cast<std::size_t>(step_), ' ');
  }
  void open(char c) {
    out_ += c;
    ++level_;
  }
  void close(char c, bool empty) {
    --level_;
    if (!empty) { newLine(); }
    out_ += c;
  }
  void printArray(const Array& array) {
    open('[');
    bool first = true;
    for (const Value& item : array) {
      if (!std::exchange(first, false)) { out_ += ','; }
      newLine();
      print(item);
    }
    close(']', array.empty());
  }
  void printObject(const Object& object) {
    open('{');
    bool first = true;
    for (const auto& [key, value] : object) {
      if (!std::exchange(first, false)) { out_ += ','; }
      newLine();
      appendString(out_, key);
      out_ += step_ == 0 ? ":" : ": ";
      print(value);
    }
    close('}', object.empty());
  }

  std::string& out_;
  int step_;
  int level_ = 0;
};

}  // namespace

std::string print(const Value& value) {
  std::string out;
  Printer{out, 0}.print(value);
  return out;
}

std::string printPretty(const Value& value, int indent) {
  std::string out;
  Printer{out, indent}.print(value);
  return out;
}

}  // namespace gs::json
