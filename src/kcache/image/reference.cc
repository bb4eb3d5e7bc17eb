#include "kcache/image/reference.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/utf8.h"

namespace gs::kcache {
namespace {

constexpr std::size_t kMaxName = 255;
constexpr std::size_t kMaxTag = 128;
constexpr std::string_view kDefaultRegistry = "docker.io";

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLowerAlnum(char c) { return isDigit(c) || (c >= 'a' && c <= 'z'); }
bool isAlnum(char c) { return isLowerAlnum(c) || (c >= 'A' && c <= 'Z'); }

/// Lower-case letters and digits, with one '.', one or two '_' or any number of '-' between them.
bool isComponent(std::string_view part) {
  if (part.empty() || !isLowerAlnum(part.front()) || !isLowerAlnum(part.back())) { return false; }
  for (std::size_t at = 0; at < part.size();) {
    if (isLowerAlnum(part[at])) {
      ++at;
      continue;
    }
    const std::size_t end =
        static_cast<std::size_t>(std::find_if(part.begin() + at, part.end(), isLowerAlnum) - part.begin());
    const std::string_view separator = part.substr(at, end - at);
    const bool good = separator == "." || separator == "_" || separator == "__" ||
                      separator.find_first_not_of('-') == std::string_view::npos;
    if (!good) { return false; }
    at = end;
  }
  return true;
}

bool isRepository(std::string_view path) {
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (!isComponent(path.substr(at, end - at))) { return false; }
    at = end + 1;
  }
  return true;
}

bool isTag(std::string_view tag) {
  return !tag.empty() && tag.size() <= kMaxTag && (isAlnum(tag.front()) || tag.front() == '_') &&
         std::all_of(tag.begin(), tag.end(),
                     [](char c) { return isAlnum(c) || c == '_' || c == '.' || c == '-'; });
}

bool isHost(std::string_view host) {
  if (host.starts_with('[')) {  // IPv6
    return host.size() > 2 && host.ends_with(']') &&
           host.substr(1, host.size() - 2).find_first_not_of("0123456789abcdefABCDEF:") ==
               std::string_view::npos;
  }
  return !host.empty() && isAlnum(host.front()) && isAlnum(host.back()) &&
         std::all_of(host.begin(), host.end(), [](char c) { return isAlnum(c) || c == '.' || c == '-'; });
}

bool isRegistry(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const bool has_port = colon != std::string_view::npos && text.find(']', colon) == std::string_view::npos;
  if (!has_port) { return isHost(text); }
  const std::string_view port = text.substr(colon + 1);
  return isHost(text.substr(0, colon)) && !port.empty() && port.size() <= 5 &&
         std::all_of(port.begin(), port.end(), isDigit);
}

bool looksLikeRegistry(std::string_view first) {
  return first == "localhost" || first.find_first_of(".:[") != std::string_view::npos;
}

tl::unexpected<Error> refuse(std::string_view text, std::string_view what) {
  return fail(Code::Invalid, fmt::format("image '{}': {}", utf8Prefix(text, 2 * kMaxName), what));
}

struct Parts {
  std::string_view registry, path, tag, digest;
  bool has_tag = false, has_digest = false;
};

Parts split(std::string_view text) {
  Parts parts;
  if (const std::size_t at = text.find('@'); at != std::string_view::npos) {
    parts.digest = text.substr(at + 1);
    parts.has_digest = true;
    text = text.substr(0, at);
  }
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos && looksLikeRegistry(text.substr(0, slash))) {
    parts.registry = text.substr(0, slash);
    text = text.substr(slash + 1);
  }
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    parts.tag = text.substr(colon + 1);
    parts.has_tag = true;
    text = text.substr(0, colon);
  }
  parts.path = text;
  return parts;
}

/// Where "host:0443" has its port; npos: it has none.
std::size_t portOf(std::string_view registry) {
  const std::size_t colon = registry.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && colon + 1 < registry.size() &&
      std::all_of(registry.begin() + static_cast<std::ptrdiff_t>(colon) + 1, registry.end(), isDigit);
  return has_port ? colon + 1 : std::string_view::npos;
}

}  // namespace

std::string registryName(std::string_view written) {
  std::string out = inLowerCase(written);
  if (const std::size_t port = portOf(out); port != std::string::npos) {
    out.erase(port, std::min(out.find_first_not_of('0', port), out.size() - 1) - port);
    if (std::string_view{out}.substr(port) == "443") { out.resize(port - 1); }
  }
  const bool is_docker = out == "index.docker.io" || out == "registry-1.docker.io";
  return is_docker ? std::string{kDefaultRegistry} : out;
}

std::string Reference::text() const {
  std::string out = name();
  if (!tag.empty()) { out += ':' + tag; }
  if (digest) { out += '@' + digest->text(); }
  return out;
}

Result<Reference> parseReference(std::string_view text) {
  const Parts parts = split(text);
  Reference out{.registry = std::string{parts.registry.empty() ? kDefaultRegistry : parts.registry},
                .repository = std::string{parts.path},
                .tag = std::string{parts.tag},
                .digest = std::nullopt};
  if (!isRegistry(out.registry)) { return refuse(text, "the part before the first '/' is no host[:port]"); }
  out.registry = registryName(out.registry);
  if (!isRepository(parts.path)) {
    return refuse(
        text,
        "the repository has lower-case letters and digits, with '.', '_', '__' or '-' between them, "
        "in parts between '/'");
  }
  if (parts.has_tag && !isTag(parts.tag)) {
    return refuse(text, "the tag has 1 to 128 letters, digits, '_', '.' and '-', and no '.' or '-' first");
  }
  if (parts.has_digest) {
    const auto digest = Digest::parse(parts.digest);
    if (!digest) { return refuse(text, digest.error().message); }
    out.digest = *digest;
  }
  if (out.registry == kDefaultRegistry && out.repository.find('/') == std::string::npos) {
    out.repository = "library/" + out.repository;
  }
  if (out.name().size() > kMaxName) {
    return refuse(text, fmt::format("registry and repository have {} bytes; {} are allowed",
                                    out.name().size(), kMaxName));
  }
  if (!parts.has_tag && !parts.has_digest) { out.tag = "latest"; }
  return out;
}

Result<Reference> parseStrictReference(std::string_view text) {
  const Parts parts = split(text);
  if (parts.registry.empty()) {
    return refuse(text, "write its registry too, as quay.io/gkm/vector-add-cache:rocm");
  }
  if (!parts.has_tag && !parts.has_digest) { return refuse(text, "write its tag or digest too, as :latest"); }
  return parseReference(text);
}

}  // namespace gs::kcache
