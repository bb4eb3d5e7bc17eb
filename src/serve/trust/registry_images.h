// RegistryImages: where images come from, and whom to ask whether a cache may have
// one: registries, and the policy of signatures. Credentials are read for each image, so that a Secret that
// changed counts. Which images a registry has given is remembered for a while (served_images.h). Any thread,
// several at a time; the clock and the gate must outlive it, and it what source() gives.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/random.h"
#include "cacherim/registry/auth_files.h"
#include "cacherim/registry/registry.h"
#include "serve/trust/gate.h"
#include "serve/trust/served_images.h"

namespace gs::serve {

class RegistryImages {
 public:
  /// What a cache's own Secrets hold; they go before the rest.
  using OwnCredentials = std::function<Result<cacherim::Credentials>(
      const model::ObjectKey& cache, const std::vector<std::string>& secrets, Duration budget)>;
  struct Options {
    OwnCredentials own{};    // empty: caches have none
    std::string authfile{};  // "": those of the environment
    cacherim::Environment environment{};
    cacherim::RegistryOptions registry{};  // but for the credentials

    /// Who to be for that cache. Error: what cannot be read, and why.
    [[nodiscard]] Result<cacherim::Credentials> credentials(const model::ObjectKey& cache,
                                                            const std::vector<std::string>& secrets,
                                                            Duration budget) const;
  };
  /// Of reading a cache's Secrets.
  static constexpr Duration kSecrets = std::chrono::seconds{5};
  RegistryImages(Options options, const TrustGate& gate, const Clock& clock, Rng rng)
      : options_{std::move(options)}, gate_{gate}, clock_{clock}, rng_{rng} {}

  /// Where a cache's image comes from; `secrets`: those that the cache names. Error: credentials cannot be
  /// read.
  [[nodiscard]] Result<std::unique_ptr<cacherim::ImageSource>> source(
      const model::ObjectKey& cache, const std::vector<std::string>& secrets);
  /// TrustGate::admit(); asking the registry for signatures takes no longer than `budget`, all calls
  /// and tries together.
  [[nodiscard]] Result<std::string> admit(const model::ObjectKey& cache, const kcache::Reference& image,
                                          const std::vector<std::string>& secrets, Duration budget);
  /// What asks for signatures ends, for good.
  void stop();

 private:
  struct Source;
  [[nodiscard]] Result<std::unique_ptr<Source>> make(const model::ObjectKey& cache,
                                                     const std::vector<std::string>& secrets,
                                                     const cacherim::RegistryOptions& options);

  const Options options_;
  const TrustGate& gate_;
  const Clock& clock_;
  ServedImages served_{{}};
  Mutex mutex_;
  Rng rng_ GS_GUARDED_BY(mutex_);
  std::set<Source*> asking_ GS_GUARDED_BY(mutex_);
  bool is_stopped_ GS_GUARDED_BY(mutex_) = false;
};

}  // namespace gs::serve
