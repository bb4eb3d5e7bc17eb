#include "cacherim/node/mount_paths.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/temp_folder_test.h"

namespace gs::cacherim {
namespace {

const kcache::MountPaths kTwoPods{
    {"u1", {.volumes = {{"a", "/cache"}, {"b", "/x \"y"}}, .claims = {{"c", "/c"}}, .has_more = true}},
    {"u2", {}}};
const Mono kThen{std::chrono::seconds{5'000}};

TEST(MountPaths, AreReadAsTheyWereWritten) {
  const TempFolder folder;
  EXPECT_EQ(readMountPaths(folder.path().string()).error().code, Code::NotFound);
  EXPECT_EQ(readMountPaths(folder.path("gone")).error().code, Code::NotFound);
  ASSERT_TRUE(writeMountPaths(folder.path().string(), kTwoPods, kThen, Disk{{}, false}));
  EXPECT_EQ(readMountPaths(folder.path().string())->pods, kTwoPods);
  ASSERT_TRUE(writeMountPaths(folder.path().string(), {}, kThen, Disk{{}, false})) << "over what is there";
  EXPECT_EQ(readMountPaths(folder.path().string())->pods, kcache::MountPaths{});
}

TEST(MountPaths, AWriteThatFailsLeavesWhatWasThere) {
  const TempFolder folder;
  ASSERT_TRUE(writeMountPaths(folder.path().string(), kTwoPods, kThen, Disk{{}, false}));
  for (int dies_at = 0; dies_at < 6; ++dies_at) {
    int calls = 0;
    const Disk disk{[&](std::string_view) { return calls++ >= dies_at ? EIO : 0; }, false};
    static_cast<void>(writeMountPaths(folder.path().string(), {}, kThen, disk));
    const auto read = readMountPaths(folder.path().string());
    ASSERT_TRUE(read) << dies_at;
    EXPECT_TRUE(read->pods == kTwoPods || read->pods.empty()) << dies_at;
  }
}

TEST(MountPaths, AreKeptWhileSomebodyWritesThemAnew) {
  const TempFolder folder;
  ASSERT_TRUE(writeMountPaths(folder.path().string(), kTwoPods, kThen, Disk{{}, false}));
  const auto told = readMountPaths(folder.path().string());
  const auto isKeptAt = [&](int seconds) { return told->isKept(Mono{std::chrono::seconds{seconds}}); };
  EXPECT_TRUE(isKeptAt(5'000) && isKeptAt(5'060)) << "whose agent is started anew";
  EXPECT_FALSE(isKeptAt(5'600));
  EXPECT_FALSE(isKeptAt(10)) << "told before the machine was started anew";
  EXPECT_EQ(told->pods, kTwoPods) << "what it says holds still";
}

TEST(MountPaths, OfWhichNobodyCanSayWhenTheyWereToldAreNotKept) {
  for (const char* told :
       {"", R"("told":"1",)", R"("told":-1,)", R"("told":1e300,)", R"("told":9223372036854775807,)"}) {
    const auto out = parseMountPaths(std::string{"{"} + told + R"("pods":{"u":{}}})");
    ASSERT_TRUE(out) << told;
    EXPECT_EQ(out->pods.size(), 1U) << told;
    EXPECT_FALSE(out->isKept(Mono{}) || out->isKept(Mono::max())) << told;
  }
}

TEST(MountPaths, HaveNoMoreBytesThanTheirLimitAndTheLargestGoFirst) {
  const std::string long_path = '/' + std::string(1000, 'a');
  kcache::MountPaths paths{{"small", {.volumes = {{"v", "/cache"}}}}, {"none", {}}};
  for (int volume = 0; volume < 10; ++volume) {
    paths["large"].volumes["v" + std::to_string(volume)] = long_path;
  }
  paths["middle"].volumes["v"] = long_path;
  const auto told = [&](std::size_t most) {
    const PrintedPaths printed = printMountPaths(paths, kThen, most);
    EXPECT_LE(printed.text.size(), most);
    auto out = parseMountPaths(printed.text)->pods;
    std::size_t cut = 0;
    for (const auto& [uid, pod] : paths) { cut += out.contains(uid) && out.at(uid) == pod ? 0 : 1; }
    EXPECT_EQ(printed.cut, cut) << most;
    return out;
  };
  EXPECT_EQ(told(kMostOfMountPaths), paths);
  const auto some = told(2000);
  EXPECT_EQ(some.at("middle"), paths.at("middle"));
  EXPECT_EQ(some.at("large"), (kcache::PodPaths{.volumes = {}, .claims = {}, .has_more = true}))
      << "it is there";
  const auto few = told(182);
  EXPECT_EQ(few.at("small"), paths.at("small"));
  EXPECT_TRUE(few.at("middle").has_more && few.at("large").has_more);
  for (std::size_t most = 32; most < 212; ++most) { static_cast<void>(told(most)); }
}

TEST(MountPaths, WhatIsNoneIsRefusedAndWhatIsNotKnownPassedOver) {
  for (const char* text : {"", "[]", "{}", R"({"pods":[]})", R"({"pods":{)"}) {
    EXPECT_EQ(parseMountPaths(text).error().code, Code::Invalid) << text;
  }
  EXPECT_EQ(parseMountPaths(R"({"pods":{"u":{"volumes":{"a":"/a","b":7},"later":1},"v":3},"more":{}})")->pods,
            (kcache::MountPaths{{"u", {.volumes = {{"a", "/a"}}}}, {"v", {}}}));
}

TEST(MountPathsFile, IsReadOnceForEachTimeThatItIsWritten) {
  const TempFolder folder;
  const std::string at = folder.path("usage");
  std::filesystem::create_directories(at);
  const Disk disk{{}, false};
  MountPathsFile file{at};
  EXPECT_EQ(file.read().error().code, Code::NotFound);
  for (int i = 0; i < 3; ++i) {
    const std::string uid = "u" + std::to_string(i);
    ASSERT_TRUE(writeMountPaths(at, {{uid, {.volumes = {{"v", "/cache"}}}}}, kThen, disk));
    const auto first = file.read();
    ASSERT_TRUE(first);
    EXPECT_TRUE((*first)->pods.contains(uid));
    EXPECT_EQ(file.read()->get(), first->get()) << "not read again";
  }
  std::ofstream{at + "/paths.json"} << "torn";
  EXPECT_EQ(file.read().error().code, Code::Invalid);
}

}  // namespace
}  // namespace gs::cacherim
