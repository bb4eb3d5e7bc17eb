#include "serve/operator/cache_webhook.h"

#include <algorithm>
#include <utility>

#include "kcache/trust/policy.h"
#include "operator/admission/metrics.h"

namespace gs::serve {
namespace {

/// More than resolve images at once or wait for that (Turns::Limits): a review that needs none always finds
/// one.
constexpr std::size_t kWorkers = 64;
static_assert(kWorkers > std::size_t{Turns::Limits{}.all + Turns::Limits{}.waiting});

}  // namespace

CacheWebhook::CacheWebhook(controller::Parts& parts, Config config, const Clock& clock, Rng rng,
                           Metrics& metrics)
    : flags_{std::move(config.flags)},
      key_{flags_.signing_key},
      images_{config.resolver.images, gate_, clock, rng.split()},
      policy_{parts, config.ns, kcache::trust::kPolicyConfigMap,
              [this](auto texts) { gate_.policyIs(texts); }, rng.split()},
      resolver_{std::move(config.resolver),
                config.verify
                    ? std::move(config.verify)
                    : [this, &clock](
                          const model::ObjectKey& cache, const kcache::Reference& image,
                          const std::vector<std::string>& secrets,
                          Mono until) { return byPolicy(cache, image, secrets, until - clock.now().mono); },
                clock, rng, metrics},
      machine_{parts,
               {.certificates = flags_.certificates(config.ns),
                .key = flags_.key(config.ns),
                .on_pair = [this](const admission::PairPtr& shown) { pair_.set(shown); },
                .on_key = [this](const std::string& key) { keyIs(key); }},
               maker_},
      handler_{{.resolve =
                    [this](const model::ObjectKey& cache, const kcache::Reference& image,
                           const std::vector<std::string>& secrets) {
                      return resolver_.resolve(cache, image, secrets);
                    },
                .signing_key = [this] { return key(); },
                .honours_kyverno = flags_.kyverno}},
      server_{{.reviews = [this](const net::Request& request) { return handler_.answer(request); },
               .health = std::move(config.health),
               .requests = gkm::kReviews,
               .request_seconds = gkm::kReviewSeconds},
              metrics} {}

Result<std::string> CacheWebhook::byPolicy(const model::ObjectKey& cache, const kcache::Reference& image,
                                           const std::vector<std::string>& secrets, Duration left) {
  return images_.admit(cache, image, secrets, std::max(left, Duration{std::chrono::milliseconds{1}}));
}

void CacheWebhook::keyIs(const std::string& key) {
  const MutexLock lock{mutex_};
  key_ = key;
}

std::string CacheWebhook::key() const {
  const MutexLock lock{mutex_};
  return key_;
}

Status CacheWebhook::start() {
  return server_.start(reviewHttp(flags_.address, kWorkers, flags_.tls(pair_)));
}

void CacheWebhook::stop() {
  resolver_.stop();
  images_.stop();
  server_.stop();
}

process::Endpoint CacheWebhook::endpoint() {
  return {.serves = "API servers", .start = [this] { return start(); }, .stop = [this] { stop(); }};
}

}  // namespace gs::serve
