#include "base/quoted.h"

#include "base/utf8.h"

namespace gs {
namespace {

void appendAscii(std::string& out, char c) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  if (c == '"' || c == '\\') {
    out += '\\';
    out += c;
  } else if (c == '\n') {
    out += "\\n";
  } else if (c == '\t') {
    out += "\\t";
  } else if (byte < 0x20 || byte == 0x7f) {
    out += "\\u00";
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
  } else {
    out += c;
  }
}

}  // namespace

void appendQuoted(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t length = utf8Length(text);
    if (length == 0) {
      out += "\uFFFD";
    } else if (length == 1) {
      appendAscii(out, text[0]);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

}  // namespace gs
