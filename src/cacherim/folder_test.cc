#include "cacherim/folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "base/temp_folder_test.h"
#include "cacherim/tar_test.h"
#include "kcache/content/samples_test.h"

namespace gs::cacherim {
namespace {

namespace fs = std::filesystem;

class FreshFolderTest : public ::testing::Test {
 protected:
  /// Brings layers to `target`.
  Status bring(const std::vector<std::string>& layers, std::optional<std::string> root = std::nullopt) {
    auto fresh = FreshFolder::beside(target_);
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
  void put(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path{target_ + '/' + path}.parent_path());
    std::ofstream{target_ + '/' + path} << text;
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

TEST_F(FreshFolderTest, ACacheComesThereAsAWhole) {
  auto entries = entriesBelow("io.triton.cache", kcache::rocmSample());
  entries.push_back(textEntry("io.triton.manifest/manifest.json", kcache::kRocmManifest));
  ASSERT_TRUE(bring({written(entries, Packing::Gzip)}));
  for (const auto& [path, wanted] : kcache::rocmSample()) { EXPECT_EQ(text(path), wanted) << path; }
  EXPECT_EQ(files_, 10);
  EXPECT_EQ(bytes_, 80415);
  EXPECT_EQ(manifest_, kcache::kRocmManifest);
  EXPECT_EQ(beside(), std::vector<std::string>{"cache"});
}

TEST_F(FreshFolderTest, ModesAreOursAndNotTheImages) {
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

TEST_F(FreshFolderTest, AFailureLeavesNothing) {
  EXPECT_FALSE(bring({tar({member("io.triton.cache/a", "1"), member("io.triton.cache/../b", "2")})}));
  EXPECT_TRUE(beside().empty());
}

TEST_F(FreshFolderTest, PathsAreMadeForTheConsumer) {
  ASSERT_TRUE(
      bring({written(entriesBelow("io.triton.cache", kcache::rocmSample()), Packing::Plain)}, "/cache"));
  EXPECT_NE(text(kcache::kRocmKey + "/__grp__add_kernel.json")
                .find("\"/cache/" + kcache::kRocmKey + "/add_kernel.hsaco\""),
            std::string::npos);
  EXPECT_EQ(bytes_, 80415);
}

TEST_F(FreshFolderTest, ALaterLayersFileTakesAnEarlierOnesPlace) {
  ASSERT_TRUE(bring({tar({member("io.vllm.cache/a", "old"), member("io.vllm.cache/b", "1")}),
                     tar({member("io.vllm.cache/a", "new")})}));
  EXPECT_EQ(text("a"), "new");
  EXPECT_EQ(text("b"), "1");
}

TEST_F(FreshFolderTest, AnEmptyFolderIsReplaced) {
  fs::create_directories(target_);
  ASSERT_TRUE(bring({tar({member("io.vllm.cache/a", "1")})}));
  EXPECT_EQ(text("a"), "1");
}

TEST_F(FreshFolderTest, IntoAFolderWithOthersFilesItsOwnCome) {
  put("other/x", "mine");
  put("k/a", "old");
  put("k/c", "kept");
  ASSERT_TRUE(bring({tar({member("io.triton.cache/k/a", "new"), member("io.triton.cache/k/b", "1"),
                          member("io.triton.cache/new/a", "2")})}));
  EXPECT_EQ(text("other/x"), "mine");
  EXPECT_EQ(text("k/a"), "new");
  EXPECT_EQ(text("k/b"), "1");
  EXPECT_EQ(text("k/c"), "kept");
  EXPECT_EQ(text("new/a"), "2");
  EXPECT_EQ(beside(), std::vector<std::string>{"cache"});
}

TEST_F(FreshFolderTest, ALinkInTheFolderIsNotFollowed) {
  const std::string outside = folder_.path("outside");
  fs::create_directories(outside);
  put("other", "x");
  fs::create_directory_symlink(outside, target_ + "/k");
  const Status brought = bring({tar({member("io.triton.cache/k/a", "1")})});
  ASSERT_FALSE(brought);
  EXPECT_NE(brought.error().message.find("is in the way: it is no folder"), std::string::npos)
      << brought.error().message;
  EXPECT_TRUE(fs::is_empty(outside));
}

TEST_F(FreshFolderTest, TheFolderItselfMayBeALinkAndFoldersAboveAreMade) {
  const std::string real = folder_.path("real/cache");
  fs::create_directories(real);
  fs::create_directory_symlink(real, target_);
  ASSERT_TRUE(bring({tar({member("io.triton.cache/a", "1")})}));
  EXPECT_EQ(readFile(real + "/a"), "1");
  EXPECT_TRUE(fs::is_symlink(target_));
  target_ = folder_.path("not/yet/there/");
  ASSERT_TRUE(bring({tar({member("io.triton.cache/a", "1")})}));
  EXPECT_EQ(text("a"), "1");
}

TEST_F(FreshFolderTest, WhereNothingCanBeMadeIsSaid) {
  put("file", "x");
  target_ = folder_.path("cache/file/below");
  const Status brought = bring({tar({member("io.triton.cache/a", "1")})});
  ASSERT_FALSE(brought);
  EXPECT_EQ(brought.error().code, Code::Unavailable);
}

}  // namespace
}  // namespace gs::cacherim
