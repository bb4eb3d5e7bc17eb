#include "cacherim/node/present.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "base/temp_folder_test.h"

namespace gs::cacherim {
namespace {

const CacheName kCache = *CacheName::inNamespace("ml", "vectors");
const kcache::Digest kImage = kcache::Digest::of("image");

class PresentTest : public testing::Test {
 protected:
  void makeFolder() const {
    std::filesystem::create_directories(folder_.path("caches/ml/vectors"));
    for (const char* image : {"image", "newer"}) {
      std::error_code there;
      std::filesystem::create_directory_symlink(linkOf(kcache::Digest::of(image)),
                                                placeOf(kcache::Digest::of(image)), there);
    }
  }
  static std::string linkOf(const kcache::Digest& image) {
    return "../../../trees/" + std::string{image.hex()} + "/root";
  }
  [[nodiscard]] std::string placeOf(const kcache::Digest& image) const {
    return folder_.path("caches/ml/vectors/" + image.text());
  }
  void write(const std::string& text) const {
    makeFolder();
    std::ofstream{folder_.path("caches/ml/vectors/cache.json")} << text;
  }
  [[nodiscard]] Result<Present> read() const { return readPresent(folder_.path(), kCache); }

  const TempFolder folder_;
  const Disk disk_{{}, false};
  const Present present_{.image = kImage,
                         .reference = "quay.io/gkm/vectors:rocm",
                         .bytes = 80415,
                         .compatible_gpus = {0, 3},
                         .incompatible_gpus = {1}};
};

TEST_F(PresentTest, IsReadAsItWasWritten) {
  makeFolder();
  ASSERT_TRUE(writePresent(folder_.path(), kCache, present_, disk_));
  EXPECT_EQ(read(), present_);
  Present other = present_;
  other.image = kcache::Digest::of("newer");
  ASSERT_TRUE(writePresent(folder_.path(), kCache, other, disk_));
  EXPECT_EQ(read(), other);
}

TEST_F(PresentTest, WhatTheAncestorWroteIsReadAndNotBelieved) {
  const std::string text{
      "{\n  \"resolvedDigest\": \"" + kImage.text() +
      "\",\n  \"image\": \"quay.io/gkm/vectors:rocm\",\n  \"sizes\": {\"sha256:other\": 1, \"" +
      kImage.text() + "\": 80415}\n}\n"};
  const auto got = parsePresent(text);
  ASSERT_TRUE(got);
  EXPECT_FALSE(got->is_ours);
  EXPECT_EQ(parsePresent(printPresent(*got)), *got);
  write(text);
  EXPECT_EQ(read().error().code, Code::NotFound) << "though the image's link is there";
  EXPECT_EQ(got->image, kImage);
  EXPECT_EQ(got->bytes, 80415U);
  EXPECT_TRUE(got->compatible_gpus.empty());
}

TEST_F(PresentTest, WithoutTheLinkOfItsImageItIsNotBelieved) {
  makeFolder();
  ASSERT_TRUE(writePresent(folder_.path(), kCache, present_, disk_));
  const std::string place = placeOf(kImage);
  std::filesystem::remove(place);
  EXPECT_EQ(read().error().code, Code::NotFound) << "its place is gone";
  for (const std::string& other : {linkOf(kcache::Digest::of("newer")), "/" + linkOf(kImage)}) {
    std::filesystem::create_directory_symlink(other, place);
    EXPECT_EQ(read().error().code, Code::NotFound) << other;
    std::filesystem::remove(place);
  }
  std::ofstream{place} << "a file";
  EXPECT_EQ(read().error().code, Code::NotFound);
  std::filesystem::remove(place);
  std::filesystem::create_directory(place);
  EXPECT_EQ(read(), present_) << "the ancestor's folder stays under its pods, new ones get our tree";
}

TEST_F(PresentTest, NoLinkIsFollowedToATree) {
  const std::string tree = folder_.path("trees/" + std::string{kImage.hex()});
  const auto code = [&] {
    const auto got = completeTree(folder_.path(), kImage);
    return got ? Code{} : got.error().code;
  };
  EXPECT_EQ(code(), Code::NotFound);
  std::filesystem::create_directories(tree + "/root");
  EXPECT_EQ(code(), Code::NotFound) << "it is not complete";
  std::ofstream{tree + "/record.json"} << "{}";
  const auto got = completeTree(folder_.path(), kImage);
  ASSERT_TRUE(got);
  EXPECT_TRUE(std::filesystem::equivalent("/proc/self/fd/" + std::to_string(got->get()), tree + "/root"));
  std::filesystem::rename(tree + "/root", tree + "/elsewhere");
  std::filesystem::create_directory_symlink("elsewhere", tree + "/root");
  EXPECT_EQ(code(), Code::Conflict);
  std::filesystem::remove(tree + "/root");
  std::filesystem::rename(tree + "/elsewhere", tree + "/root");
  std::filesystem::rename(tree, folder_.path("trees/moved"));
  std::filesystem::create_directory_symlink("moved", tree);
  EXPECT_EQ(code(), Code::Conflict);
}

TEST_F(PresentTest, NoFolderAndNoFileAreNotFound) {
  EXPECT_EQ(read().error().code, Code::NotFound);
  makeFolder();
  EXPECT_EQ(read().error().code, Code::NotFound);
}

TEST_F(PresentTest, WhatIsNoDigestIsNeverAPath) {
  for (const std::string bad : {R"({"resolvedDigest":""})", R"({"resolvedDigest":"../../etc"})", "{}", "no",
                                R"({"resolvedDigest":7})"}) {
    write(bad);
    const auto got = read();
    ASSERT_FALSE(got) << bad;
    EXPECT_EQ(got.error().code, Code::Invalid) << bad;
    EXPECT_NE(got.error().message.find("caches/ml/vectors/cache.json"), std::string::npos);
  }
  write(R"({"resolvedDigest":")" + kImage.text() + R"(","compatibleGPUs":[-1]})");
  EXPECT_EQ(read().error().code, Code::Invalid);
}

TEST_F(PresentTest, GoesAndGoingTwiceIsFine) {
  makeFolder();
  ASSERT_TRUE(writePresent(folder_.path(), kCache, present_, disk_));
  EXPECT_TRUE(removePresent(folder_.path(), kCache, disk_));
  EXPECT_EQ(read().error().code, Code::NotFound);
  EXPECT_TRUE(removePresent(folder_.path(), kCache, disk_));
}

TEST_F(PresentTest, ACrashAtAnyStepLeavesTheOldOneOrTheNewOne) {
  makeFolder();
  ASSERT_TRUE(writePresent(folder_.path(), kCache, present_, disk_));
  Present other = present_;
  other.image = kcache::Digest::of("newer");
  for (int last = 0; last < 10; ++last) {
    int step = 0;
    const Disk crashing{
        [&](std::string_view) { return step++ == last ? throw std::runtime_error{"crash"} : 0; }, false};
    try {
      static_cast<void>(writePresent(folder_.path(), kCache, other, crashing));
    } catch (const std::runtime_error&) {
      ASSERT_TRUE(read() == present_ || read() == other) << "step " << last;
      ASSERT_TRUE(writePresent(folder_.path(), kCache, present_, disk_)) << "step " << last;
      continue;
    }
    EXPECT_GT(last, 4);
    break;
  }
  std::size_t left = 0;
  for (const auto& one : std::filesystem::directory_iterator{folder_.path("caches/ml/vectors")}) {
    if (one.is_symlink()) { continue; }
    EXPECT_EQ(one.path().filename(), "cache.json");
    ++left;
  }
  EXPECT_EQ(left, 1U);
}

}  // namespace
}  // namespace gs::cacherim
