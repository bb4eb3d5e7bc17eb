// PullSecretReader: the credentials of a cache's own Secrets (spec.imagePullSecrets), for threads that may
// wait: whoever talks to the API server is asked (operator/pull_secrets.h, run by the Host), and answers
// later.
//
// Secrets are of the cache's namespace; of a ClusterGKMCache of GKM's own, so that no namespace's rights are
// used for all. Read each time, one after the other. The time and 2 MiB of text are for all Secrets of a
// cache, so that many of them hold nobody up. of() from any thread, many at a time; the clock must outlive
// this.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cacherim/registry/credentials.h"
#include "model/ids.h"
#include "serve/trust/registry_images.h"

namespace gs::serve {

class PullSecretReader {
 public:
  /// The Secret as JSON, or why it cannot be read.
  using Done = std::function<void(Result<std::string>)>;
  /// Calls `done` once, some time, on any thread. False: it will not.
  using Read = std::function<bool(const model::ObjectKey& secret, Done done)>;
  /// `ns`: GKM's own namespace.
  PullSecretReader(std::string ns, Read read, const Clock& clock)
      : ns_{std::move(ns)}, read_{std::move(read)}, clock_{clock} {}

  /// of(), for RegistryImages::Options; this must outlive it.
  [[nodiscard]] RegistryImages::OwnCredentials forCaches() {
    return [this](const model::ObjectKey& cache, const std::vector<std::string>& names, Duration budget) {
      return of(cache, names, budget);
    };
  }
  /// What is in them, the first first; nothing without names. Waits `budget` at most, for all. Errors: which
  /// Secret cannot be read or used, and why.
  [[nodiscard]] Result<cacherim::Credentials> of(const model::ObjectKey& cache,
                                                 const std::vector<std::string>& names, Duration budget);

 private:
  [[nodiscard]] Result<std::string> textOf(const model::ObjectKey& secret, Mono until);

  const std::string ns_;
  const Read read_;
  const Clock& clock_;
};

}  // namespace gs::serve
