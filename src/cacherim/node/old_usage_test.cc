#include "cacherim/node/old_usage.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/temp_folder_test.h"

namespace gs::cacherim {
namespace {

constexpr const char* kText = R"({
  "cr_name": "vectors",
  "cr_namespace": "ml",
  "digest": "sha256:24b8",
  "pods": [
    {"podNamespace": "ml", "podName": "train-0", "volumeId": "csi-1"},
    {"podNamespace": "ml", "podName": "train-1", "volumeId": "csi-2"},
    {"podName": "without"}
  ],
  "ref_count": 3,
  "volume_size": 80415
})";

TEST(OldUsage, NamesPodsByVolume) {
  EXPECT_EQ(parseOldUsage(kText), (OldPods{{"csi-1", {"ml", "train-0"}}, {"csi-2", {"ml", "train-1"}}}));
}

TEST(OldUsage, WhatIsTornIsLeftOut) {
  EXPECT_EQ(parseOldUsage(std::string_view{kText}.substr(0, 120)), OldPods{});
  EXPECT_EQ(parseOldUsage(R"({"pods":7})"), OldPods{});
}

TEST(OldUsage, AllFilesOfTheFolderAreRead) {
  const TempFolder folder;
  EXPECT_EQ(readOldUsage(folder.path("none")), OldPods{});
  for (const char* at : {"ml/vectors/sha256:24b8", "cluster-scoped/vectors/sha256:24b8", "volumes"}) {
    std::filesystem::create_directories(folder.path(at));
  }
  std::ofstream{folder.path("ml/vectors/sha256:24b8/usage.json")} << kText;
  std::ofstream{folder.path("cluster-scoped/vectors/sha256:24b8/usage.json")}
      << R"({"pods":[{"podNamespace":"a","podName":"b","volumeId":"csi-3"}]})";
  std::ofstream{folder.path("lock")} << "";
  EXPECT_EQ(readOldUsage(folder.path()).size(), 3U);
}

}  // namespace
}  // namespace gs::cacherim
