#include "mcv/create.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/temp_folder_test.h"
#include "kcache/content/samples_test.h"

namespace gs::mcv {
namespace {

namespace fs = std::filesystem;

class McvPack : public ::testing::Test {
 protected:
  void put(const std::string& folder, const kcache::Tree& tree) {
    for (const auto& [path, text] : tree) {
      const fs::path file = folder_.path() / folder / path;
      fs::create_directories(file.parent_path());
      std::ofstream{file} << text;
    }
  }
  TempFolder folder_;
  const kcache::Reference kReference = *kcache::parseReference("quay.io/gkm/vector-add-cache:rocm");
};

TEST_F(McvPack, ACacheAtTheWrongLevelIsRefusedAndTheRightFolderNamed) {
  put("home/.triton/cache", kcache::rocmSample());
  put("home/.cache/vllm", kcache::llamaSample());
  put("home/.cache/pip", {{"x", "y"}});
  const std::string hash = "home/.cache/vllm/torch_compile_cache/edf531ca35";
  const std::pair<std::string, std::string> table[] = {
      {"home/.triton", "home/.triton/cache"},
      {"home/.triton/cache/" + kcache::kRocmKey, "home/.triton/cache"},
      {"home/.cache/", "home/.cache/vllm"},
      {hash, "home/.cache/vllm"},
      {hash + "/rank_0_0", "home/.cache/vllm"},
      {"home/.cache/../.cache/vllm/torch_compile_cache/edf531ca35/.", "home/.cache/vllm"},
  };
  for (const auto& [folder, right] : table) {
    const auto packed = pack(folder_.path(folder), kReference);
    ASSERT_FALSE(packed) << folder;
    EXPECT_EQ(packed.error().code, Code::Invalid) << folder;
    EXPECT_NE(packed.error().message.find("name '" + folder_.path(right) + "'"), std::string::npos)
        << folder << ": " << packed.error().message;
    EXPECT_TRUE(pack(folder_.path(right), kReference)) << right;
  }
}

// Nodes have the same limits (kcache/layer/rules.h): an image that they refuse is not made.
TEST_F(McvPack, MoreFilesAndFoldersThanNodesTakeAreNotPacked) {
  put("rocm", kcache::rocmSample());
  const auto packed = [&](const kcache::LayerLimits& limits) {
    return pack(folder_.path("rocm"), kReference, limits);
  };
  const auto all = packed({});
  ASSERT_TRUE(all) << all.error().message;
  const auto count = static_cast<std::int64_t>(all->image.entries.size());
  EXPECT_TRUE(packed({.most_entries = count}));
  const auto many = packed({.most_entries = count - 1});
  ASSERT_FALSE(many);
  EXPECT_NE(many.error().message.find(std::to_string(count) + " files and folders; nodes take at most " +
                                      std::to_string(count - 1)),
            std::string::npos)
      << many.error().message;
  std::set<std::string> paths;  // each file and folder of the cache once, as the rules count them
  for (const auto& [path, text] : kcache::rocmSample()) {
    paths.insert(path);
    paths.insert(path.substr(0, path.find('/')));
  }
  std::int64_t bytes = 0;
  for (const std::string& one : paths) { bytes += static_cast<std::int64_t>(one.size()); }
  EXPECT_TRUE(packed({.most_path_bytes = bytes}));
  const auto longer = packed({.most_path_bytes = bytes - 1});
  ASSERT_FALSE(longer);
  EXPECT_NE(longer.error().message.find(std::to_string(bytes) + " bytes in all; nodes take at most"),
            std::string::npos)
      << longer.error().message;
}

}  // namespace
}  // namespace gs::mcv
