// ImageResolver: what images of caches are, for the webhook (operator/admission/decide.h): asks the registry
// which digest a tag has, or whether it has the digest that is named, and whoever verifies whether that very
// digest may be used.
//
// One image is asked for at most Options::budget, its turn, its tries and what verifies it included; nothing
// is remembered, for a tag that was pushed a second ago counts. How many at once: turns.h. Credentials are
// read each time, so that a Secret that changed counts.
// Any thread, many at a time; each call blocks its own. The clock and the metrics must outlive it.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "base/random.h"
#include "cacherim/registry/registry.h"
#include "operator/admission/decide.h"
#include "serve/operator/turns.h"
#include "serve/trust/registry_images.h"

namespace gs::serve {

class ImageResolver {
 public:
  /// What vouches for that image, which has a digest, for that cache (namespace "": cluster-wide); "" nothing
  /// was asked for. Has until `until`. Errors: why it may not be used, or cannot be told.
  /// `secrets`: those that the cache names.
  using Verify =
      std::function<Result<std::string>(const model::ObjectKey& cache, const kcache::Reference& image,
                                        const std::vector<std::string>& secrets, Mono until)>;
  struct Options {
    RegistryImages::Options images{};  // times are set here
    Duration budget = std::chrono::seconds{20};
    Turns::Limits limits{};
  };
  ImageResolver(Options options, Verify verify, const Clock& clock, Rng rng, Metrics& metrics);

  [[nodiscard]] Result<gkm::Resolved> resolve(const model::ObjectKey& cache, const kcache::Reference& image,
                                              const std::vector<std::string>& secrets = {});
  /// Ends what is under way, for good.
  void stop();

 private:
  using Secrets = std::vector<std::string>;
  Result<kcache::Digest> digestOf(const model::ObjectKey& cache, const kcache::Reference& image,
                                  const Secrets& secrets, Mono until);
  Result<gkm::Resolved> verified(const model::ObjectKey& cache, const kcache::Reference& image,
                                 const Secrets& secrets, Mono until);
  /// False: it was stopped.
  bool begins(cacherim::Registry& registry) GS_EXCLUDES(mutex_);
  void ended(cacherim::Registry& registry) GS_EXCLUDES(mutex_);
  Rng nextRng() GS_EXCLUDES(mutex_);

  const Options options_;
  const Verify verify_;
  const Clock& clock_;
  Metrics& metrics_;
  Turns turns_;
  Mutex mutex_;
  Rng rng_ GS_GUARDED_BY(mutex_);
  std::set<cacherim::Registry*> asking_ GS_GUARDED_BY(mutex_);
  bool is_stopped_ GS_GUARDED_BY(mutex_) = false;
};

}  // namespace gs::serve
