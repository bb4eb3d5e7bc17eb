#include "serve/operator/image_resolver.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "operator/admission/metrics.h"

namespace gs::serve {
namespace {

constexpr int kTries = 3;
constexpr Duration kRequest = std::chrono::seconds{10};

}  // namespace

ImageResolver::ImageResolver(Options options, Verify verify, const Clock& clock, Rng rng, Metrics& metrics)
    : options_{std::move(options)},
      verify_{std::move(verify)},
      clock_{clock},
      metrics_{metrics},
      turns_{options_.limits},
      rng_{rng} {}

Result<gkm::Resolved> ImageResolver::resolve(const model::ObjectKey& cache, const kcache::Reference& image,
                                             const Secrets& secrets) {
  const Mono until = clock_.now().mono + options_.budget;
  const auto count = [this](const char* result) {
    metrics_
        .counter(gkm::kResolves, "Images that were asked for, by result (resolved, failed, refused, busy).",
                 {{"result", result}})
        .add();
  };
  // A third of it at most is for waiting.
  const auto turn = turns_.take(cache.ns, image.registry, until - options_.budget * 2 / 3);
  if (!turn) {
    count("busy");
    return fail(turn.error().code, gkm::resolutionFailed(image.text(), turn.error().message));
  }
  const auto digest =
      digestOf(cache, image, secrets, until);  // of one with a digest too: its registry has to have it
  if (!digest) {
    count("failed");
    return fail(digest.error().code, gkm::resolutionFailed(image.text(), digest.error().message));
  }
  auto out = verified(cache, image.pinned(*digest), secrets, until);
  count(out ? "resolved" : "refused");
  if (!out) { return fail(out.error().code, gkm::verificationFailed(image.text(), out.error().message)); }
  log::info("image resolved", {{"cache", cache.text()},
                               {"image", image.text()},
                               {"digest", out->digest.text()},
                               {"by", out->by.empty() ? "nothing was asked for" : out->by}});
  return out;
}

Result<gkm::Resolved> ImageResolver::verified(const model::ObjectKey& cache, const kcache::Reference& image,
                                              const Secrets& secrets, Mono until) {
  auto by = verify_(cache, image, secrets, until);
  if (!by) { return tl::unexpected(std::move(by).error()); }
  return gkm::Resolved{*image.digest, *std::move(by)};
}

Result<kcache::Digest> ImageResolver::digestOf(const model::ObjectKey& cache, const kcache::Reference& image,
                                               const Secrets& secrets, Mono until) {
  auto credentials = options_.images.credentials(cache, secrets, RegistryImages::kSecrets);
  if (!credentials) { return tl::unexpected(std::move(credentials).error()); }
  cacherim::RegistryOptions how = options_.images.registry;
  how.credentials = *std::move(credentials);
  how.whole = std::max(until - clock_.now().mono, Duration{std::chrono::milliseconds{1}});
  how.until = until;
  how.request = std::min(kRequest, how.whole);
  how.idle = how.request;
  how.tries = kTries;
  how.longest_retry_after = how.whole;
  cacherim::RealPause pause{clock_};
  cacherim::Registry registry{std::move(how), clock_, nextRng(), pause};
  if (!begins(registry)) { return fail(Code::Unavailable, "gkm-operator is ending; try again"); }
  const auto manifest = registry.manifest(image);
  ended(registry);
  if (!manifest) { return tl::unexpected(manifest.error()); }
  return manifest->digest;
}

Rng ImageResolver::nextRng() {
  const MutexLock lock{mutex_};
  return rng_.split();
}

bool ImageResolver::begins(cacherim::Registry& registry) {
  const MutexLock lock{mutex_};
  if (!is_stopped_) { asking_.insert(&registry); }
  return !is_stopped_;
}

void ImageResolver::ended(cacherim::Registry& registry) {
  const MutexLock lock{mutex_};
  asking_.erase(&registry);
}

void ImageResolver::stop() {
  turns_.stop();
  const MutexLock lock{mutex_};
  is_stopped_ = true;
  for (cacherim::Registry* one : asking_) { one->cancel(); }
}

}  // namespace gs::serve
