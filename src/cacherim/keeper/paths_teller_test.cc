// Where pods mount caches, as the keeper goes on telling it.
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "cacherim/keeper/keeping_fixture_test.h"
#include "cacherim/node/mount_paths.h"

namespace gs::cacherim {
namespace {

TEST_F(KeepingTest, WherePodsMountIsWrittenAnewSoThatItIsKeptAndComesAgain) {
  using Told = std::optional<kcache::MountPaths>;
  const auto told = [&]() -> Told {
    turn();
    const auto read = readMountPaths(usageFolder());
    return read ? Told{read->pods} : Told{};
  };
  const kcache::MountPaths paths{{"u1", {.volumes = {{"k", "/cache"}}}}};
  EXPECT_EQ(told(), Told{}) << "nothing is known yet";
  keeping_->mountPaths(std::make_shared<const kcache::MountPaths>(paths));
  EXPECT_EQ(told(), Told{paths});
  std::filesystem::remove(usageFolder() + "/paths.json");  // somebody empties /run
  clock_.advance(kToldEvery / 2);
  EXPECT_EQ(told(), Told{});
  clock_.advance(kToldEvery / 2);
  EXPECT_EQ(told(), Told{paths});
  keeping_->mountPaths(std::make_shared<const kcache::MountPaths>());
  EXPECT_EQ(told(), Told{kcache::MountPaths{}}) << "news are told at once";
}

}  // namespace
}  // namespace gs::cacherim
