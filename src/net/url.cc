#include "net/url.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include "base/ascii.h"

namespace gs::net {
namespace {

struct Freer {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
  void operator()(char* text) const { curl_free(text); }
};
using Handle = std::unique_ptr<CURLU, Freer>;

constexpr std::size_t kMostOfAUrl = std::size_t{16} << 10;

tl::unexpected<Error> refuse(const char* why) { return fail(Code::Invalid, why); }

std::string part(CURLU* url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, which, &text, flags) != CURLUE_OK) { return {}; }
  const std::unique_ptr<char, Freer> owned{text};
  return text;
}

bool isPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

Result<Url> take(CURLU* url) {
  Url out{.scheme = part(url, CURLUPART_SCHEME),
          .host = part(url, CURLUPART_HOST),
          .port = part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT),
          .target = part(url, CURLUPART_PATH)};
  if (out.scheme != "http" && out.scheme != "https") { return refuse("not a URL of http or https"); }
  if (out.host.empty() || out.port.empty()) { return refuse("a URL without a host"); }
  if (!part(url, CURLUPART_USER).empty() || !part(url, CURLUPART_PASSWORD).empty()) {
    return refuse("a URL with a name or password in it");
  }
  for (char& c : out.host) { c = lowerAscii(c); }
  if (out.target.empty()) { out.target = "/"; }
  if (const std::string query = part(url, CURLUPART_QUERY); !query.empty()) { out.target += '?' + query; }
  if (!isPlain(out.target) || !isPlain(out.host)) {
    return refuse("a URL with a character that is not allowed");
  }
  return out;
}

Result<Url> set(CURLU* url, std::string_view text) {
  if (text.size() > kMostOfAUrl) { return refuse("a URL that is too long"); }
  if (!isPlain(text)) { return refuse("a URL with a character that is not allowed"); }
  if (curl_url_set(url, CURLUPART_URL, std::string{text}.c_str(), 0) != CURLUE_OK) {
    return refuse("not a URL of http or https");
  }
  return take(url);
}

}  // namespace

std::string Url::text() const { return origin() + target; }

Result<Url> parseUrl(std::string_view text) { return set(Handle{curl_url()}.get(), text); }

Result<Url> resolveUrl(const Url& base, std::string_view location) {
  const Handle url{curl_url()};
  if (curl_url_set(url.get(), CURLUPART_URL, base.text().c_str(), 0) != CURLUE_OK) {
    return refuse("not a URL of http or https");
  }
  return set(url.get(), location);
}

bool isLoopback(std::string_view host) {
  return equalInAnyCase(host, "localhost") || host == "[::1]" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos);
}

}  // namespace gs::net
