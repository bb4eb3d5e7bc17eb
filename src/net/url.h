// URLs of http and https in parts, for who follows a redirect: is it still the same server, is it still
// encrypted? libcurl splits them, so what is checked here is what is asked later.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gs::net {

struct Url {
  std::string scheme;  // "http" or "https"
  std::string host;    // lower case; IPv6 in brackets
  std::string port;    // always said: "443"
  std::string target;  // path and query, "/v2/?x=1"; without the fragment

  [[nodiscard]] std::string text() const;
  /// "https://host:port": two URLs of the same origin speak to the same server in the same way.
  [[nodiscard]] std::string origin() const { return scheme + "://" + host + ':' + port; }
  [[nodiscard]] bool encrypted() const { return scheme == "https"; }
  friend auto operator<=>(const Url&, const Url&) = default;
};

/// Error Invalid: no URL of http or https, or one with a name or password in it. Does not repeat the text:
/// it may hold secrets.
[[nodiscard]] Result<Url> parseUrl(std::string_view text);
/// What `location`, a whole URL or a part of one, means at `base`. Errors as above.
[[nodiscard]] Result<Url> resolveUrl(const Url& base, std::string_view location);

/// The host is this machine: "localhost", 127.0.0.0/8, [::1].
[[nodiscard]] bool isLoopback(std::string_view host);

}  // namespace gs::net
