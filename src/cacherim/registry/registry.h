// Registry: images from registries, by the distribution API (OCI distribution spec 1.1).
//
// Mirrors of a registry are asked first, each once and for half of the time that is left; what one does not
// have or cannot give the next is asked for. One that is away is not asked again. A blob that was cut goes on
// where it ended, at another host too: its digest says what it is. One that was given whole and is not what
// its digest says is an error, since its taker has it already; no mirror that gave some of it is asked for
// that blob again. Which digest a tag has is the word of whoever is asked first. What lies beside an image
// (referrers) is asked of the registry itself.
// Limits, waits and tries: registry_options.h. Threads: ImageSource.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "cacherim/image/image_source.h"
#include "cacherim/registry/registry_retry.h"

namespace gs::cacherim {

/// The hosts that were asked so far, made when first needed.
class RegistryHosts {
 public:
  explicit RegistryHosts(RegistryContext& context) : context_{context} {}
  /// Mirrors, then the registry itself. Error Invalid: a name or URL that cannot be asked.
  [[nodiscard]] Result<std::vector<RegistryHost*>> of(const std::string& registry);
  /// The registry itself.
  [[nodiscard]] Result<RegistryHost*> origin(const std::string& registry);
  /// Any thread.
  void cancel();

 private:
  Result<RegistryHost*> at(const std::string& url, bool may_be_plain);

  RegistryContext& context_;
  Mutex mutex_;
  bool cancelled_ GS_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::unique_ptr<RegistryHost>> hosts_ GS_GUARDED_BY(mutex_);  // by URL
};

/// What says that an image is its subject. Of each media type, digest, size, artifact type, and, of its
/// annotations, what its statement means (kcache/trust/bundle.h) only.
struct Referrers {
  /// Those first that may be signatures (kcache/trust/listed.h). An artifact of which two things are said
  /// stands twice.
  std::vector<kcache::Descriptor> found{};
  bool is_cut = false;            // there may be more of those than were taken
  std::optional<Error> broken{};  // why there may be more than could be read
};

class Registry final : public ImageSource {
 public:
  /// `clock` and `pause` outlive this.
  Registry(RegistryOptions options, const Clock& clock, Rng rng, Pause& pause);

  Result<FetchedManifest> manifest(const kcache::Reference& reference) override;
  Status blob(const kcache::Reference& repository, const kcache::Descriptor& blob,
              const ByteSink& sink) override;
  void cancel() override;

  /// Of the registry itself: what a mirror has under a tag may be older.
  [[nodiscard]] Result<FetchedManifest> manifestOfOrigin(const kcache::Reference& reference);
  [[nodiscard]] bool hasMirrors() const { return !context_.options.mirrors.empty(); }
  /// The registry speaks the API, and what we are may use it.
  [[nodiscard]] Status ping(const std::string& registry);
  /// At most 10,000, as the registry orders them.
  [[nodiscard]] Result<std::vector<std::string>> tags(const kcache::Reference& repository);
  /// What says that `subject` is its subject (signatures, say), of one artifact type or, "", of all: by the
  /// referrers API, else by the tag that stands in for it. An answer of the API that is no list (of a
  /// registry before 1.1, or of a page that stands in front of it) leads to the tag at once, after half of
  /// the time at most. What was read before an error counts (Referrers::broken). Taken are 256 that may be
  /// signatures, and as many others, of 8 MiB and 100 pages of lists.
  [[nodiscard]] Result<Referrers> referrers(const kcache::Reference& repository,
                                            const kcache::Digest& subject, const std::string& artifact_type);
  /// By when all that is asked here ends: RegistryOptions::until, or a part of that time.
  [[nodiscard]] TimeLimit& time() { return context_.time; }
  /// Bytes of blobs that came over the network.
  [[nodiscard]] std::uint64_t bytesDownloaded() const { return bytes_downloaded_; }

 private:
  struct Pull;
  using Liar = std::pair<const RegistryHost*, std::string>;

  /// The first answer that is of use; the last error else.
  Result<net::Answer> ask(RegistryHost& host, const RegistryAsk& ask, RegistryRetry& retry, bool is_last);
  Result<FetchedManifest> manifestFrom(RegistryHost& host, const kcache::Reference& reference,
                                       RegistryRetry& retry, bool is_last);
  Status blobFrom(RegistryHost& host, Pull& pull, RegistryRetry& retry, bool is_last);
  /// Adds to `out`. Error NotFound: it has no such list.
  Status listReferrers(RegistryHost& host, const RegistryAsk& first, RegistryRetry& retry,
                       const std::string& artifact_type, bool is_last, Referrers& out);
  /// The same, by the tag.
  Status listByTag(RegistryHost& host, const kcache::Reference& tag, RegistryRetry& retry,
                   const std::string& artifact_type, Referrers& out);
  /// Those that are still asked.
  [[nodiscard]] Result<std::vector<RegistryHost*>> hostsOf(const std::string& registry);
  /// What a mirror said.
  void judge(const RegistryHost& mirror, const Error& error);

  RegistryContext context_;
  RegistryHosts hosts_;
  std::set<Liar> liars_;
  std::set<const RegistryHost*> away_;  // mirrors
  std::uint64_t bytes_downloaded_ = 0;
};

}  // namespace gs::cacherim
