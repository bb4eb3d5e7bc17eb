#include "cacherim/keeper/paths_teller.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "base/system_clock.h"
#include "base/temp_folder_test.h"
#include "base/worker.h"
#include "cacherim/node/mount_paths.h"

namespace gs::cacherim {
namespace {

const kcache::MountPaths kOnePod{{"u1", {.volumes = {{"k", "/cache"}}}}};

class PathsTellerTest : public ::testing::Test {
 protected:
  using Told = std::optional<kcache::MountPaths>;
  void hear(const kcache::MountPaths& paths) {
    teller_.mountPaths(std::make_shared<const kcache::MountPaths>(paths));
  }
  /// After its turn.
  Told told() {
    teller_.turn(clock_.now().mono);
    const auto read = readMountPaths(usage_);
    return read ? Told{read->pods} : Told{};
  }
  void emptyRun() const { std::filesystem::remove_all(usage_); }

  const TempFolder folder_;
  const std::string usage_ = folder_.path("run/usage");
  ManualClock clock_;
  int fault_ = 0;
  PathsTeller teller_{usage_, Disk{[this](std::string_view) { return fault_; }, false}};
};

TEST_F(PathsTellerTest, WritesAnewSoThatItIsKeptAndComesAgain) {
  EXPECT_EQ(told(), Told{}) << "nothing is known yet";
  hear(kOnePod);
  EXPECT_EQ(told(), Told{kOnePod}) << "in a folder that nobody had made yet";
  emptyRun();
  clock_.advance(kToldEvery / 2);
  EXPECT_EQ(told(), Told{});
  clock_.advance(kToldEvery / 2);
  EXPECT_EQ(told(), Told{kOnePod});
  hear({});
  EXPECT_EQ(told(), Told{kcache::MountPaths{}}) << "news are told at once";
}

TEST_F(PathsTellerTest, WhatTheDiskRefusesIsTriedAgainAndSaid) {
  hear(kOnePod);
  fault_ = ENOSPC;
  EXPECT_EQ(told(), Told{});
  EXPECT_NE(teller_.trouble(), "");
  fault_ = 0;
  EXPECT_EQ(told(), Told{}) << "not yet";
  clock_.advance(PathsTeller::kAgain);
  EXPECT_EQ(told(), Told{kOnePod});
  EXPECT_EQ(teller_.trouble(), "");
}

// While an agent is replaced both may run: they would write into one file.
TEST_F(PathsTellerTest, OneOfTwoProcessesWritesAtATime) {
  std::filesystem::create_directories(usage_);
  const net::Fd of_another{::open(usage_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  ASSERT_EQ(::flock(of_another.get(), LOCK_EX), 0);
  hear(kOnePod);
  EXPECT_EQ(told(), Told{});
  EXPECT_NE(teller_.trouble().find("another process writes"), std::string::npos) << teller_.trouble();
  ASSERT_EQ(::flock(of_another.get(), LOCK_UN), 0);
  clock_.advance(PathsTeller::kAgain);
  EXPECT_EQ(told(), Told{kOnePod});
}

TEST(PathsTellerThread, NewsNeverWaitForTheDiskAndTheLastOnesCount) {
  const TempFolder folder;
  const SystemClock clock;
  std::promise<void> go;
  std::promise<void> hangs;
  std::atomic<bool> has_hung = false;
  const Disk disk{[&, held = go.get_future().share()](std::string_view) {
                    if (!has_hung.exchange(true)) {
                      hangs.set_value();
                      held.wait();
                    }
                    return 0;
                  },
                  false};
  PathsTeller teller{folder.path("usage"), disk};
  const auto hear = [&](const char* pod) {
    teller.mountPaths(std::make_shared<const kcache::MountPaths>(kcache::MountPaths{{pod, {}}}));
  };
  {
    const Worker thread{"paths", [&](const std::stop_token&) { teller.run(clock); }};
    hear("u1");
    hangs.get_future().wait();
    for (int i = 0; i < 10'000; ++i) { hear("u2"); }
    hear("u3");
    go.set_value();
    const Mono end = clock.now().mono + std::chrono::seconds{20};
    const auto isTold = [&] {
      const auto told = readMountPaths(folder.path("usage"));
      return told && told->pods.contains("u3");
    };
    while (!isTold() && clock.now().mono < end) { std::this_thread::yield(); }
    EXPECT_TRUE(isTold());
    teller.stop();  // waits for its next turn in 15 s
  }
}

}  // namespace
}  // namespace gs::cacherim
