// Where pods mount caches, as the keeper goes on telling it.
#include <gtest/gtest.h>

#include <filesystem>

#include "cacherim/keeper/keeping_fixture_test.h"
#include "cacherim/node/mount_paths.h"

namespace gs::cacherim {
namespace {

TEST_F(KeepingTest, WherePodsMountIsWrittenAnewSoThatItIsKeptAndComesAgain) {
  const kcache::MountPaths paths{{"u1", {.volumes = {{"k", "/cache"}}}}};
  turn();
  EXPECT_EQ(readMountPaths(usageFolder()).error().code, Code::NotFound) << "nothing is known yet";
  keeping_->mountPaths(std::make_shared<const kcache::MountPaths>(paths));
  turn();
  EXPECT_EQ(readMountPaths(usageFolder())->pods, paths);
  std::filesystem::remove(usageFolder() + "/paths.json");  // somebody empties /run
  clock_.advance(kToldEvery / 2);
  turn();
  EXPECT_FALSE(readMountPaths(usageFolder()).has_value());
  clock_.advance(kToldEvery / 2);
  turn();
  EXPECT_EQ(readMountPaths(usageFolder())->pods, paths);
  keeping_->mountPaths(std::make_shared<const kcache::MountPaths>());
  turn();
  EXPECT_TRUE(readMountPaths(usageFolder())->pods.empty()) << "news are told at once";
}

}  // namespace
}  // namespace gs::cacherim
