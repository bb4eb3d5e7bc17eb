#include "kcache/image/manifest.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace gs::kcache {
namespace {

const std::string kA = "sha256:" + std::string(64, 'a');
const std::string kB = "sha256:" + std::string(64, 'b');

std::string descriptor(std::string_view type, const std::string& digest, const std::string& more = "") {
  return fmt::format(R"({{"mediaType":"{}","digest":"{}","size":7{}}})", type, digest, more);
}

std::string image(const std::string& head, const std::string& layers, const std::string& tail = "") {
  return fmt::format(R"({{"schemaVersion":2{},"config":{},"layers":[{}]{}}})", head,
                     descriptor(media::kOciConfig, kA), layers, tail);
}

std::string typed(std::string_view type) { return fmt::format(R"(,"mediaType":"{}")", type); }

TEST(ImageManifest, IsReadAndPrintedAsItWas) {
  const std::string text =
      image(typed(media::kOciManifest) + R"(,"artifactType":"application/x")",
            descriptor(media::kOciTarGzip, kB, R"(,"annotations":{"k":"v"},"artifactType":"t")"),
            R"(,"subject":)" + descriptor(media::kOciManifest, kB) + R"(,"annotations":{"a":"b"})");
  const auto read = parseManifest(text, "");
  ASSERT_TRUE(read) << read.error().message;
  const auto& manifest = std::get<Manifest>(*read);
  EXPECT_EQ(manifest.media_type, media::kOciManifest);
  EXPECT_EQ(manifest.config.digest.text(), kA);
  ASSERT_EQ(manifest.layers.size(), 1U);
  EXPECT_EQ(manifest.layers[0].media_type, media::kOciTarGzip);
  EXPECT_EQ(manifest.layers[0].size, 7);
  EXPECT_EQ(manifest.layers[0].annotations.at("k"), "v");
  EXPECT_EQ(manifest.subject->digest.text(), kB);
  EXPECT_EQ(printManifest(manifest), text);
}

TEST(ImageManifest, AnIndexIsReadAndPrintedAsItWas) {
  const std::string text = fmt::format(
      R"({{"schemaVersion":2{},"manifests":[{}],"annotations":{{"a":"b"}}}})", typed(media::kOciIndex),
      descriptor(media::kOciManifest, kA, R"(,"platform":{"architecture":"amd64","os":"linux"})"));
  const auto read = parseManifest(text, "");
  ASSERT_TRUE(read) << read.error().message;
  const auto& index = std::get<Index>(*read);
  EXPECT_EQ(index.manifests.at(0).platform, (Platform{"linux", "amd64"}));
  EXPECT_EQ(printIndex(index), text);
}

TEST(ImageManifest, ItsKindIsWhatItSaysOrHowItCameOrWhatItLooksLike) {
  const std::string layers = descriptor(media::kDockerTarGzip, kB);
  const std::string plain = image("", layers);
  const std::string index = R"({"manifests":[]})";
  struct Row {
    std::string text;
    std::string content_type;
    std::string_view type;
  };
  const Row table[] = {
      {image(typed(media::kDockerManifest), layers), "", media::kDockerManifest},
      {image(typed(media::kDockerManifest), layers), "application/json", media::kDockerManifest},
      {plain, std::string{media::kDockerManifest} + "; charset=utf-8", media::kDockerManifest},
      {plain, "", media::kOciManifest},
      {plain, "text/plain", media::kOciManifest},
      {index, "", media::kOciIndex},
      {index, std::string{media::kDockerList}, media::kDockerList},
  };
  for (const Row& row : table) {
    const auto read = parseManifest(row.text, row.content_type);
    ASSERT_TRUE(read) << row.text << ": " << read.error().message;
    const std::string type = std::visit([](const auto& one) { return one.media_type; }, *read);
    EXPECT_EQ(type, row.type) << row.text;
  }
}

TEST(ImageManifest, WhatIsWrongIsNamed) {
  const std::string layer = descriptor(media::kOciTarGzip, kB);
  const std::pair<std::string, std::string> table[] = {
      {"", "image manifest: "},
      {"[]", "image manifest: it is no JSON object"},
      {"{}", "image manifest: it has neither layers nor manifests"},
      {R"({"mediaType":"application/vnd.docker.distribution.manifest.v1+json"})",
       "image manifest: mediaType is 'application/vnd.docker.distribution.manifest.v1+json'; images"},
      {R"({"layers":[]})", "image manifest: config is no descriptor"},
      {image("", "7"), "image manifest: layers[0] is no descriptor"},
      {image("", layer + R"(,{"mediaType":"","digest":"x"})"),
       "image manifest: layers[1].mediaType is missing"},
      {image("", R"({"mediaType":"m","digest":"sha256:x","size":1})"),
       "image manifest: layers[0].digest: 'sha256:x' is no digest"},
      {image("", fmt::format(R"({{"mediaType":"m","digest":"{}","size":-1}})", kA)),
       "image manifest: layers[0].size is no number of bytes"},
      {image("", fmt::format(R"({{"mediaType":"m","digest":"{}","size":9007199254740992}})", kA)),
       "image manifest: layers[0].size is no number of bytes"},
      {image("", fmt::format(R"({{"mediaType":"m","digest":"{}","size":1.5}})", kA)),
       "image manifest: layers[0].size is no number of bytes"},
      {image("", layer, R"(,"annotations":{"k":1})"), "image manifest: annotations['k'] is no string"},
      {image("", layer, R"(,"annotations":[])"), "image manifest: annotations is no object"},
      {image("", layer, R"(,"subject":{})"), "image manifest: subject.mediaType is missing"},
      {image("", layer, R"(,"manifests":[])"), "image manifest: it has both manifests and layers"},
      {image(typed(media::kOciIndex), layer), "image manifest: manifests is no list"},
  };
  for (const auto& [text, what] : table) {
    const auto read = parseManifest(text, "");
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Code::Invalid);
    EXPECT_TRUE(read.error().message.starts_with(what)) << read.error().message;
  }
}

TEST(ImageManifest, AKindThatTheSenderContradictsIsRefused) {
  const auto read = parseManifest(image(typed(media::kOciManifest), ""), media::kOciIndex);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("but it was sent as"), std::string::npos);
}

TEST(ImageManifest, IsNoLongerAndHasNoMoreLayersThanIsAllowed) {
  std::string layers;
  for (int i = 0; i < 129; ++i) {
    layers += (i == 0 ? "" : ",") + descriptor(media::kOciTarGzip, kB);
    if (i == 127) { EXPECT_TRUE(parseManifest(image("", layers), "")); }
  }
  EXPECT_EQ(parseManifest(image("", layers), "").error().message,
            "image manifest: layers has 129 entries; 128 are allowed");
  EXPECT_FALSE(parseManifest(image("", "", std::string(kMaxManifestBytes, ' ')), ""));
}

Descriptor entry(std::string_view type, const std::string& digest, std::optional<Platform> platform) {
  return {.media_type = std::string{type}, .digest = *Digest::parse(digest), .platform = std::move(platform)};
}

TEST(ImageManifest, OfAnIndexThePlatformsImageIsTaken) {
  const Descriptor amd = entry(media::kOciManifest, kA, Platform{"linux", "amd64"});
  const Descriptor arm = entry(media::kOciManifest, kB, Platform{"linux", "arm64"});
  const Descriptor windows = entry(media::kOciManifest, kB, Platform{"windows", "amd64"});
  const Descriptor attestation = entry(media::kOciManifest, kB, Platform{"unknown", "unknown"});
  const Descriptor bare = entry(media::kDockerManifest, kB, std::nullopt);
  const Descriptor other = entry("application/x", kB, std::nullopt);
  const auto chosen = [](std::vector<Descriptor> entries, const char* architecture) {
    const auto one = choosePlatform({"", std::move(entries), {}}, architecture);
    return one ? one->digest.text() : one.error().message;
  };
  EXPECT_EQ(chosen({arm, windows, amd}, "amd64"), kA);
  EXPECT_EQ(chosen({arm, attestation, other}, "amd64"), kB);
  EXPECT_EQ(chosen({bare}, "amd64"), kB);
  EXPECT_EQ(chosen({attestation, other}, "amd64"), "the index has no image");
  const Descriptor index = entry(media::kOciIndex, kA, std::nullopt);
  EXPECT_EQ(chosen({attestation, index}, "amd64"), kA) << "an index of an index";
  EXPECT_EQ(chosen({index, bare}, "amd64"), kB);
  EXPECT_EQ(chosen({index, index}, "amd64"), "the index has no image");
  EXPECT_EQ(chosen({amd, windows, bare}, "s390x"),
            "the index has no image for linux/s390x; there are linux/amd64, windows/amd64, (no platform)");
}

TEST(Artifact, ItsLayersAreReadEachForItself) {
  std::string layers = R"({"mediaType":"m","digest":"sha512:0","size":1},7)";
  for (int i = 0; i < 200; ++i) { layers += "," + descriptor(media::kOciTarGzip, kB); }
  const auto read = parseArtifact(image("", layers), "");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->layers.size(), 200U);
  const auto index = parseArtifact(R"({"manifests":[]})", "");
  ASSERT_FALSE(index);
  EXPECT_TRUE(index.error().message.ends_with("it is an index, and no artifact"));
  EXPECT_FALSE(parseArtifact("{}", ""));
}

TEST(Referrers, AreReadEachForItself) {
  const std::string good = R"({"mediaType":"m","size":1,"digest":")" + std::string{kA} + "\"}";
  const auto count = [](const std::string& text) {
    const auto read = parseReferrers(text);
    return read ? std::to_string(read->manifests.size()) : read.error().message;
  };
  const std::string index = std::string{R"("mediaType":")"} + std::string{media::kOciIndex} + '"';
  EXPECT_EQ(count("{" + index + R"(,"manifests":[)" + good + R"(,{"digest":"sha512:0"},7])" + "}"), "1");
  EXPECT_EQ(count(R"({"manifests":[]})"), "0");
  EXPECT_EQ(count("{" + index + R"(,"manifests":null})"), "0");
  std::string many = good;
  for (int i = 0; i < 300; ++i) { many += "," + good; }
  EXPECT_EQ(count(R"({"manifests":[)" + many + "]}"), "301");
  for (const char* text :
       {"{}", "[]", "<html>", "7", R"({"manifests":{}})", R"({"mediaType":"x","manifests":[]})"}) {
    EXPECT_TRUE(count(text).starts_with("list of referrers: ")) << text << ": " << count(text);
  }
}

TEST(ImageConfig, IsReadAsItWasPrinted) {
  const ImageConfig config{{"linux", "amd64"}, {{"a", "1"}, {"b", "{\"x\":2}"}}, {*Digest::parse(kA)}};
  const std::string text = printImageConfig(config);
  EXPECT_TRUE(text.starts_with(R"({"created":"1970-01-01T00:00:00Z","architecture":"amd64")")) << text;
  const auto read = parseImageConfig(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->platform, config.platform);
  EXPECT_EQ(read->labels, config.labels);
  EXPECT_EQ(read->diff_ids, config.diff_ids);
}

TEST(ImageConfig, OfAnArtifactIsEmpty) {
  const auto read = parseImageConfig("{}");
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->labels.empty());
  EXPECT_TRUE(parseImageConfig(R"({"config":{"Labels":null}})"));
}

TEST(ImageConfig, WhatIsWrongIsNamed) {
  EXPECT_EQ(parseImageConfig(R"({"config":{"Labels":{"a":1}}})").error().message,
            "image config: label 'a' is no string");
  EXPECT_TRUE(parseImageConfig(R"({"rootfs":{"diff_ids":["x"]}})")
                  .error()
                  .message.starts_with("image config: rootfs.diff_ids: 'x' is no digest"));
  EXPECT_FALSE(parseImageConfig("{"));
}

TEST(Manifest, TooManyValuesAreRefusedBeforeTheyAreRead) {
  const std::string many = "[" + std::string(65'536, ',') + "]";  // no JSON, which nobody gets to see
  EXPECT_EQ(parseManifest(many, "").error(),
            (Error{Code::Invalid, "image manifest: it has too many values; 65536 are allowed"}));
  EXPECT_EQ(parseImageConfig(many).error(),
            (Error{Code::Invalid, "image config: it has too many values; 65536 are allowed"}));
  std::string list = "0";
  for (int i = 1; i < 65'536; ++i) { list += ",0"; }
  EXPECT_TRUE(parseImageConfig(R"({"x":[)" + list + "]}"));
  EXPECT_FALSE(parseImageConfig(R"({"x":[0,)" + list + "]}"));
}

}  // namespace
}  // namespace gs::kcache
