#include "apiserver/registry/field_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

namespace gs::apiserver {
namespace {

using json::Value;

constexpr std::int64_t kMaxPort = 65535;
constexpr std::int64_t kMaxId = 2147483647;

std::string rangeError(std::int64_t low, std::int64_t high) {
  return fmt::format("must be between {} and {}, inclusive", low, high);
}

bool isKnown(const Value& value, const Texts& known) {
  return std::find(known.begin(), known.end(), value.str()) != known.end();
}

Value shownText(const Value& value) { return value.isNull() ? Value{""} : value; }

bool isDecimal(char c) { return c >= '0' && c <= '9'; }

/// Of a decimal text of at most so many digits, leading zeros allowed, as old Kubernetes releases read it.
std::optional<int> numberOf(std::string_view text) {
  if (text.empty() || !std::all_of(text.begin(), text.end(), isDecimal)) { return std::nullopt; }
  while (text.size() > 1 && text.front() == '0') { text.remove_prefix(1); }
  int out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional{out} : std::nullopt;
}

bool isIpv4(std::string_view text) {
  for (int part = 0; part < 4; ++part) {
    const auto dot = part < 3 ? text.find('.') : text.size();
    if (dot == std::string_view::npos) { return false; }
    const auto number = numberOf(text.substr(0, dot));
    if (!number || *number > 255) { return false; }
    text.remove_prefix(std::min(dot + 1, text.size()));
  }
  return text.empty();
}

/// Groups of up to four hexadecimal digits, the last two perhaps as IPv4. How many: an IPv4 counts as two.
std::optional<int> groupsIn(std::string_view text, bool ipv4_last) {
  int out = 0;
  while (!text.empty()) {
    const auto colon = text.find(':');
    const auto group = text.substr(0, colon);
    const bool last = colon == std::string_view::npos;
    const bool hex = group.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
    if (last && ipv4_last && isIpv4(group)) { return out + 2; }
    if (group.empty() || group.size() > 4 || !hex) { return std::nullopt; }
    ++out;
    if (last) { return out; }
    text.remove_prefix(colon + 1);
    if (text.empty()) { return std::nullopt; }
  }
  return out;
}

bool isIpv6(std::string_view text) {
  constexpr int kGroups = 8;
  const auto gap = text.find("::");
  if (gap == std::string_view::npos) { return groupsIn(text, true) == kGroups; }
  const auto before = groupsIn(text.substr(0, gap), false);
  const auto after = groupsIn(text.substr(gap + 2), true);
  return before && after && *before + *after < kGroups;
}

}  // namespace

void append(FieldErrors& errors, FieldErrors more) {
  errors.insert(errors.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

void refuseFor(FieldErrors& errors, const std::string& field, const json::Value& value,
               const Texts& reasons) {
  for (const std::string& reason : reasons) {
    errors.push_back(fieldInvalid(field, shownText(value), reason));
  }
}

FieldError fieldNotFound(std::string field, const json::Value& value) {
  return {std::move(field), "NotFound", fmt::format("Not found: {}", goQuote(value.str()))};
}

void checkNotNegative(FieldErrors& errors, const std::string& field, const json::Value& value) {
  if (value.intOr(0) < 0) {
    errors.push_back(fieldInvalid(field, value, "must be greater than or equal to 0"));
  }
}

void checkKnown(FieldErrors& errors, const std::string& field, const json::Value& value, const Texts& known) {
  if (!isKnown(value, known)) { errors.push_back(fieldNotSupported(field, shownText(value), known)); }
}

void checkKnownIfThere(FieldErrors& errors, const std::string& field, const json::Value& value,
                       const Texts& known) {
  if (!value.isNull()) { checkKnown(errors, field, value, known); }
}

void checkKnownOrMissing(FieldErrors& errors, const std::string& field, const json::Value& value,
                         const Texts& known) {
  if (value.str().empty()) {
    errors.push_back(fieldRequired(field));
  } else {
    checkKnown(errors, field, value, known);
  }
}

Texts portNumberErrors(std::int64_t port) {
  if (port >= 1 && port <= kMaxPort) { return {}; }
  return {rangeError(1, kMaxPort)};
}

Texts portNameErrors(std::string_view name) {
  Texts out;
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const bool charset = !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return is_letter(c) || isDecimal(c) || c == '-';
  });
  if (name.size() > 15) { out.emplace_back("must be no more than 15 characters"); }
  if (!charset) {
    out.emplace_back("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (std::none_of(name.begin(), name.end(), is_letter)) {
    out.emplace_back("must contain at least one letter (a-z)");
  }
  if (name.find("--") != std::string_view::npos) { out.emplace_back("must not contain consecutive hyphens"); }
  if (!name.empty() && (name.front() == '-' || name.back() == '-')) {
    out.emplace_back("must not begin or end with a hyphen");
  }
  return out;
}

Texts envNameErrors(std::string_view name) {
  const bool fine =
      std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~' && c != '='; });
  if (fine) { return {}; }
  return {"a valid environment variable name must consist only of printable ASCII characters other than '='"};
}

Texts headerNameErrors(std::string_view name) {
  const bool fine = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return isDecimal(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
  if (fine) { return {}; }
  return {
      "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex "
      "used for validation is '[-A-Za-z0-9]+')"};
}

Texts idErrors(std::int64_t id) {
  if (id >= 0 && id <= kMaxId) { return {}; }
  return {rangeError(0, kMaxId)};
}

int familyOf(std::string_view ip_or_cidr) {
  const auto ip = ip_or_cidr.substr(0, ip_or_cidr.find('/'));
  return isIpv4(ip) ? 4 : isIpv6(ip) ? 6 : 0;
}

Texts ipErrors(std::string_view ip) {
  if (isIpv4(ip) || isIpv6(ip)) { return {}; }
  return {"must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"};
}

Texts cidrErrors(std::string_view cidr) {
  const auto slash = cidr.find('/');
  const auto bits = slash == std::string_view::npos ? std::optional<int>{} : numberOf(cidr.substr(slash + 1));
  const int family = familyOf(cidr);
  if (bits && family != 0 && *bits <= (family == 4 ? 32 : 128)) { return {}; }
  return {"must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"};
}

Texts pathSegmentErrors(std::string_view name) {
  if (name == "." || name == "..") { return {fmt::format("may not be '{}'", name)}; }
  Texts out;
  for (const char* part : {"/", "%"}) {
    if (name.find(part) != std::string_view::npos) {
      out.push_back(fmt::format("may not contain '{}'", part));
    }
  }
  return out;
}

Texts backstepErrors(std::string_view path) {
  for (std::size_t begin = 0; begin <= path.size();) {
    const auto end = std::min(path.find('/', begin), path.size());
    if (path.substr(begin, end - begin) == "..") { return {"must not contain '..'"}; }
    begin = end + 1;
  }
  return {};
}

Texts descendingPathErrors(std::string_view path) {
  Texts out;
  if (path.starts_with('/')) { out.emplace_back("must be a relative path"); }
  for (std::string& error : backstepErrors(path)) { out.push_back(std::move(error)); }
  return out;
}

Texts keyPathErrors(std::string_view path) {
  Texts out = descendingPathErrors(path);
  if (path.starts_with("..") && !path.starts_with("../")) { out.emplace_back("must not start with '..'"); }
  return out;
}

std::string_view withoutSpace(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const auto begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) { return {}; }
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

std::string goTexts(const json::Value& texts, std::string_view type) {
  if (!texts.isArray()) { return fmt::format("[]{}(nil)", type); }
  std::string out;
  for (const Value& text : texts.items()) { out += (out.empty() ? "" : ", ") + goQuote(text.str()); }
  return fmt::format("[]{}{{{}}}", type, out);
}

}  // namespace gs::apiserver
