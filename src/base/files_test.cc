#include "base/files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/temp_folder_test.h"

namespace gs {
namespace {

class ReadFile : public testing::Test {
 protected:
  std::string holding(const std::string& text) {
    const std::string path = folder_.path("file");
    std::ofstream{path, std::ios::binary} << text;
    return path;
  }
  TempFolder folder_;
};

TEST_F(ReadFile, EveryByteOfIt) {
  std::string bytes(200'000, 'x');  // several reads
  bytes[70'000] = '\0';
  bytes += "\r\n\xff";
  EXPECT_EQ(readFile(holding(bytes)), bytes);
  EXPECT_EQ(readFile(holding("")), "");
}

TEST_F(ReadFile, UpToTheMostAndNotAByteMore) {
  EXPECT_EQ(readFile(holding("12345"), 5), "12345");
  const auto longer = readFile(holding("123456"), 5);
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error(), (Error{Code::Invalid, folder_.path("file") + " has more than 5 bytes"}));
}

TEST_F(ReadFile, WhatIsNotThereIsNotFoundAndNamed) {
  for (const std::string& path : {folder_.path("none"), holding("x") + "/below"}) {
    const auto read = readFile(path);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Code::NotFound) << path;
    EXPECT_TRUE(read.error().message.starts_with("cannot read " + path + ": ")) << read.error().message;
  }
}

TEST_F(ReadFile, AFolderIsNone) {
  const auto read = readFile(folder_.path());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::Unavailable);
  EXPECT_NE(read.error().message.find("it is a folder"), std::string::npos) << read.error().message;
}

TEST(ReplaceFile, PutsTheNewBytesInThePlaceOfTheOldOnes) {
  const TempFolder folder;
  const std::string path = folder.path("file");
  ASSERT_TRUE(replaceFile(path, "one"));
  EXPECT_EQ(readFile(path), "one");
  std::ofstream{besideOf(path)} << "half of what somebody wrote who crashed";
  ASSERT_TRUE(replaceFile(path, "two", 0644));
  EXPECT_EQ(readFile(path), "two");
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms{0644});
  EXPECT_FALSE(std::filesystem::exists(besideOf(path)));
}

TEST(ReplaceFile, WhoReadsHasTheOldBytesUntilAllNewOnesAreThere) {
  const TempFolder folder;
  const std::string path = folder.path("file");
  ASSERT_TRUE(replaceFile(path, "old"));
  std::ifstream reader{path};
  ASSERT_TRUE(replaceFile(path, std::string(100'000, 'x')));
  std::string read;
  reader >> read;
  EXPECT_EQ(read, "old") << "it is another file, and not the same one written over";
}

TEST(ReplaceFile, WhatCannotBeWrittenLeavesTheOldOneAndIsNamed) {
  const TempFolder folder;
  const std::string path = folder.path("file");
  ASSERT_TRUE(replaceFile(path, "old"));
  std::filesystem::create_directory(besideOf(path));
  const Status written = replaceFile(path, "new");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error(), (Error{Code::Unavailable, "cannot write " + path + ": Is a directory"}));
  EXPECT_EQ(readFile(path), "old");
  EXPECT_FALSE(replaceFile(folder.path("none") + "/file", "x"));
}

TEST(ReplaceFile, WritesBesideUnderAHiddenName) {
  EXPECT_EQ(besideOf("/a/b.json"), "/a/.b.json.new");
  EXPECT_EQ(besideOf("b.json"), "./.b.json.new");
}

}  // namespace
}  // namespace gs
