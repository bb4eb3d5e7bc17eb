#include "cacherim/node/usage.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "base/hash.h"
#include "base/temp_folder_test.h"

namespace gs::cacherim {
namespace {

using std::chrono::milliseconds;

VolumeUse useOf(const std::string& volume) {
  return {.volume_id = volume,
          .target = "/var/lib/kubelet/pods/u1/volumes/kubernetes.io~csi/kernels/mount",
          .cache = *CacheName::inNamespace("ml", "vectors"),
          .image = kcache::Digest::of("image"),
          .pod_ns = "ml",
          .pod_name = "train-0",
          .pod_uid = "u1",
          .is_read_only = true};
}

class UsageTest : public testing::Test {
 protected:
  [[nodiscard]] Usage open(Disk::Fault fault = {}) const {
    return *Usage::open(folder_.path("usage"), Disk{std::move(fault), false});
  }
  [[nodiscard]] std::string fileOf(const std::string& volume) const {
    return folder_.path("usage/volumes/" + sha256Hex(volume) + ".json");
  }
  const TempFolder folder_;
};

TEST_F(UsageTest, IsReadAsItWasWrittenAndReplaced) {
  const Usage usage = open();
  ASSERT_TRUE(usage.add(useOf("b")));
  ASSERT_TRUE(usage.add(useOf("a")));
  VolumeUse other = useOf("b");
  other.image = kcache::Digest::of("newer");
  ASSERT_TRUE(usage.add(other));
  EXPECT_EQ(usage.find("b"), other);
  EXPECT_EQ(usage.all(), (std::vector<VolumeUse>{useOf("a"), other}));
}

TEST_F(UsageTest, ItIsCompleteOnlyInTheBootInWhichThatWasSaid) {
  const Usage usage = open();
  EXPECT_EQ(usage.isComplete(), false);
  ASSERT_TRUE(usage.sayComplete());
  ASSERT_TRUE(usage.sayComplete());
  EXPECT_EQ(usage.isComplete(), true);
  EXPECT_EQ(usage.all(), std::vector<VolumeUse>{});
  std::ofstream{folder_.path("usage/volumes/complete")} << "another boot";
  EXPECT_EQ(usage.isComplete(), false);
  ASSERT_TRUE(usage.sayComplete());
  std::filesystem::remove_all(folder_.path("usage"));
  EXPECT_EQ(usage.isComplete(), false);
}

TEST_F(UsageTest, GoesAndGoingTwiceIsFine) {
  const Usage usage = open();
  ASSERT_TRUE(usage.add(useOf("a")));
  EXPECT_TRUE(usage.remove("a"));
  EXPECT_TRUE(usage.remove("a"));
  EXPECT_EQ(usage.find("a").error().code, Code::NotFound);
  EXPECT_EQ(usage.all(), std::vector<VolumeUse>{});
}

TEST_F(UsageTest, AFileThatCannotBeReadMakesAllAnError) {
  const Usage usage = open();
  ASSERT_TRUE(usage.add(useOf("a")));
  std::ofstream{fileOf("b")} << R"({"volumeId":"b"})";
  EXPECT_EQ(usage.all().error().code, Code::Invalid);
  EXPECT_NE(usage.all().error().message.find(sha256Hex("b")), std::string::npos);
  std::filesystem::copy_file(fileOf("a"), fileOf("b"), std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(usage.all().error().code, Code::Invalid) << "of another volume than its name says";
  EXPECT_EQ(usage.dropUnreadable(), std::vector<std::string>{sha256Hex("b") + ".json"});
  EXPECT_EQ(usage.all(), std::vector<VolumeUse>{useOf("a")});
}

TEST_F(UsageTest, WhatADeadProcessWroteToTheSideIsNoUse) {
  const Usage usage = open();
  std::ofstream{fileOf("a") + ".new"} << "{";
  EXPECT_EQ(usage.all(), std::vector<VolumeUse>{});
  EXPECT_TRUE(usage.add(useOf("a")));
  EXPECT_EQ(usage.all(), std::vector<VolumeUse>{useOf("a")});
}

TEST_F(UsageTest, ACrashAtAnyStepLeavesTheOldOneOrTheNewOne) {
  VolumeUse other = useOf("a");
  other.pod_name = "other";
  int crashes = 0;
  for (int last = 0; last < 10; ++last) {
    ASSERT_TRUE(open().add(useOf("a")));
    int step = 0;
    const Usage crashing =
        open([&](std::string_view) { return step++ == last ? throw std::runtime_error{"crash"} : 0; });
    try {
      static_cast<void>(crashing.add(other));
    } catch (const std::runtime_error&) {
      ++crashes;
      const auto all = open().all();
      ASSERT_TRUE(all) << "step " << last;
      ASSERT_TRUE(*all == std::vector<VolumeUse>{useOf("a")} || *all == std::vector<VolumeUse>{other});
    }
  }
  EXPECT_GE(crashes, 4);
}

TEST_F(UsageTest, SharedLocksGoTogetherAndOneAloneDoesNot) {
  const Usage usage = open();
  {
    const auto one = usage.lock(Usage::Hold::Shared, milliseconds{0});
    const auto two = usage.lock(Usage::Hold::Shared, milliseconds{0});
    ASSERT_TRUE(one && two);
    EXPECT_EQ(usage.lock(Usage::Hold::Alone, milliseconds{6}).error().code, Code::Deadline);
  }
  const auto alone = usage.lock(Usage::Hold::Alone, milliseconds{0});
  ASSERT_TRUE(alone);
  EXPECT_EQ(usage.lock(Usage::Hold::Shared, milliseconds{6}).error().code, Code::Deadline);
}

TEST_F(UsageTest, ALockIsWaitedFor) {
  const Usage usage = open();
  auto alone = std::make_unique<Usage::Lock>(*usage.lock(Usage::Hold::Alone, milliseconds{0}));
  std::atomic<bool> begun = false;
  std::jthread other{[&] {
    begun = true;
    EXPECT_TRUE(usage.lock(Usage::Hold::Shared, std::chrono::minutes{10}));
  }};
  while (!begun) { std::this_thread::yield(); }
  alone.reset();
}

TEST_F(UsageTest, AnEmptiedFolderIsMadeAgain) {
  const Usage usage = open();
  ASSERT_TRUE(usage.add(useOf("a")));
  std::filesystem::remove_all(folder_.path("usage"));
  EXPECT_EQ(usage.all(), std::vector<VolumeUse>{});
  EXPECT_TRUE(usage.lock(Usage::Hold::Shared, milliseconds{0}));
  EXPECT_TRUE(usage.add(useOf("b")));
  EXPECT_EQ(usage.find("b"), useOf("b"));
}

TEST_F(UsageTest, NamesOfVolumesLeadNowhere) {
  const Usage usage = open();
  ASSERT_TRUE(usage.add(useOf("../../../etc/passwd")));
  EXPECT_EQ(usage.find("../../../etc/passwd")->volume_id, "../../../etc/passwd");
  EXPECT_EQ(Usage::open("relative", Disk{}).error().code, Code::Invalid);
}

}  // namespace
}  // namespace gs::cacherim
