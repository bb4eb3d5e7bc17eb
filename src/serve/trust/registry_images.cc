#include "serve/trust/registry_images.h"

#include <algorithm>
#include <utility>

namespace gs::serve {

/// A registry with what it waits by.
struct RegistryImages::Source final : cacherim::ImageSource {
  Source(cacherim::RegistryOptions options, ServedImages& served_images, const Clock& clock_of, Rng rng)
      : credentials{options.credentials},
        served{served_images},
        clock{clock_of},
        pause{clock},
        registry{std::move(options), clock, rng, pause} {}

  Result<cacherim::FetchedManifest> manifest(const kcache::Reference& reference) override {
    auto out = registry.manifest(reference);
    if (out && reference.digest) {
      served.add(ServedImages::keyOf(reference, credentials), clock.now().mono);
    }
    return out;
  }
  Status serves(const kcache::Reference& image) override {
    const bool is_known = served.has(ServedImages::keyOf(image, credentials), clock.now().mono);
    return is_known ? Status{} : ImageSource::serves(image);
  }
  Status blob(const kcache::Reference& repository, const kcache::Descriptor& blob,
              const cacherim::ByteSink& sink) override {
    return registry.blob(repository, blob, sink);
  }
  void cancel() override {
    pause.cancel();
    registry.cancel();
  }

  const cacherim::Credentials credentials;
  ServedImages& served;
  const Clock& clock;
  cacherim::RealPause pause;
  cacherim::Registry registry;
};

Result<cacherim::Credentials> RegistryImages::Options::credentials(const model::ObjectKey& cache,
                                                                   const std::vector<std::string>& secrets,
                                                                   Duration budget) const {
  auto common = cacherim::readAuthFiles(authfile, environment);
  if (!common || secrets.empty() || !own) { return common; }
  auto out = own(cache, secrets, budget);
  if (out) { out->add(*common); }
  return out;
}

Result<std::unique_ptr<RegistryImages::Source>> RegistryImages::make(
    const model::ObjectKey& cache, const std::vector<std::string>& secrets,
    const cacherim::RegistryOptions& options) {
  auto credentials = options_.credentials(cache, secrets, std::min(options.request, kSecrets));
  if (!credentials) { return tl::unexpected(std::move(credentials).error()); }
  cacherim::RegistryOptions how = options;
  how.credentials = *std::move(credentials);
  const MutexLock lock{mutex_};
  return std::make_unique<Source>(std::move(how), served_, clock_, rng_.split());
}

Result<std::unique_ptr<cacherim::ImageSource>> RegistryImages::source(
    const model::ObjectKey& cache, const std::vector<std::string>& secrets) {
  auto out = make(cache, secrets, options_.registry);
  if (!out) { return tl::unexpected(std::move(out).error()); }
  return std::unique_ptr<cacherim::ImageSource>{*std::move(out)};
}

Result<std::string> RegistryImages::admit(const model::ObjectKey& cache, const kcache::Reference& image,
                                          const std::vector<std::string>& secrets, Duration budget) {
  cacherim::RegistryOptions options = options_.registry;
  options.whole = budget;
  options.until = clock_.now().mono + budget;
  options.request = std::min(options.request, budget);
  options.idle = options.request;
  options.longest_retry_after = budget;
  const auto source = make(cache, secrets, options);
  if (!source) { return tl::unexpected(source.error()); }
  {
    const MutexLock lock{mutex_};
    if (is_stopped_) { return fail(Code::Unavailable, "this process is ending; try again"); }
    asking_.insert(source->get());
  }
  auto why = gate_.admit((*source)->registry, cache, image);
  const MutexLock lock{mutex_};
  asking_.erase(source->get());
  return why;
}

void RegistryImages::stop() {
  const MutexLock lock{mutex_};
  is_stopped_ = true;
  for (Source* one : asking_) { one->cancel(); }
}

}  // namespace gs::serve
