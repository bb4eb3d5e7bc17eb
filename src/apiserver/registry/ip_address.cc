#include "apiserver/registry/ip_address.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace gs::apiserver {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::array<std::uint8_t, 12> kV4Prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

constexpr int kGroups = 8;  // of IPv6

/// Of a decimal text of at most so many digits, leading zeros allowed, as old Kubernetes releases read it.
std::optional<int> numberOf(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) { return std::nullopt; }
  while (text.size() > 1 && text.front() == '0') { text.remove_prefix(1); }
  int out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional{out} : std::nullopt;
}

std::optional<Bytes> v4Bytes(std::string_view text) {
  Bytes out;
  for (int part = 0; part < 4; ++part) {
    const auto dot = part < 3 ? text.find('.') : text.size();
    if (dot == std::string_view::npos) { return std::nullopt; }
    const auto number = numberOf(text.substr(0, dot));
    if (!number || *number > 255) { return std::nullopt; }
    out.push_back(static_cast<std::uint8_t>(*number));
    text.remove_prefix(std::min(dot + 1, text.size()));
  }
  return text.empty() ? std::optional{std::move(out)} : std::nullopt;
}

/// Of up to four hexadecimal digits.
std::optional<unsigned> groupOf(std::string_view text) {
  unsigned out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, 16);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && !text.empty() && text.size() <= 4 ? std::optional{out} : std::nullopt;
}

/// Groups of an IPv6 address, the last two perhaps as IPv4.
std::optional<Bytes> groupBytes(std::string_view text, bool ipv4_last) {
  Bytes out;
  while (!text.empty()) {
    const auto colon = text.find(':');
    const bool last = colon == std::string_view::npos;
    if (const auto v4 = v4Bytes(text); last && ipv4_last && v4) {
      out.insert(out.end(), v4->begin(), v4->end());
      return out;
    }
    const auto group = groupOf(text.substr(0, colon));
    if (!group) { return std::nullopt; }
    out.push_back(static_cast<std::uint8_t>(*group >> 8U));
    out.push_back(static_cast<std::uint8_t>(*group & 0xffU));
    if (last) { return out; }
    text.remove_prefix(colon + 1);
    if (text.empty()) { return std::nullopt; }
  }
  return out;
}

std::optional<IpAddress> parseV6(std::string_view text) {
  IpAddress out;
  const auto gap = text.find("::");
  const auto before = groupBytes(text.substr(0, gap), gap == std::string_view::npos);
  if (!before) { return std::nullopt; }
  if (gap == std::string_view::npos) {
    if (before->size() != out.bytes.size()) { return std::nullopt; }
    std::copy(before->begin(), before->end(), out.bytes.begin());
    return out;
  }
  const auto after = groupBytes(text.substr(gap + 2), true);
  if (!after || before->size() + after->size() >= out.bytes.size()) { return std::nullopt; }
  std::copy(before->begin(), before->end(), out.bytes.begin());
  std::copy_backward(after->begin(), after->end(), out.bytes.end());
  return out;
}

unsigned groupAt(const IpAddress& ip, int i) {
  const auto at = static_cast<std::size_t>(i) * 2;
  return (static_cast<unsigned>(ip.bytes[at]) << 8U) | ip.bytes[at + 1];
}

struct Zeros {
  int first = 0;
  int count = 0;
};
/// The first of the longest runs of groups that are 0.
Zeros longestZeros(const IpAddress& ip) {
  Zeros best;
  Zeros run;
  for (int i = 0; i < kGroups; ++i) {
    run = groupAt(ip, i) != 0 ? Zeros{i + 1, 0} : Zeros{run.first, run.count + 1};
    if (run.count > best.count) { best = run; }
  }
  return best;
}

bool sameBits(const IpAddress& a, const IpAddress& b, int count) {
  for (int i = 0; i < count; ++i) {
    const auto byte = static_cast<std::size_t>(i / 8);
    const unsigned differs = static_cast<unsigned>(a.bytes[byte]) ^ static_cast<unsigned>(b.bytes[byte]);
    if (((differs >> (7U - static_cast<unsigned>(i % 8))) & 1U) != 0) { return false; }
  }
  return true;
}

bool isIn(const IpAddress& ip, std::string_view range) {
  const auto parsed = parseCidr(range);
  return parsed && ip.isV4() == parsed->address.isV4() && sameBits(ip, parsed->address, parsed->prefix);
}

}  // namespace

bool IpAddress::isV4() const { return std::equal(kV4Prefix.begin(), kV4Prefix.end(), bytes.begin()); }

std::optional<IpAddress> parseIp(std::string_view text) {
  const auto v4 = v4Bytes(text);
  if (!v4) { return parseV6(text); }
  IpAddress out;
  std::copy(kV4Prefix.begin(), kV4Prefix.end(), out.bytes.begin());
  std::copy_backward(v4->begin(), v4->end(), out.bytes.end());
  return out;
}

std::string canonicalIp(const IpAddress& ip) {
  const auto& b = ip.bytes;
  if (ip.isV4()) { return fmt::format("{}.{}.{}.{}", b[12], b[13], b[14], b[15]); }
  const Zeros gap = longestZeros(ip);
  std::string out;
  for (int i = 0; i < kGroups; ++i) {
    if (gap.count > 1 && i == gap.first) {
      out += "::";
      i += gap.count - 1;
      continue;
    }
    if (!out.empty() && out.back() != ':') { out += ':'; }
    out += fmt::format("{:x}", groupAt(ip, i));
  }
  return out;
}

std::optional<IpRange> parseCidr(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) { return std::nullopt; }
  const auto ip = parseIp(text.substr(0, slash));
  const auto bits = numberOf(text.substr(slash + 1));
  const bool short_form = text.find(':') == std::string_view::npos;
  if (!ip || !bits || *bits > (short_form ? 32 : 128)) { return std::nullopt; }
  return IpRange{*ip, *bits, *bits + (short_form ? 96 : 0)};
}

bool isStrictSubset(const IpRange& part, const IpRange& whole) {
  return part.bits > whole.bits && part.address.isV4() == whole.address.isV4() &&
         sameBits(part.address, whole.address, whole.prefix);
}

std::vector<std::string> endpointIpErrors(std::string_view ip) {
  std::vector<std::string> out;
  const auto parsed = parseIp(ip);
  if (!parsed) { return {"must be a valid IP address"}; }
  if (isIn(*parsed, "0.0.0.0/32") || isIn(*parsed, "::/128")) {
    out.push_back(fmt::format("may not be unspecified ({})", ip));
  }
  if (isIn(*parsed, "127.0.0.0/8") || isIn(*parsed, "::1/128")) {
    out.emplace_back("may not be in the loopback range (127.0.0.0/8, ::1/128)");
  }
  if (isIn(*parsed, "169.254.0.0/16") || isIn(*parsed, "fe80::/10")) {
    out.emplace_back("may not be in the link-local range (169.254.0.0/16, fe80::/10)");
  }
  if (isIn(*parsed, "224.0.0.0/24") || isIn(*parsed, "ff02::/16")) {
    out.emplace_back("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
  }
  return out;
}

}  // namespace gs::apiserver
