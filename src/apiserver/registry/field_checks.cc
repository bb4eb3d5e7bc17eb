#include "apiserver/registry/field_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "apiserver/meta/label_selector.h"
#include "apiserver/registry/ip_address.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr std::int64_t kMaxPort = 65535;
constexpr std::int64_t kMaxId = 2147483647;

constexpr const char* kPercentRule =
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex "
    "used for validation is '[0-9]+%')";

bool isPercent(std::string_view text) {
  return text.size() > 1 && text.back() == '%' && text.find_first_not_of("0123456789") == text.size() - 1;
}

std::string rangeError(std::int64_t low, std::int64_t high) {
  return fmt::format("must be between {} and {}, inclusive", low, high);
}

bool isKnown(const Value& value, const Texts& known) {
  return std::find(known.begin(), known.end(), value.str()) != known.end();
}

Value shownText(const Value& value) { return value.isNull() ? Value{""} : value; }

bool isDecimal(char c) { return c >= '0' && c <= '9'; }

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

bool hasTooMany(FieldErrors& errors, const std::string& field, const json::Value& list, std::size_t most) {
  const std::size_t count = list.items().size();
  if (count <= most) { return false; }
  errors.push_back({field, "TooMany", fmt::format("Too many: {}: must have at most {} items", count, most)});
  return true;
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

std::string goIntOrString(const json::Value& value) {
  return fmt::format("intstr.IntOrString{{Type:{}, IntVal:{}, StrVal:{}}}", value.isString() ? 1 : 0,
                     value.intOr(0), goQuote(value.str()));
}

void checkShare(FieldErrors& errors, const std::string& field, const json::Value& value) {
  if (value.isString() && !isPercent(value.str())) {
    errors.push_back(fieldInvalid(field, goIntOrString(value), kPercentRule));
  } else {
    checkNotNegative(errors, field, value);
  }
}

void checkNotAboveAll(FieldErrors& errors, const std::string& field, const json::Value& value) {
  if (!value.isString() || amountOf(value, 100, Round::Down) <= 100) { return; }
  errors.push_back(fieldInvalid(field, goIntOrString(value), "must not be greater than 100%"));
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
  const auto ip = parseIp(ip_or_cidr.substr(0, ip_or_cidr.find('/')));
  return !ip ? 0 : ip->isV4() ? 4 : 6;
}

Texts ipErrors(std::string_view ip) {
  if (parseIp(ip)) { return {}; }
  return {"must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"};
}

Texts strictIpErrors(std::string_view ip) {
  Texts out = ipErrors(ip);
  const auto parsed = parseIp(ip);
  if (!parsed) { return out; }
  const bool short_form = ip.find(':') == std::string_view::npos;
  const std::string canonical = canonicalIp(*parsed);
  if (short_form && ip != canonical) { return {"must not have leading 0s"}; }
  if (!short_form && parsed->isV4()) { return {"must not be an IPv4-mapped IPv6 address"}; }
  if (ip != canonical) { out.push_back(fmt::format("must be in canonical form ({})", goQuote(canonical))); }
  return out;
}

Texts cidrErrors(std::string_view cidr) {
  if (parseCidr(cidr)) { return {}; }
  return {"must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"};
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
