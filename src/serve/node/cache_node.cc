#include "serve/node/cache_node.h"

#include <utility>

#include "base/log.h"
#include "kapi/effects.h"
#include "kcache/trust/policy.h"
#include "noderim/cache_gpus.h"

namespace gs::serve {
namespace {

RegistryImages::Options withSecrets(RegistryImages::Options options, PullSecretReader& secrets) {
  options.own = secrets.forCaches();
  return options;
}

}  // namespace

CacheNodeRim::CacheNodeRim(Config config, k8s::Host& host, const Clock& clock, Rng rng)
    : host_{host},
      secret_reads_{beside_},
      secrets_{config.ns,
               [this](const model::ObjectKey& secret, PullSecretReader::Done done) {
                 return host_.act([this, secret, done = std::move(done)](Now) {
                   return secret_reads_.read(secret, done);
                 });
               },
               clock},
      agent_{config.agent, rng.split(), owners_},
      policy_{beside_, config.ns, kcache::trust::kPolicyConfigMap,
              [this](auto texts) { gate_.policyIs(texts); }, rng.split()},
      pods_{beside_, config.agent.node, [this](auto paths) { keeper_.mountPaths(std::move(paths)); },
            rng.split()},
      images_{withSecrets(std::move(config.images), secrets_), gate_, clock, rng.split()},
      counts_{config.keeper.quota},
      pause_{clock},
      keeper_{std::move(config.keeper),
              {.sources =
                   [this](const model::ObjectKey& cache, const kcache::WantedImage& image) {
                     return images_.source(cache, image.pull_secrets);
                   },
               .admit = [this](const model::ObjectKey& cache,
                               const kcache::WantedImage& image) { return admit(cache, image); },
               .tell =
                   [this](const kcache::NodeHasPtr& has) {
                     counts_.told(*has);
                     (void)host_.act([this, has](Now now) {
                       auto out = agent_.has(has, now);
                       passOn();
                       return out;
                     });
                   },
               .ended = [this](const cacherim::FetchEnd& end) { counts_.ended(end); }},
              cacherim::Disk{},
              clock,
              pause_} {
  if (config.gpus == nullptr) { return; }
  gpus_ = std::make_unique<noderim::Poller>(std::move(config.gpus), noderim::Poller::Pace{},
                                            [this](const agent::LookPtr& look) { gpusSeen(look); });
}

void CacheNodeRim::startThreads() {
  keeper_.start();
  if (gpus_ != nullptr) {
    gpus_->start();
  } else {
    gpusSeen(std::make_shared<const agent::Look>(agent::Hardware{}));
  }
}

void CacheNodeRim::stopThreads() {
  if (gpus_ != nullptr) { gpus_->stop(); }
  images_.stop();
  keeper_.stop();
}

Status CacheNodeRim::admit(const model::ObjectKey& cache, const kcache::WantedImage& image) {
  const auto why = images_.admit(cache, image.image, image.pull_secrets, kAsking);
  if (!why) { return tl::unexpected(why.error()); }
  log::info("a cache may have its image",
            {{"cache", cache.text()}, {"image", image.image.text()}, {"why", *why}});
  return {};
}

void CacheNodeRim::gpusSeen(const agent::LookPtr& look) {
  auto gpus = noderim::cacheGpusOf(*look);
  if (!gpus) { log::warn("the GPUs cannot be looked at", {{"why", gpus.error().message}}); }
  const std::string why = noderim::whyNoGpus(*look);
  if (std::exchange(why_no_gpus_, why) != why && !why.empty()) {
    log::info("no GPU is found on this node", {{"why", why}});
  }
  (void)host_.act([this, gpus = std::move(gpus)](Now now) {
    kapi::Effects out;
    // A driver that does not answer now takes no GPU away; one that never did has none to tell of.
    if (gpus || !agent_.knowsGpus()) {
      out = agent_.gpus(gpus ? *gpus : std::vector<kcache::CacheGpu>{}, now);
    }
    passOn();
    return out;
  });
}

kapi::Effects CacheNodeRim::start(Now now) {
  kapi::Effects out = agent_.start(now);
  policy_.start(now, out);
  pods_.start(now, out);
  passOn();
  return out;
}

kapi::Effects CacheNodeRim::handle(const kapi::MachineEvent& event, Now now) {
  kapi::Effects out;
  if (std::holds_alternative<kapi::TimerDue>(event)) { beside_.tick(now, out); }
  if (!beside_.handle(event, now, out)) { kapi::append(out, agent_.handle(event, now)); }
  passOn();
  return out;
}

void CacheNodeRim::passOn() {
  if (!policy_.isKnown()) { return; }
  if (auto wanted = agent_.takeWanted()) { keeper_.want(std::move(wanted)); }
}

Readiness CacheNodeRim::readiness() const {
  Readiness out = agent_.readiness();
  out.checks.push_back(pods_.check());
  Readiness::Check policy = policy_.check();
  if (std::string trouble = gate_.trouble(); !trouble.empty()) { policy.state = std::move(trouble); }
  out.need(policy.what, policy_.isKnown(), policy.state);
  return out;
}

}  // namespace gs::serve
