// How registries are asked: who to be, whom to trust, which mirrors, how long.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "cacherim/registry/credentials.h"
#include "cacherim/registry/pause.h"
#include "cacherim/registry/time_limit.h"
#include "kapi/retry_wait.h"

namespace gs::cacherim {

struct RegistryOptions {
  Credentials credentials{};
  /// Of a registry: URLs that are asked before it, in this order, "https://mirror:5000"; a path in one stands
  /// before the name of each repository.
  std::map<std::string, std::vector<std::string>> mirrors{};
  /// Registries that are asked without TLS. (This machine is, too, where nothing speaks TLS at the port.)
  std::set<std::string> plain_http{};
  std::string ca_file{};  // trusted besides the system's
  std::string proxy{};    // "": the environment's
  bool direct = false;    // no proxy, whatever the environment says

  Duration request = std::chrono::seconds{30};  // one request for anything but a blob
  Duration idle = std::chrono::seconds{30};     // within a blob
  /// One call, all its tries and waits included, but not the time of who takes a blob.
  Duration whole = std::chrono::hours{1};
  std::optional<Mono> until{};  // all calls together end by then
  int tries = 6;                // in a row that brought less than `progress` bytes
  std::uint64_t progress = std::uint64_t{64} << 10;
  kapi::RetryTerms waits{std::chrono::milliseconds{500}, std::chrono::seconds{20}};
  Duration longest_retry_after = std::chrono::minutes{1};  // a registry that asks for more gets this
};

/// What outlives all that asks registries.
struct RegistryContext {
  RegistryOptions options;
  const Clock& clock;
  Rng rng;  // spreads the waits
  Pause& pause;
  TimeLimit time{clock, options.until.value_or(Mono::max())};  // of all calls together, or a part of it
};

}  // namespace gs::cacherim
