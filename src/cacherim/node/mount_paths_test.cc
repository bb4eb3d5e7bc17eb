#include "cacherim/node/mount_paths.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/temp_folder_test.h"

namespace gs::cacherim {
namespace {

const kcache::MountPaths kTwoPods{
    {"u1", {.volumes = {{"a", "/cache"}, {"b", "/x \"y"}}, .claims = {{"c", "/c"}}}}, {"u2", {}}};

TEST(MountPaths, AreReadAsTheyWereWritten) {
  const TempFolder folder;
  EXPECT_EQ(readMountPaths(folder.path().string()).error().code, Code::NotFound);
  EXPECT_EQ(readMountPaths(folder.path("gone")).error().code, Code::NotFound);
  ASSERT_TRUE(writeMountPaths(folder.path().string(), kTwoPods, Disk{{}, false}));
  EXPECT_EQ(*readMountPaths(folder.path().string()), kTwoPods);
  ASSERT_TRUE(writeMountPaths(folder.path().string(), {}, Disk{{}, false})) << "over what is there";
  EXPECT_EQ(*readMountPaths(folder.path().string()), kcache::MountPaths{});
}

TEST(MountPaths, AWriteThatFailsLeavesWhatWasThere) {
  const TempFolder folder;
  ASSERT_TRUE(writeMountPaths(folder.path().string(), kTwoPods, Disk{{}, false}));
  for (int dies_at = 0; dies_at < 6; ++dies_at) {
    int calls = 0;
    const Disk disk{[&](std::string_view) { return calls++ >= dies_at ? EIO : 0; }, false};
    static_cast<void>(writeMountPaths(folder.path().string(), {}, disk));
    const auto read = readMountPaths(folder.path().string());
    ASSERT_TRUE(read) << dies_at;
    EXPECT_TRUE(*read == kTwoPods || read->empty()) << dies_at;
  }
}

TEST(MountPaths, WhatIsNoneIsRefusedAndWhatIsNotKnownPassedOver) {
  for (const char* text : {"", "[]", "{}", R"({"pods":[]})", R"({"pods":{)"}) {
    EXPECT_EQ(parseMountPaths(text).error().code, Code::Invalid) << text;
  }
  EXPECT_EQ(*parseMountPaths(R"({"pods":{"u":{"volumes":{"a":"/a","b":7},"later":1},"v":3},"more":{}})"),
            (kcache::MountPaths{{"u", {.volumes = {{"a", "/a"}}}}, {"v", {}}}));
}

}  // namespace
}  // namespace gs::cacherim
