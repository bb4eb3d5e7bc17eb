#include "noderim/cdi_dirs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/temp_folder_test.h"
#include "enforce/cdi/gpu_names.h"
#include "enforce/cdi/vendor_specs_test.h"

namespace gs::noderim {
namespace {

namespace cdi = enforce::cdi;
namespace fs = std::filesystem;

/// Two directories like /etc/cdi and /var/run/cdi, and who reads them.
class CdiDirsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(etc_);
    fs::create_directories(run_);
  }
  static void write(const fs::path& path, const std::string& text) { std::ofstream{path} << text; }
  /// Of v.com/c, with one device.
  static std::string spec(const std::string& device) {
    return fmt::format(
        "cdiVersion: 0.5.0\nkind: v.com/c\ndevices: [{{name: '{}', containerEdits: {{env: [A=1]}}}}]\n",
        device);
  }
  /// The names that resolve; "unchanged".
  std::vector<std::string> look() {
    auto index = dirs_.look();
    if (!index) { return {"unchanged"}; }
    broken_ = index->broken();
    std::vector<std::string> out;
    for (const char* kind : {"v.com/c", "nvidia.com/gpu"}) {
      for (const auto& entry : index->devicesOfKind(kind)) { out.push_back(entry.name()); }
    }
    return out;
  }
  using Names = std::vector<std::string>;

  TempFolder folder_;
  fs::path etc_ = folder_.path() / "etc";
  fs::path run_ = folder_.path() / "run";
  CdiDirs dirs_{{etc_.string(), run_.string()}};
  std::vector<std::string> broken_;
};

TEST_F(CdiDirsTest, ReadsTheFilesOfAllDirectoriesAndOnlySuch) {
  write(etc_ / "a.yaml", spec("a"));
  write(run_ / "b.json", spec("b"));
  write(run_ / ".c.yaml", spec("c"));
  write(run_ / "d.yaml.tmp", spec("d"));
  write(run_ / "e.yml", spec("e"));
  fs::create_directories(run_ / "f.yaml");
  write(run_ / "f.yaml/g.yaml", spec("g"));
  fs::create_symlink(etc_ / "a.yaml", run_ / "h.yaml");
  EXPECT_EQ(look(), (Names{"v.com/c=a", "v.com/c=b"}));
  EXPECT_TRUE(broken_.empty()) << broken_.front();
}

TEST_F(CdiDirsTest, DirectoriesThatAreNotThereAreEmptyOnes) {
  fs::remove_all(folder_.path() / "etc");
  fs::remove_all(folder_.path() / "run");
  EXPECT_EQ(look(), Names{});
  EXPECT_TRUE(broken_.empty());
  EXPECT_EQ(look(), Names{"unchanged"});
  fs::create_directories(run_);
  write(run_ / "a.yaml", spec("a"));
  EXPECT_EQ(look(), Names{"v.com/c=a"});
}

TEST_F(CdiDirsTest, FollowsFilesThatComeChangeAndGo) {
  write(run_ / "a.yaml", spec("a"));
  EXPECT_EQ(look(), Names{"v.com/c=a"});
  EXPECT_EQ(look(), Names{"unchanged"});
  write(run_ / "a.yaml", spec("longer"));  // in place: another size
  EXPECT_EQ(look(), Names{"v.com/c=longer"});
  write(run_ / "new", spec("letter"));  // renamed over it: another inode
  fs::rename(run_ / "new", run_ / "a.yaml");
  EXPECT_EQ(look(), Names{"v.com/c=letter"});
  write(run_ / "b.yaml", spec("b"));
  EXPECT_EQ(look(), (Names{"v.com/c=b", "v.com/c=letter"}));
  fs::remove(run_ / "a.yaml");
  EXPECT_EQ(look(), Names{"v.com/c=b"});
  EXPECT_EQ(look(), Names{"unchanged"});
}

TEST_F(CdiDirsTest, ATimeAloneTellsAChange) {
  write(run_ / "a.yaml", spec("a"));
  EXPECT_EQ(look(), Names{"v.com/c=a"});
  const auto before = fs::last_write_time(run_ / "a.yaml");
  write(run_ / "a.yaml", spec("b"));
  fs::last_write_time(run_ / "a.yaml", before + std::chrono::seconds{1});
  EXPECT_EQ(look(), Names{"v.com/c=b"});
}

TEST_F(CdiDirsTest, ABrokenFileTakesNoOtherAlong) {
  write(etc_ / "a.yaml", spec("a"));
  write(run_ / "b.yaml", "kind: v.com/c\nmine: 1\n");
  write(run_ / "c.yaml", std::string(cdi::kMostSpecBytes + 1, ' '));
  fs::create_symlink("/nowhere/d.yaml", run_ / "d.yaml");
  ASSERT_EQ(::mkfifo((run_ / "e.yaml").c_str(), 0600), 0);
  EXPECT_EQ(look(), Names{"v.com/c=a"});
  const std::string in_run = run_.string() + "/";
  ASSERT_EQ(broken_.size(), 4U);
  EXPECT_EQ(broken_[0].rfind(in_run + "b.yaml: mine is 1; no such field", 0), 0U) << broken_[0];
  EXPECT_EQ(broken_[1].rfind(in_run + "c.yaml has 1048577 bytes, and is not read", 0), 0U) << broken_[1];
  EXPECT_EQ(broken_[2].rfind("cannot read " + in_run + "d.yaml: ", 0), 0U) << broken_[2];
  EXPECT_EQ(broken_[3], in_run + "e.yaml is no regular file; remove it");
  EXPECT_EQ(look(), Names{"unchanged"});
  write(run_ / "b.yaml", spec("b"));
  EXPECT_EQ(look(), (Names{"v.com/c=a", "v.com/c=b"}));
  EXPECT_EQ(broken_.size(), 3U);
}

TEST_F(CdiDirsTest, AllFilesTogetherAreBounded) {
  for (const char* name : {"a", "b", "c"}) { write(run_ / fmt::format("{}.yaml", name), spec(name)); }
  dirs_ = CdiDirs{{run_.string()}, 2 * spec("a").size() + 1};
  EXPECT_EQ(look(), (Names{"v.com/c=a", "v.com/c=b"}));
  ASSERT_EQ(broken_.size(), 1U);
  EXPECT_EQ(broken_[0].rfind(
                fmt::format("{}/c.yaml has {} bytes, and is not read", run_.string(), spec("c").size()), 0),
            0U)
      << broken_[0];
}

TEST_F(CdiDirsTest, TheLaterDirectoryWinsAndAConflictIsSaid) {
  write(etc_ / "a.yaml", spec("a"));
  write(run_ / "a.yaml", spec("a"));
  auto index = dirs_.look();
  ASSERT_TRUE(index);
  EXPECT_EQ(index->find("v.com/c=a")->spec->file, (run_ / "a.yaml").string());
  write(run_ / "b.yaml", spec("a"));
  EXPECT_EQ(look(), Names{});
  ASSERT_EQ(broken_.size(), 1U);
  EXPECT_NE(broken_[0].find("both define v.com/c=a"), std::string::npos) << broken_[0];
}

TEST_F(CdiDirsTest, AGpuOfTheFilesIsFound) {
  write(run_ / "nvidia.yaml", cdi::kNvidiaCtkYaml);
  const auto index = dirs_.look();
  ASSERT_TRUE(index);
  cdi::Gpu gpu;
  gpu.uuid = cdi::kUuid0;
  gpu.minor = 0;
  EXPECT_EQ(cdi::devicesOf(*index, gpu).names, Names{fmt::format("nvidia.com/gpu={}", cdi::kUuid0)});
}

TEST(StatNodes, SaysWhatDeviceNodesAre) {
  const TempFolder folder;
  fs::create_directories(folder.path() / "dev");
  ASSERT_EQ(::mkfifo((folder.path() / "dev/fifo").c_str(), 0640), 0);
  std::ofstream{folder.path() / "dev/file"} << "x";
  fs::create_symlink("/dev/null", folder.path() / "dev/link");
  const auto in_folder =
      statNodes({"/dev/fifo", "/dev/file", "/dev/link", "/dev/none"}, folder.path().string());
  ASSERT_EQ(in_folder.size(), 1U) << "no file, no link, nothing";
  EXPECT_EQ(in_folder.at("/dev/fifo").type, "p");
  const auto own = statNodes({"/dev/null"}, "");
  ASSERT_TRUE(own.contains("/dev/null"));
  EXPECT_EQ(own.at("/dev/null").type, "c");
  EXPECT_EQ(own.at("/dev/null").major, 1);
  EXPECT_EQ(own.at("/dev/null").minor, 3);
  EXPECT_EQ(own.at("/dev/null").file_mode & ~0777U, 0U);
}

}  // namespace
}  // namespace gs::noderim
