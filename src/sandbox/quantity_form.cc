#include <array>
#include <limits>

#include "sandbox/forms.h"

namespace gs::sandbox {
namespace {

__extension__ using Wide = __int128;

constexpr Wide kNano = 1'000'000'000;
constexpr Wide kMaxNano = Wide{std::numeric_limits<std::int64_t>::max()} * kNano;

enum class Form { Decimal, Exponent, Binary };
struct Parsed {
  Wide nano = 0;  // rounded up, as Quantity keeps no more than nano; at most 2^63-1 units
  bool negative = false;
  Form form = Form::Decimal;
};

struct Suffix {
  std::string_view text;
  Form form;
  int power;  // of 10, or of 2 for Binary
};
constexpr std::array<Suffix, 16> kSuffixes{{{"n", Form::Decimal, -9},
                                            {"u", Form::Decimal, -6},
                                            {"m", Form::Decimal, -3},
                                            {"", Form::Decimal, 0},
                                            {"k", Form::Decimal, 3},
                                            {"M", Form::Decimal, 6},
                                            {"G", Form::Decimal, 9},
                                            {"T", Form::Decimal, 12},
                                            {"P", Form::Decimal, 15},
                                            {"E", Form::Decimal, 18},
                                            {"Ki", Form::Binary, 10},
                                            {"Mi", Form::Binary, 20},
                                            {"Gi", Form::Binary, 30},
                                            {"Ti", Form::Binary, 40},
                                            {"Pi", Form::Binary, 50},
                                            {"Ei", Form::Binary, 60}}};

/// "e3", "E-2" -> the exponent.
std::optional<int> exponentOf(std::string_view text) {
  if (text.size() < 2 || (text.front() != 'e' && text.front() != 'E')) { return std::nullopt; }
  text.remove_prefix(1);
  const bool minus = text.front() == '-';
  if (minus || text.front() == '+') { text.remove_prefix(1); }
  if (text.empty() || text.size() > 3) { return std::nullopt; }
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') { return std::nullopt; }
    value = value * 10 + (c - '0');
  }
  return minus ? -value : value;
}

/// value * 10^power, kept at kMaxNano; divisions round up.
Wide timesTen(Wide value, int power) {
  for (; power > 0 && value != 0; --power) {
    if (value > kMaxNano / 10) { return kMaxNano; }
    value *= 10;
  }
  for (; power < 0 && value != 0; ++power) { value = (value + 9) / 10; }
  return value;
}

/// The suffix's meaning, or nothing when it has none.
std::optional<Suffix> suffixOf(std::string_view text) {
  for (const Suffix& s : kSuffixes) {
    if (s.text == text) { return s; }
  }
  if (const auto exponent = exponentOf(text)) { return Suffix{text, Form::Exponent, *exponent}; }
  return std::nullopt;
}

std::optional<Parsed> parse(std::string_view text) {
  Parsed out;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    out.negative = text.front() == '-';
    text.remove_prefix(1);
  }
  Wide digits = 0;
  int fraction = 0;
  bool any = false;
  bool point = false;
  for (; !text.empty(); text.remove_prefix(1)) {
    const char c = text.front();
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9') { break; }
    any = true;
    if (digits > kMaxNano) { continue; }  // saturates below
    digits = digits * 10 + (c - '0');
    fraction += point ? 1 : 0;
  }
  const auto suffix = suffixOf(text);
  if (!any || !suffix) { return std::nullopt; }
  out.form = suffix->form;
  if (suffix->form == Form::Binary) {
    const Wide unit = Wide{1} << suffix->power;
    const Wide nano = timesTen(digits, 9 - fraction);
    out.nano = nano > kMaxNano / unit ? kMaxNano : nano * unit;
  } else {
    out.nano = timesTen(digits, suffix->power + 9 - fraction);
  }
  return out;
}

std::string number(Wide value, bool negative) {
  std::string out;
  do {
    out.insert(out.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
    value /= 10;
  } while (value != 0);
  return negative && out != "0" ? "-" + out : out;
}

std::string decimalText(const Parsed& q) {
  Wide value = q.nano;
  int power = -9;
  if (value == 0) { return "0"; }
  while (value % 1000 == 0 && power < 18) {
    value /= 1000;
    power += 3;
  }
  if (q.form == Form::Exponent) {
    return number(value, q.negative) + (power == 0 ? "" : "e" + std::to_string(power));
  }
  constexpr std::array<const char*, 10> kNames{"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  return number(value, q.negative) + kNames[static_cast<std::size_t>(power / 3 + 3)];
}

}  // namespace

std::optional<std::string> canonicalQuantity(std::string_view text) {
  const auto q = parse(text);
  if (!q) { return std::nullopt; }
  // Binary form is kept from 1024 on, and only for whole numbers.
  if (q->form != Form::Binary || q->nano < 1024 * kNano || q->nano % kNano != 0) {
    Parsed plain = *q;
    if (plain.form == Form::Binary) { plain.form = Form::Decimal; }
    return decimalText(plain);
  }
  Wide value = q->nano / kNano;
  constexpr std::array<const char*, 7> kNames{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  std::size_t power = 0;
  for (; value % 1024 == 0 && power < 6; ++power) { value /= 1024; }
  return number(value, q->negative) + kNames[power];
}

std::optional<std::int64_t> quantityInMilli(std::string_view text) {
  const auto q = parse(text);
  if (!q) { return std::nullopt; }
  const Wide milli = (q->nano + 999'999) / 1'000'000;
  const auto capped = static_cast<std::int64_t>(milli > std::numeric_limits<std::int64_t>::max()
                                                    ? Wide{std::numeric_limits<std::int64_t>::max()}
                                                    : milli);
  return q->negative ? -capped : capped;
}

}  // namespace gs::sandbox
