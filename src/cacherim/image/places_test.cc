// oci_layout.h and docker_archive.h: images are read as they were written, and what is not as it should be is
// said. (That skopeo reads them, and is read: test/programs/mcv_test.py.)
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "base/temp_folder_test.h"
#include "cacherim/image/docker_archive.h"
#include "cacherim/image/oci_layout.h"
#include "cacherim/image/tar_test.h"
#include "kcache/content/samples_test.h"

namespace gs::cacherim {
namespace {

namespace fs = std::filesystem;

kcache::Reference imageNamed(const std::string& text) { return *kcache::parseReference(text); }

NewImage imageOf(const std::string& name, const std::string& text = "1") {
  return {.name = imageNamed(name),
          .architecture = "amd64",
          .labels = {{"cache.triton.image/entry-count", "1"}},
          .entries = entriesBelow("io.triton.cache", {{"k/a", text}})};
}

/// What is read of an image at `k/a`, or what is said.
std::string readFrom(ImageSource& source, const kcache::Reference& name) {
  const auto image = openImage(source, name, "amd64");
  if (!image) { return image.error().message; }
  EXPECT_EQ(image->config.labels.at("cache.triton.image/entry-count"), "1");
  Kept kept;
  const Status read = readImage(source, name, *image, {}, kept);
  return read ? kept.files["k/a"] : read.error().message;
}

class PlacesTest : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) { std::ofstream{folder_.path(name)} << text; }
  std::string list(const std::string& config, const std::string& layers, const std::string& tags = "null") {
    return member("manifest.json",
                  R"([{"Config":")" + config + R"(","RepoTags":)" + tags + R"(,"Layers":[)" + layers + "]}]");
  }

  TempFolder folder_;
  std::string oci_ = folder_.path("oci");
  std::string file_ = folder_.path("a.tar");
  const std::string layer_ = tar({member("io.triton.cache/k/a", "1")});
  const std::string config_ =
      R"({"config":{"Labels":{"cache.triton.image/entry-count":"1"}},"rootfs":{"diff_ids":[")" +
      kcache::Digest::of(layer_).text() + R"("]}})";
  const std::string config_name_ = std::string{kcache::Digest::of(config_).hex()} + ".json";
};

TEST_F(PlacesTest, AnOciLayoutHasWhatWasWritten) {
  const auto written = writeOciLayout(imageOf("quay.io/gkm/a:v1"), oci_);
  ASSERT_TRUE(written) << written.error().message;
  OciLayout source{oci_};
  EXPECT_EQ(readFrom(source, imageNamed("quay.io/gkm/a:v1")), "1");
  EXPECT_EQ(readFrom(source, imageNamed("quay.io/gkm/a").pinned(written->digest)), "1");
  EXPECT_EQ(openImage(source, imageNamed("quay.io/gkm/a:v1"), "amd64")->digest, written->digest);
  EXPECT_EQ(readFile(oci_ + "/oci-layout"), R"({"imageLayoutVersion":"1.0.0"})");
}

TEST_F(PlacesTest, TheSameImageHasTheSameDigest) {
  const auto first = writeOciLayout(imageOf("quay.io/gkm/a:v1"), oci_);
  const auto second = writeOciLayout(imageOf("quay.io/gkm/a:v1"), folder_.path("again"));
  EXPECT_EQ(first->digest, second->digest);
  EXPECT_EQ(readFile(oci_ + "/index.json"), readFile(folder_.path("again/index.json")));
  ASSERT_TRUE(writeDockerArchive(imageOf("quay.io/gkm/a:v1"), file_));
  ASSERT_TRUE(writeDockerArchive(imageOf("quay.io/gkm/a:v1"), folder_.path("b.tar")));
  EXPECT_EQ(readFile(file_), readFile(folder_.path("b.tar")));
}

TEST_F(PlacesTest, AnOciLayoutHasSeveralImagesAndANameOnce) {
  ASSERT_TRUE(writeOciLayout(imageOf("quay.io/gkm/a:v1", "old"), oci_));
  ASSERT_TRUE(writeOciLayout(imageOf("quay.io/gkm/b:v1", "b"), oci_));
  ASSERT_TRUE(writeOciLayout(imageOf("quay.io/gkm/a:v1", "new"), oci_));
  OciLayout source{oci_};
  EXPECT_EQ(readFrom(source, imageNamed("quay.io/gkm/a:v1")), "new");
  EXPECT_EQ(readFrom(source, imageNamed("quay.io/gkm/b:v1")), "b");
  EXPECT_EQ(readFrom(source, imageNamed("quay.io/gkm/c:v1")),
            oci_ + " has no image quay.io/gkm/c:v1; it has quay.io/gkm/b:v1, quay.io/gkm/a:v1");
}

TEST_F(PlacesTest, OfAnOciLayoutBytesThatAreOthersAreRefused) {
  const auto written = writeOciLayout(imageOf("quay.io/gkm/a:v1"), oci_);
  OciLayout source{oci_};
  const auto image = *openImage(source, imageNamed("quay.io/gkm/a:v1"), "amd64");
  const std::string blob = oci_ + "/blobs/sha256/" + std::string{image.manifest.layers[0].digest.hex()};
  const std::string good = *readFile(blob);
  std::ofstream{blob} << good << "more";
  EXPECT_NE(readFrom(source, imageNamed("quay.io/gkm/a:v1")).find("or more"), std::string::npos);
  std::string flipped = good;
  flipped.back() = static_cast<char>(flipped.back() ^ 1);
  std::ofstream{blob} << flipped;
  EXPECT_NE(readFrom(source, imageNamed("quay.io/gkm/a:v1")), "1");
  fs::remove(blob);
  EXPECT_NE(readFrom(source, imageNamed("quay.io/gkm/a:v1")).find("cannot read"), std::string::npos);
  std::ofstream{oci_ + "/blobs/sha256/" + std::string{written->digest.hex()}} << "{}";
  EXPECT_NE(readFrom(source, imageNamed("quay.io/gkm/a:v1")).find("its bytes have the digest"),
            std::string::npos);
}

TEST_F(PlacesTest, AFolderWithoutAnIndexIsNoOciLayout) {
  OciLayout source{oci_};
  EXPECT_NE(readFrom(source, imageNamed("quay.io/gkm/a:v1")).find("cannot read"), std::string::npos);
  fs::create_directories(oci_);
  put("oci/index.json", "[]");
  EXPECT_NE(readFrom(source, imageNamed("quay.io/gkm/a:v1")).find("index.json: image manifest"),
            std::string::npos);
  EXPECT_FALSE(writeOciLayout(imageOf("quay.io/gkm/a:v1"), oci_));
}

TEST_F(PlacesTest, ADockerArchiveHasWhatWasWritten) {
  const auto written = writeDockerArchive(imageOf("quay.io/gkm/a:v1"), file_);
  ASSERT_TRUE(written) << written.error().message;
  DockerArchive source{file_};
  EXPECT_EQ(readFrom(source, imageNamed("quay.io/gkm/a:v1")), "1");
  EXPECT_EQ(openImage(source, imageNamed("quay.io/gkm/a:v1"), "amd64")->digest, written->digest);
  EXPECT_EQ(readFrom(source, imageNamed("quay.io/gkm/a").pinned(written->digest)), "1");
  EXPECT_EQ(readFrom(source, imageNamed("quay.io/gkm/b:v1")),
            "'" + file_ + "' has no image quay.io/gkm/b:v1; it has quay.io/gkm/a:v1");
  // Nothing else is left beside it.
  EXPECT_EQ(std::distance(fs::directory_iterator{folder_.path()}, fs::directory_iterator{}), 1);
}

// As docker saved them once: layers in folders, one a link to another.
TEST_F(PlacesTest, OfADockerArchiveLayersMayBeLinks) {
  put("a.tar", tar({member("x/layer.tar", layer_), member("y/layer.tar", "", '2', "../x/layer.tar"),
                    member(config_name_, config_), list(config_name_, R"("y/layer.tar")")}));
  DockerArchive source{file_};
  EXPECT_EQ(readFrom(source, imageNamed("quay.io/gkm/any:v1")), "1");
  put("a.tar", tar({member("x", "", '2', "y"), member("y", "", '2', "x"), member(config_name_, config_),
                    list(config_name_, R"("x")")}));
  DockerArchive loop{file_};
  EXPECT_NE(readFrom(loop, imageNamed("quay.io/gkm/any:v1")).find("has no file 'x'"), std::string::npos);
}

TEST_F(PlacesTest, OfADockerArchiveWhatIsNotAsItShouldBeIsSaid) {
  const auto said = [&](const std::vector<std::string>& members) {
    put("a.tar", members.empty() ? "nonsense" : tar(members));
    DockerArchive source{file_};
    return readFrom(source, imageNamed("quay.io/gkm/a:v1"));
  };
  EXPECT_NE(said({}).find("is no archive of images"), std::string::npos);
  EXPECT_NE(said({member("a", "")}).find("has no file 'manifest.json'"), std::string::npos);
  EXPECT_NE(said({member("manifest.json", "{}")}).find("is no list of images"), std::string::npos);
  EXPECT_NE(said({list("c", "")}).find("has no file 'c'"), std::string::npos);
  EXPECT_NE(said({list(config_name_, ""), member(config_name_, "{}")}).find("has the digest sha256:44136fa3"),
            std::string::npos);
  EXPECT_NE(said({list(config_name_, R"("l")"), member(config_name_, config_), member("l", "evil")})
                .find("the layer 'l' has the digest"),
            std::string::npos);
  fs::remove(file_);
  DockerArchive source{file_};
  EXPECT_NE(readFrom(source, imageNamed("quay.io/gkm/a:v1")).find("there is no such file"),
            std::string::npos);
}

TEST_F(PlacesTest, ACancelledSourceEnds) {
  ASSERT_TRUE(writeOciLayout(imageOf("quay.io/gkm/a:v1"), oci_));
  OciLayout source{oci_};
  source.cancel();
  EXPECT_NE(readFrom(source, imageNamed("quay.io/gkm/a:v1")).find("cancelled"), std::string::npos);
}

TEST_F(PlacesTest, AFailedWriteLeavesNoArchive) {
  NewImage image = imageOf("quay.io/gkm/a:v1");
  image.entries[2].size = 7;
  EXPECT_FALSE(writeDockerArchive(image, file_));
  EXPECT_TRUE(fs::is_empty(folder_.path()));
  EXPECT_FALSE(writeDockerArchive(image, folder_.path("no/such/folder.tar")));
}

/// A source of given texts, for what no place of ours writes.
class Texts final : public ImageSource {
 public:
  Result<FetchedManifest> manifest(const kcache::Reference& reference) override {
    const std::string& text = reference.digest ? texts.at(reference.digest->text()) : first;
    return FetchedManifest{kcache::Digest::of(text), "", text};
  }
  Status blob(const kcache::Reference&, const kcache::Descriptor& blob, const ByteSink& sink) override {
    sink(texts.at(blob.digest.text()));
    return {};
  }
  void cancel() override {}
  kcache::Descriptor add(std::string_view type, const std::string& text) {
    const auto digest = kcache::Digest::of(text);
    texts[digest.text()] = text;
    return {
        .media_type = std::string{type}, .digest = digest, .size = static_cast<std::int64_t>(text.size())};
  }
  std::string first;
  std::map<std::string, std::string> texts;
};

TEST(Image, OfAnIndexTheOneForThisMachineIsOpened) {
  Texts source;
  const auto config = source.add(kcache::media::kOciConfig, R"({"config":{"Labels":{"a":"b"}}})");
  auto entry = source.add(
      kcache::media::kOciManifest,
      kcache::printManifest(
          {.media_type = std::string{kcache::media::kOciManifest}, .config = config, .layers = {}}));
  entry.platform = kcache::Platform{"linux", "amd64"};
  source.first = kcache::printIndex({std::string{kcache::media::kOciIndex}, {entry}, {}});
  const auto image = openImage(source, imageNamed("q.io/a:v1"), "amd64");
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(image->digest, entry.digest);
  EXPECT_EQ(image->config.labels.at("a"), "b");
}

TEST(Image, ALayerThatIsNoneIsRefusedAndAnOldOneIsNot) {
  Texts source;
  const auto config = source.add(kcache::media::kOciConfig, "{}");
  const std::string layer = tar({member("io.triton.cache/k/a", "1")});
  for (const auto& [type, wanted] : {std::pair{"application/vnd.dev.cosign.simplesigning.v1+json", false},
                                     std::pair{"application/cache.triton.content.layer.v1+triton", true},
                                     std::pair{"application/vnd.oci.image.layer.v1.tar+zstd", true}}) {
    source.first = kcache::printManifest({.media_type = std::string{kcache::media::kOciManifest},
                                          .config = config,
                                          .layers = {source.add(type, layer)}});
    const auto image = openImage(source, imageNamed("q.io/a:v1"), "amd64");
    Kept kept;
    EXPECT_EQ(readImage(source, imageNamed("q.io/a:v1"), *image, {}, kept).has_value(), wanted) << type;
  }
}

/// Nobody asks it for anything.
class NotAsked final : public ImageSource {
 public:
  Result<FetchedManifest> manifest(const kcache::Reference& /*unused*/) override {
    return fail(Code::Invalid, "asked");
  }
  Status blob(const kcache::Reference& /*unused*/, const kcache::Descriptor& /*unused*/,
              const ByteSink& /*unused*/) override {
    return fail(Code::Invalid, "asked");
  }
  void cancel() override {}
};

TEST(ReadImage, OneThatSaysThatItIsTooLargeIsNotFetched) {
  const auto digest = kcache::Digest::of("x");
  const kcache::Descriptor half{
      .media_type = std::string{kcache::media::kOciTarGzip}, .digest = digest, .size = 60};
  const Image image{
      digest,
      {.media_type = std::string{kcache::media::kOciManifest}, .config = half, .layers = {half, half}},
      {}};
  NotAsked source;
  Kept kept;
  const Status read = readImage(source, imageNamed("a.io/b:c"), image, {.most_bytes = 100}, kept);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("has 60 bytes: more than the 100"), std::string::npos)
      << read.error().message;
}

}  // namespace
}  // namespace gs::cacherim
