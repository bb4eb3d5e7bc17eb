#include "cacherim/registry/mirrors.h"

#include <fmt/format.h>

#include <algorithm>

#include "kcache/image/reference.h"
#include "net/url.h"

namespace gs::cacherim {
namespace {

bool isRegistry(std::string_view name) {
  const auto image = kcache::parseStrictReference(fmt::format("{}/a:b", name));
  return image && image->registry == name;
}

}  // namespace

Result<Mirrors> parseMirrors(std::string_view flag, std::string_view text) {
  Mirrors out;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    const std::size_t at = one.find('=');
    const std::string_view registry = one.substr(0, at);
    const std::string_view url = at == std::string_view::npos ? "" : one.substr(at + 1);
    if (!isRegistry(registry) || !net::parseUrl(url)) {
      return fail(
          Code::Invalid,
          fmt::format("{}: '{}' is no REGISTRY=URL, as quay.io=https://mirror.example:5000", flag, registry));
    }
    out[std::string{registry}].emplace_back(url);
  }
  return out;
}

}  // namespace gs::cacherim
