// For tests only: images in memory as a registry would give them, which count what was asked for, and can be
// slow, cut or gone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "cacherim/image/image_source.h"
#include "cacherim/image/tar_test.h"
#include "json/value.h"
#include "kcache/image/manifest.h"
#include "kcache/node/node.h"

namespace gs::cacherim {

inline const model::ObjectKey kOne{"ns", "one"};

class ImagesOnPaper {
 public:
  /// Before a blob is given: an error in its place.
  std::function<Status(const kcache::Digest& blob)> fate = [](const kcache::Digest&) { return Status{}; };
  /// Before a manifest is given: the same.
  std::function<Status(const kcache::Reference& image)> manifest_fate = [](const kcache::Reference&) {
    return Status{};
  };

  /// Each layer: files below the cache's root. The image by its digest.
  kcache::Reference make(
      const std::vector<std::map<std::string, std::string>>& layers,
      const std::string& summary = R"({"targets":[{"backend":"cuda","arch":"90","warp_size":32}]})") {
    json::Array descriptors;
    for (const auto& files : layers) {
      descriptors.push_back(describe(written(entriesBelow("io.triton.cache", files), Packing::Gzip),
                                     std::string{kcache::media::kOciTarGzip}));
    }
    json::Value labels = json::Object{{"cache.triton.image/entry-count", "1"}};
    if (!summary.empty()) { labels.set("cache.triton.image/summary", summary); }
    const std::string config = json::print(json::Object{
        {"architecture", "amd64"}, {"os", "linux"}, {"config", json::Object{{"Labels", std::move(labels)}}}});
    const std::string manifest =
        json::print(json::Object{{"schemaVersion", 2},
                                 {"mediaType", "application/vnd.oci.image.manifest.v1+json"},
                                 {"config", describe(config, "application/vnd.oci.image.config.v1+json")},
                                 {"layers", std::move(descriptors)}});
    const auto digest = kcache::Digest::of(manifest);
    const MutexLock lock{mutex_};
    blobs_[digest] = manifest;
    return {"quay.io", "gkm/a", "", digest};
  }
  /// One for each fetch.
  std::unique_ptr<ImageSource> source() { return std::make_unique<Source>(*this); }
  /// Bytes of layers and configs that were given.
  [[nodiscard]] std::int64_t bytes() {
    const MutexLock lock{mutex_};
    return bytes_;
  }

 private:
  class Source final : public ImageSource {
   public:
    explicit Source(ImagesOnPaper& images) : images_{images} {}
    Result<FetchedManifest> manifest(const kcache::Reference& reference) override {
      if (Status bad = images_.manifest_fate(reference); !bad) { return tl::unexpected(bad.error()); }
      const MutexLock lock{images_.mutex_};
      const auto it = images_.blobs_.find(*reference.digest);
      if (it == images_.blobs_.end()) { return fail(Code::NotFound, "manifest unknown"); }
      return FetchedManifest{*reference.digest, "", it->second};
    }
    Status blob(const kcache::Reference& /*repository*/, const kcache::Descriptor& blob,
                const ByteSink& sink) override {
      if (Status bad = images_.fate(blob.digest); !bad) { return bad; }
      std::string text;
      {
        const MutexLock lock{images_.mutex_};
        text = images_.blobs_.at(blob.digest);
        images_.bytes_ += static_cast<std::int64_t>(text.size());
      }
      if (!sink(text)) { return fail(Code::Conflict, "not wanted"); }
      return {};
    }
    void cancel() override {}

   private:
    ImagesOnPaper& images_;
  };

  json::Value describe(const std::string& bytes, const std::string& media_type) {
    const auto digest = kcache::Digest::of(bytes);
    const MutexLock lock{mutex_};
    blobs_[digest] = bytes;
    return json::Object{{"mediaType", media_type},
                        {"digest", digest.text()},
                        {"size", static_cast<std::int64_t>(bytes.size())}};
  }

  Mutex mutex_;
  std::map<kcache::Digest, std::string> blobs_ GS_GUARDED_BY(mutex_);
  std::int64_t bytes_ GS_GUARDED_BY(mutex_) = 0;
};

}  // namespace gs::cacherim
