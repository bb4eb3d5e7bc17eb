#include "cacherim/image/fresh_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/files.h"
#include "base/temp_folder_test.h"

namespace gs::cacherim {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

class FreshFolderTest : public ::testing::Test {
 protected:
  static void put(const std::string& folder, const Files& files) {
    for (const auto& [path, text] : files) {
      fs::create_directories(fs::path{folder + '/' + path}.parent_path());
      std::ofstream{folder + '/' + path} << text;
    }
  }
  /// Every file below the target.
  Files there() const {
    Files out;
    for (const auto& one : fs::recursive_directory_iterator{target_}) {
      if (one.is_regular_file()) {
        out[one.path().lexically_relative(target_).string()] = readFile(one.path().string()).value();
      }
    }
    return out;
  }
  Status bring(const Files& files, Disk disk = Disk{{}, false}) {
    auto fresh = FreshFolder::towards(target_, std::move(disk));
    if (!fresh) { return because(fresh.error()); }
    put(fresh->path(), files);
    return fresh->publish();
  }
  static std::vector<std::string> namesIn(const std::string& folder) {
    std::vector<std::string> out;
    for (const auto& one : fs::directory_iterator{folder}) { out.push_back(one.path().filename()); }
    return out;
  }
  static ino_t inodeOf(const std::string& path) {
    struct stat is {};
    EXPECT_EQ(::stat(path.c_str(), &is), 0);
    return is.st_ino;
  }

  const std::string kOurs = ".gpu-scheduler-fresh.";
  TempFolder folder_;
  std::string target_ = folder_.path("cache");
};

TEST_F(FreshFolderTest, WhereNothingIsItComesAsAWhole) {
  auto fresh = FreshFolder::towards(target_);
  put(fresh->path(), {{"k/a", "1"}});
  EXPECT_FALSE(fs::exists(target_));
  ASSERT_TRUE(fresh->publish());
  EXPECT_EQ(there(), (Files{{"k/a", "1"}}));
  EXPECT_EQ(namesIn(folder_.path()), std::vector<std::string>{"cache"});
  EXPECT_EQ(fs::status(target_).permissions(), fs::perms{0755});
}

TEST_F(FreshFolderTest, WhatIsNotPublishedGoes) {
  { put(FreshFolder::towards(target_)->path(), {{"k/a", "1"}}); }
  EXPECT_TRUE(namesIn(folder_.path()).empty());
}

// It may be a mount, or somebody else's, or one that a container has mounted already.
TEST_F(FreshFolderTest, AFolderThatIsThereStaysThatFolder) {
  fs::create_directory(target_);
  fs::permissions(target_, fs::perms{02770});
  const ino_t inode = inodeOf(target_);
  auto fresh = FreshFolder::towards(target_);
  EXPECT_EQ(fs::path{fresh->path()}.parent_path(), fs::path{target_});
  put(fresh->path(), {{"k/a", "1"}});
  ASSERT_TRUE(fresh->publish());
  { const FreshFolder gone = std::move(*fresh); }
  EXPECT_EQ(inodeOf(target_), inode);
  EXPECT_EQ(fs::status(target_).permissions(), fs::perms{02770});
  EXPECT_EQ(there(), (Files{{"k/a", "1"}}));
  EXPECT_EQ(namesIn(target_), std::vector<std::string>{"k"});
}

TEST_F(FreshFolderTest, IntoAFolderWithOthersFilesItsOwnCome) {
  put(target_, {{"other/x", "mine"}, {"k/a", "old"}, {"k/c", "kept"}});
  ASSERT_TRUE(bring({{"k/a", "new"}, {"k/b", "1"}, {"new/a", "2"}}));
  EXPECT_EQ(there(),
            (Files{{"other/x", "mine"}, {"k/a", "new"}, {"k/b", "1"}, {"k/c", "kept"}, {"new/a", "2"}}));
  EXPECT_EQ(namesIn(folder_.path()), std::vector<std::string>{"cache"});
}

TEST_F(FreshFolderTest, ItComesIntoOneThatWasMadeMeanwhile) {
  auto fresh = FreshFolder::towards(target_);
  put(fresh->path(), {{"k/a", "1"}});
  put(target_, {{"x", "mine"}});
  ASSERT_TRUE(fresh->publish());
  EXPECT_EQ(there(), (Files{{"k/a", "1"}, {"x", "mine"}}));
}

TEST_F(FreshFolderTest, WhatIsInTheWayKeepsAllOfItOut) {
  const Files before{{"b", "no folder"}, {"c/d/e", "no file"}};
  put(target_, before);
  const Status folder = bring({{"a/1", "1"}, {"b/1", "1"}});
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, Code::Conflict);
  EXPECT_EQ(folder.error().message, "'" + target_ + "/b' is in the way: it is no folder");
  const Status file = bring({{"a/1", "1"}, {"c/d", "1"}});
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message, "'" + target_ + "/c/d' is in the way: it is a folder");
  EXPECT_EQ(there(), before);
}

TEST_F(FreshFolderTest, ALinkInTheFolderIsNotFollowed) {
  const std::string outside = folder_.path("outside");
  fs::create_directories(outside);
  fs::create_directory(target_);
  fs::create_directory_symlink(outside, target_ + "/k");
  const Status brought = bring({{"k/a", "1"}});
  ASSERT_FALSE(brought);
  EXPECT_NE(brought.error().message.find("is in the way: it is no folder"), std::string::npos)
      << brought.error().message;
  EXPECT_TRUE(fs::is_empty(outside));
}

TEST_F(FreshFolderTest, TheFolderItselfMayBeALinkAndFoldersAboveAreMade) {
  const std::string real = folder_.path("real/cache");
  fs::create_directories(real);
  fs::create_directory_symlink(real, target_);
  ASSERT_TRUE(bring({{"a", "1"}}));
  EXPECT_EQ(readFile(real + "/a"), "1");
  EXPECT_TRUE(fs::is_symlink(target_));
  target_ = folder_.path("not/yet/there/");
  ASSERT_TRUE(bring({{"a", "1"}}));
  EXPECT_EQ(there(), (Files{{"a", "1"}}));
}

TEST_F(FreshFolderTest, WhereNothingCanBeMadeIsSaid) {
  put(target_, {{"file", "x"}});
  target_ += "/file";
  const Status onto = bring({{"a", "1"}});
  ASSERT_FALSE(onto);
  EXPECT_EQ(onto.error().message, "cannot make '" + target_ + "': Not a directory");
  target_ += "/below";
  const Status below = bring({{"a", "1"}});
  ASSERT_FALSE(below);
  EXPECT_EQ(below.error().code, Code::Unavailable);
}

TEST_F(FreshFolderTest, WhatAKilledOneLeftGoesAndWhatAnotherHoldsStays) {
  put(target_, {{kOurs + "killed/k/a", "1"}, {kOurs + "a-file", "1"}, {kOurs + "mine/a", "1"}, {"k/a", "1"}});
  const auto other = FreshFolder::in(target_);
  ASSERT_TRUE(other);
  const auto own = FreshFolder::in(target_);
  ASSERT_TRUE(own);
  EXPECT_FALSE(fs::exists(target_ + '/' + kOurs + "killed"));
  EXPECT_TRUE(fs::exists(other->path()));
  EXPECT_TRUE(fs::exists(own->path()));
  EXPECT_EQ(there(), (Files{{kOurs + "a-file", "1"}, {kOurs + "mine/a", "1"}, {"k/a", "1"}}));
  EXPECT_EQ(fs::status(own->path()).permissions(), fs::perms{0700});
}

// Whatever call fails: no file is half there, what was there before is, and nothing of ours lies about.
TEST_F(FreshFolderTest, ADiskThatSaysNoLeavesWholeFiles) {
  const Files before{{"k/a", "old"}, {"x", "mine"}};
  const Files brought{{"k/a", "new"}, {"l/a", "1"}, {"l/b", "2"}};
  for (const bool is_there : {false, true}) {
    bool has_failed = true;
    for (int call = 0; has_failed; ++call) {
      fs::remove_all(target_);
      if (is_there) { put(target_, before); }
      has_failed = false;
      const auto fault = [&, left = call](std::string_view name) mutable {
        if (name == "unlink" || name == "rmdir" || left-- != 0) { return 0; }
        has_failed = true;
        return ENOSPC;
      };
      const Status done = bring(brought, Disk{fault, false});
      EXPECT_EQ(done.has_value(), !has_failed) << call;
      if (!done) { EXPECT_NE(done.error().message.find(target_), std::string::npos) << done.error().message; }
      EXPECT_EQ(namesIn(folder_.path()).size(), fs::exists(target_) ? 1U : 0U) << call;
      const Files now = fs::exists(target_) ? there() : Files{};
      for (const auto& [path, text] : now) {
        EXPECT_TRUE((is_there && before.count(path) == 1 && before.at(path) == text) ||
                    (brought.count(path) == 1 && brought.at(path) == text))
            << path << ": " << text;
      }
      if (is_there) { EXPECT_EQ(now.count("x"), 1U); }
    }
  }
}

}  // namespace
}  // namespace gs::cacherim
