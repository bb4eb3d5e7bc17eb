#include "cacherim/image/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace gs::cacherim {
namespace {

namespace media = kcache::media;

constexpr std::size_t kMaxConfig = std::size_t{4} << 20;
constexpr int kMostIndexes = 4;  // one in the other
constexpr std::array<std::string_view, 8> kLayers{media::kOciTar,
                                                  media::kOciTarGzip,
                                                  media::kOciTarZstd,
                                                  media::kDockerTar,
                                                  media::kDockerTarGzip,
                                                  media::kDockerTarZstd,
                                                  "application/cache.triton.content.layer.v1+triton",
                                                  "application/cache.vllm.content.layer.v1+vllm"};

Result<Image> withConfig(ImageSource& source, const kcache::Reference& reference, const FetchedManifest& got,
                         kcache::Manifest manifest) {
  const auto text = blobText(source, reference, manifest.config, kMaxConfig);
  if (!text) { return tl::unexpected(text.error()); }
  auto config = kcache::parseImageConfig(*text);
  if (!config) { return tl::unexpected(config.error()); }
  return Image{got.digest, std::move(manifest), std::move(*config)};
}

}  // namespace

Result<std::string> blobText(ImageSource& source, const kcache::Reference& repository,
                             const kcache::Descriptor& blob, std::size_t max_bytes) {
  if (blob.size > static_cast<std::int64_t>(max_bytes)) {
    return fail(Code::Invalid,
                fmt::format("{} has {} bytes; {} are allowed", blob.digest.text(), blob.size, max_bytes));
  }
  std::string text;
  const Status read = source.blob(repository, blob, [&](std::string_view piece) {
    text += piece;
    return text.size() <= max_bytes;
  });
  if (!read) { return tl::unexpected(read.error()); }
  return text;
}

Result<Image> openImage(ImageSource& source, const kcache::Reference& reference,
                        std::string_view architecture) {
  kcache::Reference name = reference;
  for (int depth = 0; depth <= kMostIndexes; ++depth) {
    const auto got = source.manifest(name);
    if (!got) { return tl::unexpected(got.error()); }
    auto any = kcache::parseManifest(got->text, got->media_type);
    if (!any) { return tl::unexpected(any.error()); }
    if (auto* manifest = std::get_if<kcache::Manifest>(&*any)) {
      return withConfig(source, name, *got, std::move(*manifest));
    }
    const auto chosen = kcache::choosePlatform(std::get<kcache::Index>(*any), architecture);
    if (!chosen) { return tl::unexpected(chosen.error()); }
    name = reference.pinned(chosen->digest);
  }
  return fail(Code::Invalid, fmt::format("{} has an image below more than {} indexes, one in the other",
                                         reference.text(), kMostIndexes));
}

Status checkLayers(const Image& image, const kcache::LayerLimits& limits) {
  std::int64_t left = limits.most_bytes;
  for (const kcache::Descriptor& layer : image.manifest.layers) {
    if (layer.size < 0 || layer.size > left) {
      return fail(Code::Invalid,
                  fmt::format("layer {} has {} bytes: more than the {} that an image may have in all",
                              layer.digest.text(), layer.size, limits.most_bytes));
    }
    left -= layer.size;
    if (std::find(kLayers.begin(), kLayers.end(), layer.media_type) == kLayers.end()) {
      return fail(Code::Invalid,
                  fmt::format("layer {} is '{}', and no tar file", layer.digest.text(), layer.media_type));
    }
  }
  return {};
}

Status readImage(ImageSource& source, const kcache::Reference& reference, const Image& image,
                 const kcache::LayerLimits& limits, LayerTaker& taker) {
  if (Status good = checkLayers(image, limits); !good) { return good; }
  kcache::LayerRules rules{limits};
  for (const kcache::Descriptor& layer : image.manifest.layers) {
    const LayerFeed feed = [&](const ByteSink& sink) { return source.blob(reference, layer, sink); };
    if (Status read = readLayer(feed, rules, taker); !read) { return read; }
  }
  return {};
}

}  // namespace gs::cacherim
