#include "cacherim/image/image.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace gs::cacherim {
namespace {

namespace media = kcache::media;

/// Manifests and blobs by digest.
class InMemory final : public ImageSource {
 public:
  Result<FetchedManifest> manifest(const kcache::Reference& reference) override {
    ++asked;
    return FetchedManifest{*reference.digest, "", texts.at(*reference.digest)};
  }
  Status blob(const kcache::Reference& /*repository*/, const kcache::Descriptor& blob,
              const ByteSink& sink) override {
    return sink(texts.at(blob.digest)) ? Status{} : fail(Code::Conflict, "not wanted");
  }
  void cancel() override {}

  kcache::Descriptor put(std::string_view type, const std::string& text) {
    const auto digest = kcache::Digest::of(text);
    texts[digest] = text;
    return {std::string{type}, digest, static_cast<std::int64_t>(text.size())};
  }
  kcache::Descriptor putImage(std::string_view layer_type) {
    return put(media::kOciManifest, kcache::printManifest({.media_type = std::string{media::kOciManifest},
                                                           .config = put(media::kOciConfig, "{}"),
                                                           .layers = {put(layer_type, "layer")}}));
  }
  /// The image below so many indexes, one in the other.
  kcache::Descriptor below(kcache::Descriptor image, int indexes) {
    for (int i = 0; i < indexes; ++i) {
      image = put(media::kOciIndex, kcache::printIndex({std::string{media::kOciIndex}, {image}, {}}));
    }
    return image;
  }

  std::map<kcache::Digest, std::string> texts;
  int asked = 0;
};

Result<Image> opened(InMemory& source, const kcache::Descriptor& top) {
  return openImage(source, {"quay.io", "a/b", "", top.digest}, "amd64");
}

TEST(OpenImage, AnImageBelowIndexesIsFoundToADepth) {
  InMemory source;
  const auto image = source.putImage(media::kOciTar);
  for (int indexes = 0; indexes <= 4; ++indexes) {
    const auto found = opened(source, source.below(image, indexes));
    ASSERT_TRUE(found) << indexes << ": " << found.error().message;
    EXPECT_EQ(found->digest, image.digest) << indexes;
  }
  source.asked = 0;
  const auto too_deep = opened(source, source.below(image, 50));
  ASSERT_FALSE(too_deep);
  EXPECT_EQ(too_deep.error().code, Code::Invalid);
  EXPECT_NE(too_deep.error().message.find("below more than 4 indexes"), std::string::npos);
  EXPECT_EQ(source.asked, 5);
}

TEST(CheckLayers, AllThatAreTarFilesAreTaken) {
  InMemory source;
  for (const std::string_view type : {media::kOciTar, media::kOciTarGzip, media::kOciTarZstd,
                                      media::kDockerTar, media::kDockerTarGzip, media::kDockerTarZstd}) {
    const auto image = opened(source, source.putImage(type));
    ASSERT_TRUE(image);
    EXPECT_TRUE(checkLayers(*image, {})) << type;
  }
  const auto other = opened(source, source.putImage("application/vnd.wasm"));
  EXPECT_NE(checkLayers(*other, {}).error().message.find("is 'application/vnd.wasm', and no tar file"),
            std::string::npos);
}

}  // namespace
}  // namespace gs::cacherim
