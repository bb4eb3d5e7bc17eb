#include "kapi/quantity.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string>

namespace gs::kapi {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::size_t kMaxDigits = 19;  // significant ones; so a mantissa fits in 64 bits
constexpr int kMaxPower = 38;           // 10^38 fits in 128 bits

/// How a quantity was written; its canonical text keeps the form.
enum class Form : std::uint8_t { Decimal, Exponent, Binary };

/// mantissa * 10^ten * 2^two
struct Number {
  bool negative = false;
  std::uint64_t mantissa = 0;
  int ten = 0;
  int two = 0;
  Form form = Form::Decimal;
};

bool isDigitChar(char c) { return c >= '0' && c <= '9'; }

/// "12.50" -> 125 * 10^-1. Takes it off the front of `s`.
std::optional<Number> takeDecimal(std::string_view& s) {
  Number n;
  if (!s.empty() && (s[0] == '+' || s[0] == '-')) {
    n.negative = s[0] == '-';
    s.remove_prefix(1);
  }
  std::string digits;
  bool any = false;
  bool point = false;
  while (!s.empty() && (isDigitChar(s[0]) || (s[0] == '.' && !point))) {
    if (s[0] == '.') {
      point = true;
    } else {
      any = true;
      if (!digits.empty() || s[0] != '0') { digits += s[0]; }
      if (point && n.ten > -10'000) { --n.ten; }
      if (digits.size() > 1000) { return std::nullopt; }
    }
    s.remove_prefix(1);
  }
  while (!digits.empty() && digits.back() == '0') {
    digits.pop_back();
    ++n.ten;
  }
  if (!any || digits.size() > kMaxDigits) { return std::nullopt; }
  std::from_chars(digits.data(), digits.data() + digits.size(), n.mantissa);
  return n;
}

/// "e-3", "E3"
std::optional<int> exponentOf(std::string_view s) {
  if (s.size() < 2 || (s[0] != 'e' && s[0] != 'E')) { return std::nullopt; }
  s.remove_prefix(1);
  if (s[0] == '+') {
    s.remove_prefix(1);
    if (!s.empty() && s[0] == '-') { return std::nullopt; }
  }
  int exponent = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), exponent);
  if (error != std::errc{} || end != s.data() + s.size() || exponent < -1000 || exponent > 1000) {
    return std::nullopt;
  }
  return exponent;
}

bool applySuffix(Number& n, std::string_view suffix) {
  struct Suffix {
    std::string_view text;
    int ten;
    int two;
  };
  static constexpr Suffix kSuffixes[] = {{"", 0, 0},    {"n", -9, 0},  {"u", -6, 0},  {"m", -3, 0},
                                         {"k", 3, 0},   {"M", 6, 0},   {"G", 9, 0},   {"T", 12, 0},
                                         {"P", 15, 0},  {"E", 18, 0},  {"Ki", 0, 10}, {"Mi", 0, 20},
                                         {"Gi", 0, 30}, {"Ti", 0, 40}, {"Pi", 0, 50}, {"Ei", 0, 60}};
  for (const Suffix& known : kSuffixes) {
    if (known.text == suffix) {
      n.ten += known.ten;
      n.two = known.two;
      n.form = known.two > 0 ? Form::Binary : Form::Decimal;
      return true;
    }
  }
  const auto exponent = exponentOf(suffix);
  n.ten += exponent.value_or(0);
  n.form = Form::Exponent;
  return exponent.has_value();
}

Wide powerOfTen(int power) {
  Wide result = 1;
  for (int i = 0; i < power; ++i) { result *= 10; }
  return result;
}

/// Without its sign, rounded up; nullopt when it is over 128 bits.
std::optional<Wide> sizeOf(const Number& n) {
  if (n.mantissa == 0) { return 0; }
  Wide size = Wide{n.mantissa} << static_cast<unsigned>(n.two);  // below 2^124
  if (n.ten >= 0) {
    if (n.ten > kMaxPower || __builtin_mul_overflow(size, powerOfTen(n.ten), &size)) { return std::nullopt; }
    return size;
  }
  if (-n.ten > kMaxPower) { return 1; }  // 10^38 is over 2^124
  const Wide divisor = powerOfTen(-n.ten);
  return size / divisor + (size % divisor == 0 ? 0 : 1);
}

/// Rounded away from zero; nullopt when it does not fit.
std::optional<std::int64_t> wholeOf(const Number& n) {
  const auto size = sizeOf(n);
  const Wide limit = Wide{1} << 63U;
  if (!size || *size > limit || (*size == limit && !n.negative)) { return std::nullopt; }
  if (*size == limit) { return std::numeric_limits<std::int64_t>::min(); }
  const auto whole = static_cast<std::int64_t>(*size);
  return n.negative ? -whole : whole;
}

/// `size` in thousands of thousands (or of 1024) with the largest suffix that leaves a whole number.
template <std::size_t N>
std::string withSuffix(Wide size, Wide step, const std::array<const char*, N>& suffixes) {
  std::size_t i = 0;
  while (size % step == 0 && i + 1 < N) {
    size /= step;
    ++i;
  }
  return std::to_string(static_cast<std::uint64_t>(size)) + suffixes[i];
}

std::optional<Number> parse(std::string_view text) {
  auto n = takeDecimal(text);
  return n && applySuffix(*n, text) ? n : std::nullopt;
}

tl::unexpected<Error> notAQuantity(std::string_view text) {
  return fail(Code::Invalid,
              fmt::format("'{}' is not a quantity; write a number with at most 19 digits and one of "
                          "the suffixes n u m k M G T P E Ki Mi Gi Ti Pi Ei",
                          text.substr(0, 80)));
}

tl::unexpected<Error> tooLarge(std::string_view text) {
  return fail(Code::Invalid, fmt::format("quantity '{}' is over 64 bits", text.substr(0, 80)));
}

Result<std::int64_t> quantity(std::string_view text, int scale) {
  auto n = parse(text);
  if (!n) { return notAQuantity(text); }
  n->ten += scale;
  const auto whole = wholeOf(*n);
  if (!whole) { return tooLarge(text); }
  return *whole;
}

Result<std::int64_t> ofValue(const json::View& v, int scale) {
  if (v.isString()) { return quantity(v.str(), scale); }
  if (v.isNumber()) { return quantity(json::print(v.value()), scale); }
  return fail(Code::Invalid, fmt::format("{} is not a quantity; write a text such as \"500m\"",
                                         json::print(v.value()).substr(0, 80)));
}

}  // namespace

Result<std::int64_t> quantityMilli(std::string_view text) { return quantity(text, 3); }
Result<std::int64_t> quantityUnits(std::string_view text) { return quantity(text, 0); }
Result<std::int64_t> milliOf(const json::View& v) { return ofValue(v, 3); }
Result<std::int64_t> unitsOf(const json::View& v) { return ofValue(v, 0); }

Result<model::Quantity> exactQuantity(std::string_view text) {
  constexpr Wide kNano = 1'000'000'000;
  constexpr Wide kLimit = (Wide{1} << 63U) * kNano;
  auto n = parse(text);
  if (!n) { return notAQuantity(text); }
  n->ten += 9;
  const auto nano = sizeOf(*n);
  if (!nano || *nano > kLimit || (*nano == kLimit && !n->negative)) { return tooLarge(text); }
  const auto whole = static_cast<std::uint64_t>(*nano / kNano);
  const auto rest = static_cast<std::int32_t>(*nano % kNano);
  if (!n->negative) { return model::Quantity{static_cast<std::int64_t>(whole), rest}; }
  // -1.25 is -2 and 0.75.
  const std::uint64_t down = whole + (rest > 0 ? 1 : 0);
  return model::Quantity{static_cast<std::int64_t>(-down), rest > 0 ? 1'000'000'000 - rest : 0};
}

std::optional<std::string> canonicalQuantity(std::string_view text) {
  constexpr Wide kNano = 1'000'000'000;
  constexpr Wide kMaxNano = Wide{std::numeric_limits<std::int64_t>::max()} * kNano;
  constexpr std::array<const char*, 10> kDecimal{"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  constexpr std::array<const char*, 10> kExponent{"e-9", "e-6", "e-3", "",    "e3",
                                                  "e6",  "e9",  "e12", "e15", "e18"};
  constexpr std::array<const char*, 7> kBinary{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  auto n = parse(text);
  if (!n) { return std::nullopt; }
  n->ten += 9;
  const Wide nano = std::min(sizeOf(*n).value_or(kMaxNano), kMaxNano);
  if (nano == 0) { return "0"; }
  const std::string sign = n->negative ? "-" : "";
  // Binary form is kept from 1024 on, and only for whole numbers.
  if (n->form == Form::Binary && nano >= 1024 * kNano && nano % kNano == 0) {
    return sign + withSuffix(nano / kNano, 1024, kBinary);
  }
  return sign + withSuffix(nano, 1000, n->form == Form::Exponent ? kExponent : kDecimal);
}

}  // namespace gs::kapi
