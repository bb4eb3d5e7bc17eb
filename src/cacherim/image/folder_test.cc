#include "cacherim/image/folder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/temp_folder_test.h"
#include "cacherim/image/fresh_folder.h"
#include "cacherim/image/tar_test.h"
#include "kcache/content/samples_test.h"

namespace gs::cacherim {
namespace {

namespace fs = std::filesystem;

class FolderWriterTest : public ::testing::Test {
 protected:
  /// Brings layers to `target`.
  Status bring(const std::vector<std::string>& layers, std::optional<std::string> root = std::nullopt) {
    auto fresh = FreshFolder::towards(target_);
    if (!fresh) { return tl::unexpected(fresh.error()); }
    FolderWriter writer{fresh->get(), std::move(root)};
    kcache::LayerRules rules{{}};
    for (const std::string& layer : layers) {
      if (Status read = readLayer(feedOf(layer), rules, writer); !read) { return read; }
    }
    files_ = writer.files();
    bytes_ = writer.bytes();
    manifest_ = writer.manifest();
    return fresh->publish();
  }
  std::string text(const std::string& path) const {
    return readFile(target_ + '/' + path).value_or("(none)");
  }
  /// Names beside the target: nothing is to be left there.
  std::vector<std::string> beside() const {
    std::vector<std::string> out;
    for (const auto& one : fs::directory_iterator{folder_.path()}) { out.push_back(one.path().filename()); }
    return out;
  }

  TempFolder folder_;
  std::string target_ = folder_.path("cache");
  std::int64_t files_ = 0;
  std::int64_t bytes_ = 0;
  std::string manifest_;
};

TEST_F(FolderWriterTest, ACacheComesThereAsAWhole) {
  auto entries = entriesBelow("io.triton.cache", kcache::rocmSample());
  entries.push_back(textEntry("io.triton.manifest/manifest.json", kcache::kRocmManifest));
  ASSERT_TRUE(bring({written(entries, Packing::Gzip)}));
  for (const auto& [path, wanted] : kcache::rocmSample()) { EXPECT_EQ(text(path), wanted) << path; }
  EXPECT_EQ(files_, 10);
  EXPECT_EQ(bytes_, 80415);
  EXPECT_EQ(manifest_, kcache::kRocmManifest);
  EXPECT_EQ(beside(), std::vector<std::string>{"cache"});
}

TEST_F(FolderWriterTest, ModesAreOursAndNotTheImages) {
  const std::string layer =
      tar({member("io.triton.cache/k", "", '5', "", 0700), member("io.triton.cache/k/a", "1", '0', "", 0600),
           member("io.triton.cache/k/b", "1", '0', "", 0711)});
  ASSERT_TRUE(bring({layer}));
  const auto mode = [&](const char* path) {
    return static_cast<unsigned>(fs::status(target_ + path).permissions());
  };
  EXPECT_EQ(mode(""), 0755U);
  EXPECT_EQ(mode("/k"), 0755U);
  EXPECT_EQ(mode("/k/a"), 0644U);
  EXPECT_EQ(mode("/k/b"), 0755U);
}

TEST_F(FolderWriterTest, AFailureLeavesNothing) {
  EXPECT_FALSE(bring({tar({member("io.triton.cache/a", "1"), member("io.triton.cache/../b", "2")})}));
  EXPECT_TRUE(beside().empty());
}

TEST_F(FolderWriterTest, PathsAreMadeForTheConsumer) {
  ASSERT_TRUE(
      bring({written(entriesBelow("io.triton.cache", kcache::rocmSample()), Packing::Plain)}, "/cache"));
  EXPECT_NE(text(kcache::kRocmKey + "/__grp__add_kernel.json")
                .find("\"/cache/" + kcache::kRocmKey + "/add_kernel.hsaco\""),
            std::string::npos);
  EXPECT_EQ(bytes_, 80415);
}

TEST_F(FolderWriterTest, ALaterLayersFileTakesAnEarlierOnesPlace) {
  ASSERT_TRUE(bring({tar({member("io.vllm.cache/a", "old"), member("io.vllm.cache/b", "1")}),
                     tar({member("io.vllm.cache/a", "new")})}));
  EXPECT_EQ(text("a"), "new");
  EXPECT_EQ(text("b"), "1");
}

}  // namespace
}  // namespace gs::cacherim
