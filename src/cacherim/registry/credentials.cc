#include "cacherim/registry/credentials.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/ascii.h"
#include "base/base64.h"
#include "json/value.h"

namespace gs::cacherim {
namespace {

constexpr std::size_t kMostOfAConfig = std::size_t{4} << 20;
constexpr std::size_t kMostEntries = 10'000;
constexpr std::size_t kMaxKey = 512;  // no name of a repository is as long
constexpr std::string_view kDocker = "docker.io";
constexpr std::string_view kDataKey = ".dockerconfigjson";
constexpr std::string_view kOldDataKey = ".dockercfg";

bool isDocker(std::string_view host) {
  return host == kDocker || host == "index.docker.io" || host == "registry-1.docker.io" ||
         host == "registry.docker.io";
}

/// "host[:port][/path]", as keys are compared.
std::string normalKey(std::string_view key) {
  if (const auto scheme = key.find("://"); scheme != std::string_view::npos) {
    key.remove_prefix(scheme + 3);
  }
  std::string host{key.substr(0, key.find('/'))};
  std::string_view path = key.substr(host.size());
  if (const auto at = host.rfind('@'); at != std::string::npos) {
    host.erase(0, at + 1);
  }  // a name, a password
  for (char& c : host) { c = lowerAscii(c); }
  if (path.starts_with("/v1/") || path.starts_with("/v2/")) { path.remove_prefix(3); }
  if (path == "/v1" || path == "/v2" || path == "/") { path = {}; }
  if (isDocker(host)) { host = kDocker; }
  return host + std::string{path};
}

/// '*' stands for any text. (Two positions, no recursion: long texts cost their product at most.)
bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  return pattern.substr(p).find_first_not_of('*') == std::string_view::npos;
}

/// Takes the text before the next dot, and the dot.
std::string_view takePart(std::string_view& rest) {
  const std::string_view part = rest.substr(0, rest.find('.'));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

std::string_view takePort(std::string_view& host) {
  const std::size_t colon = std::min(host.rfind(':'), host.size());
  const std::string_view port = host.substr(colon);
  host = host.substr(0, colon);
  return port;
}

/// Part by part between dots: a '*' never matches a dot.
bool hostMatches(std::string_view pattern, std::string_view host) {
  if (takePort(pattern) != takePort(host)) { return false; }
  while (!pattern.empty() && !host.empty()) {
    if (!matches(takePart(pattern), takePart(host))) { return false; }
  }
  return pattern.empty() && host.empty();
}

std::string_view keyHost(std::string_view key) { return key.substr(0, key.find('/')); }

bool keyMatches(std::string_view key, std::string_view registry, std::string_view repository) {
  const std::string_view host = keyHost(key);
  return hostMatches(host, registry) &&
         repository.starts_with(key.substr(std::min(host.size() + 1, key.size())));
}

/// nullopt: `auth` cannot be read.
std::optional<Credential> readEntry(const json::Value& entry) {
  Credential out{.username = std::string{entry["username"].str()},
                 .password = std::string{entry["password"].str()},
                 .identity_token = std::string{entry["identitytoken"].str()},
                 .registry_token = std::string{entry["registrytoken"].str()}};
  const std::string_view auth = entry["auth"].str();
  if (auth.empty()) { return out; }
  auto decoded = decodeBase64(auth);
  if (!decoded) { return std::nullopt; }
  while (decoded->ends_with('\0')) { decoded->pop_back(); }
  const auto colon = decoded->find(':');
  if (colon == std::string::npos) { return std::nullopt; }
  out.username = decoded->substr(0, colon);
  out.password = decoded->substr(colon + 1);
  return out;
}

/// A name with a colon would be another name and password; in a header a line break would begin another one.
bool isSafe(const Credential& credential) {
  return credential.username.find(':') == std::string::npos &&
         std::all_of(credential.registry_token.begin(), credential.registry_token.end(),
                     [](char c) { return c > ' ' && c <= '~'; });
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 255)) { out += c >= ' ' && c <= '~' ? c : '?'; }
  return out;
}

}  // namespace

bool Credentials::isLonger(const Entry& a, const Entry& b) { return a.first.size() > b.first.size(); }

Result<Credentials> Credentials::parseDockerConfig(std::string_view text) {
  const auto parsed = json::parse(text, kMostOfAConfig);
  // The parser's own error may show a piece of the text.
  if (!parsed || !parsed->isObject()) {
    return fail(Code::Invalid, "docker's config.json is no JSON object");
  }
  Credentials out;
  out.helpers_ = !(*parsed)["credsStore"].str().empty() || !(*parsed)["credHelpers"].members().empty();
  const json::Value* auths = parsed->find("auths");
  if (auths == nullptr && out.helpers_) { return out; }
  const json::Object& entries = auths == nullptr ? parsed->members() : auths->members();
  if (entries.size() > kMostEntries) {
    return fail(Code::Invalid, "docker's config.json has too many entries");
  }
  for (const auto& [key, value] : entries) {
    if (!value.isObject()) { continue; }
    const auto credential = readEntry(value);
    const std::string normal = normalKey(key);
    if (!credential || !isSafe(*credential)) {
      return fail(Code::Invalid,
                  fmt::format("docker's config.json: the entry of '{}' cannot be read: its auth is base64 of "
                              "name:password; write it again with `docker login`",
                              printable(keyHost(normal))));
    }
    if (*credential != Credential{} && !normal.empty() && normal.size() <= kMaxKey) {
      out.entries_.emplace_back(normal, *credential);
    }
  }
  std::stable_sort(out.entries_.begin(), out.entries_.end(), isLonger);
  return out;
}

Result<Credentials> Credentials::parsePullSecret(std::string_view text) {
  const auto secret = json::parse(text, kMostOfAConfig);
  if (!secret) { return fail(Code::Invalid, "the pull secret is no JSON"); }
  const json::Value& meta = (*secret)["metadata"];
  const std::string name = printable(meta["namespace"].str()) + '/' + printable(meta["name"].str());
  const std::string_view type = (*secret)["type"].str();
  const bool is_old = type == "kubernetes.io/dockercfg";
  if (!is_old && type != "kubernetes.io/dockerconfigjson") {
    return fail(
        Code::Invalid,
        fmt::format("secret {} is no pull secret: its type has to be kubernetes.io/dockerconfigjson", name));
  }
  const std::string_view key = is_old ? kOldDataKey : kDataKey;
  const auto data = decodeBase64((*secret)["data"][key].str());
  if (!data || data->empty()) {
    return fail(Code::Invalid, fmt::format("secret {} has no data under {}", name, key));
  }
  auto out = parseDockerConfig(*data);
  if (!out) { return fail(Code::Invalid, fmt::format("secret {}: {}", name, out.error().message)); }
  return out;
}

void Credentials::add(std::string key, Credential credential) {
  key = normalKey(key);
  Entry entry{std::move(key), std::move(credential)};
  const auto at = std::upper_bound(entries_.begin(), entries_.end(), entry, isLonger);
  entries_.insert(at, std::move(entry));
}

void Credentials::add(const Credentials& other) {
  helpers_ = helpers_ || other.helpers_;
  const auto here = static_cast<std::ptrdiff_t>(entries_.size());
  entries_.insert(entries_.end(), other.entries_.begin(), other.entries_.end());
  std::inplace_merge(entries_.begin(), entries_.begin() + here, entries_.end(), isLonger);
}

std::vector<Credential> Credentials::of(const std::string& registry, const std::string& repository) const {
  const std::string host = normalKey(registry);
  std::vector<Credential> out;
  for (const auto& [key, credential] : entries_) {
    if (keyMatches(key, host, repository) && std::find(out.begin(), out.end(), credential) == out.end()) {
      out.push_back(credential);
    }
  }
  return out;
}

std::vector<Credential> Credentials::of(const std::string& host, const std::string& port, bool is_usual,
                                        const std::string& repository) const {
  auto out = is_usual ? of(host, repository) : std::vector<Credential>{};
  return out.empty() ? of(host + ':' + port, repository) : out;
}

}  // namespace gs::cacherim
