// IP addresses and ranges of them, as Go's net package and its forgiving readers in Kubernetes see them:
// leading zeros are allowed, and ::ffff:10.0.0.1 is 10.0.0.1.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gs::apiserver {

struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};  // an IPv4 one as ::ffff:a.b.c.d
  [[nodiscard]] bool isV4() const;
};
[[nodiscard]] std::optional<IpAddress> parseIp(std::string_view text);
/// As Go prints it: "10.0.0.1", "2001:db8::1".
[[nodiscard]] std::string canonicalIp(const IpAddress& ip);

/// "10.0.0.0/8"
struct IpRange {
  IpAddress address;
  int bits = 0;    // as written
  int prefix = 0;  // of the 16 bytes
};
[[nodiscard]] std::optional<IpRange> parseCidr(std::string_view text);
/// All of `part` is in `whole`, which is larger.
[[nodiscard]] bool isStrictSubset(const IpRange& part, const IpRange& whole);

/// Why nothing is sent to an address: nobody has it, or only this machine or this link. Empty: it may be.
[[nodiscard]] std::vector<std::string> endpointIpErrors(std::string_view ip);

}  // namespace gs::apiserver
