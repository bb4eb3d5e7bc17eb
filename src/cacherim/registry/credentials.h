// Credentials: who to be at which registry, from docker's config.json and from pull secrets. Pure; fuzzed.
//
// Keys match as kubelet's do: "quay.io" all of a registry, "quay.io/team" what begins so in it (and so
// "quay.io/team-2/x" too), "*.example.com" a registry of so many parts, '*' any text within one part; a port
// has to be the same. A scheme and "/v1/" or "/v2/" in front count for nothing. The longest key goes first.
// docker.io is known as "index.docker.io" too, which docker itself writes, and as "registry-1.docker.io".
//
// No error says anything of what a file holds, but for names of registries; nothing here is ever logged.
// Programs that docker would ask (credsStore, credHelpers) are not run: helpers() says that there are some.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace gs::cacherim {

struct Credential {
  std::string username{};
  std::string password{};
  std::string identity_token{};  // for the token server, instead of the two
  std::string registry_token{};  // for the registry itself
  friend bool operator==(const Credential&, const Credential&) = default;
};

class Credentials {
 public:
  /// {"auths":{"quay.io":{...}}}, or the older text without "auths". Left out are entries that hold nothing,
  /// and keys longer than any name of a repository.
  /// Error Invalid: no JSON, or the entry of the registry that it names cannot be read.
  [[nodiscard]] static Result<Credentials> parseDockerConfig(std::string_view text);
  /// A Secret object of type kubernetes.io/dockerconfigjson or kubernetes.io/dockercfg, as JSON.
  /// Error Invalid: of another type, or its data cannot be read.
  [[nodiscard]] static Result<Credentials> parsePullSecret(std::string_view text);

  void add(std::string key, Credential credential);
  /// What `other` has goes behind what is here with the same key.
  void add(const Credentials& other);

  /// All that fit, the best first; empty: be nobody.
  [[nodiscard]] std::vector<Credential> of(const std::string& registry, const std::string& repository) const;
  /// Of a host at a port. Keys may name the usual port, or not.
  [[nodiscard]] std::vector<Credential> of(const std::string& host, const std::string& port, bool is_usual,
                                           const std::string& repository) const;

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] bool helpers() const { return helpers_; }

 private:
  using Entry = std::pair<std::string, Credential>;  // by normal key
  [[nodiscard]] static bool isLonger(const Entry& a, const Entry& b);

  std::vector<Entry> entries_;  // longest key first; equal: as they came
  bool helpers_ = false;
};

}  // namespace gs::cacherim
