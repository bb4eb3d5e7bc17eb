#include "test/sim/cache_registry.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/check.h"
#include "cacherim/image/tar_test.h"
#include "json/value.h"
#include "test/sim/cache_places.h"

namespace gs::sim {
namespace {

using cacherim::ByteSink;
using kcache::Digest;

/// Made once, for all plays.
struct Images {
  std::vector<Digest> images;
  std::map<Digest, CacheRegistry::Files> files;  // by image
  std::map<Digest, std::string> blobs;

  Images() {
    const CacheRegistry::Files base{{"K/a.json", "{}"}, {"K/a.ptx", "one"}};
    const CacheRegistry::Files more{{"L/b.json", "{}"}, {"K/a.ptx", "two"}};
    add({base});
    add({base, more});
    add({more});
    for (int i = static_cast<int>(images.size()); i < kCacheImages; ++i) {
      add({base, {{"M/c.json", fmt::format("{{}} {}", i)}}});
    }
    for (const auto& below : {base, more}) {
      add({below, {{"K/__grp__a.json", groupText("K/__grp__a.json", "a.ptx", kSharedPlace)}}});
    }
  }

 private:
  void add(const std::vector<CacheRegistry::Files>& layers) {
    json::Array descriptors;
    CacheRegistry::Files all;
    for (const auto& layer : layers) {
      CacheRegistry::Files as_made = layer;
      for (auto& [path, text] : as_made) {
        if (namesPaths(path)) { text = textAt(text, kMadeAt); }
      }
      descriptors.push_back(describe(
          cacherim::written(cacherim::entriesBelow("io.triton.cache", as_made), cacherim::Packing::Plain),
          std::string{kcache::media::kOciTar}));
      for (const auto& [path, text] : layer) { all[path] = text; }
    }
    const json::Value labels = json::Object{
        {"cache.triton.image/entry-count", "1"},
        {"cache.triton.image/summary", R"({"targets":[{"backend":"cuda","arch":"90","warp_size":32}]})"}};
    const std::string config = json::print(json::Object{
        {"architecture", "amd64"}, {"os", "linux"}, {"config", json::Object{{"Labels", labels}}}});
    const std::string manifest =
        json::print(json::Object{{"schemaVersion", 2},
                                 {"mediaType", "application/vnd.oci.image.manifest.v1+json"},
                                 {"config", describe(config, "application/vnd.oci.image.config.v1+json")},
                                 {"layers", std::move(descriptors)}});
    images.push_back(Digest::of(manifest));
    blobs.emplace(images.back(), manifest);
    files.emplace(images.back(), std::move(all));
  }
  json::Value describe(const std::string& bytes, const std::string& media_type) {
    const auto digest = Digest::of(bytes);
    blobs.emplace(digest, bytes);
    return json::Object{{"mediaType", media_type},
                        {"digest", digest.text()},
                        {"size", static_cast<std::int64_t>(bytes.size())}};
  }
};

const Images& images() {
  static const Images made;
  return made;
}

enum class Manner : std::uint8_t { Well, Away, Lies, Cut, SendsNowhere, SendsToPage, HasNone };

Manner mannerOf(CacheRegistry::Fault fault) {
  using Fault = CacheRegistry::Fault;
  switch (fault) {
    case Fault::Away: return Manner::Away;
    case Fault::Lies: return Manner::Lies;
    case Fault::Cut: return Manner::Cut;
    case Fault::SendsNowhere: return Manner::SendsNowhere;
    case Fault::SendsToPage: return Manner::SendsToPage;
    case Fault::Slow: break;
  }
  return Manner::Well;
}

constexpr std::string_view kPage = "<html><body>Please log in</body></html>";

class Source final : public cacherim::ImageSource {
 public:
  explicit Source(Manner manner) : manner_{manner} {}

  Result<cacherim::FetchedManifest> manifest(const kcache::Reference& reference) override {
    if (manner_ == Manner::Away) { return fail(Code::Unavailable, "the registry does not answer"); }
    if (manner_ == Manner::HasNone) { return fail(Code::NotFound, "manifest unknown"); }
    const auto it = images().blobs.find(*reference.digest);
    if (it == images().blobs.end()) { return fail(Code::NotFound, "manifest unknown"); }
    return cacherim::FetchedManifest{it->first, "", it->second};
  }
  Status blob(const kcache::Reference& /*repository*/, const kcache::Descriptor& blob,
              const ByteSink& sink) override {
    if (manner_ == Manner::SendsNowhere) {
      return fail(Code::Unavailable, "the host that the registry sends to does not answer");
    }
    std::string text = manner_ == Manner::SendsToPage ? std::string{kPage} : images().blobs.at(blob.digest);
    const bool is_layer = text.size() > kLeastLayer;
    if (manner_ == Manner::Lies && is_layer) { text.at(text.find('{')) = '['; }
    const std::size_t sent = manner_ == Manner::Cut && is_layer ? kLeastLayer : text.size();
    if (!sink(std::string_view{text}.substr(0, sent))) { return fail(Code::Conflict, "not wanted"); }
    if (sent < text.size()) { return fail(Code::Unavailable, "the registry ended in the middle"); }
    if (Digest::of(text) != blob.digest) { return fail(Code::Invalid, "it is not what its digest says"); }
    return {};
  }
  void cancel() override {}

 private:
  static constexpr std::size_t kLeastLayer = 1536;  // one file and the half of another
  const Manner manner_;
};

}  // namespace

std::string CacheRegistry::nameOf(int tag) { return fmt::format("quay.io/gkm/caches:v{}", tag); }

void CacheRegistry::fail(Fault how, Duration lasts) {
  how_ = how;
  until_ = world_.now().mono + lasts;
}

std::optional<Digest> CacheRegistry::resolve(int tag) const {
  if (is(Fault::Away)) { return std::nullopt; }
  return images().images.at(static_cast<std::size_t>(tags_.at(static_cast<std::size_t>(tag))));
}

Duration CacheRegistry::takes(const kcache::Reference& image) const {
  if (image.name() == elsewhere(true)) { return std::chrono::hours{8}; }
  return is(Fault::Slow) ? std::chrono::seconds{6} : std::chrono::milliseconds{300};
}

std::string CacheRegistry::elsewhere(bool drips) {
  return drips ? "drips.example/play/caches" : "none.example/trusted/caches";
}

Digest CacheRegistry::digestOf(int image) { return images().images.at(static_cast<std::size_t>(image)); }

std::unique_ptr<cacherim::ImageSource> CacheRegistry::source(const kcache::Reference& image) const {
  if (image.name() == elsewhere(false)) { return std::make_unique<Source>(Manner::HasNone); }
  return std::make_unique<Source>(world_.now().mono < until_ ? mannerOf(how_) : Manner::Well);
}

const CacheRegistry::Files* CacheRegistry::filesOf(const Digest& image) {
  const auto it = images().files.find(image);
  return it == images().files.end() ? nullptr : &it->second;
}

}  // namespace gs::sim
