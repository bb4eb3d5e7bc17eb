#include "noderim/poller.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <fstream>
#include <thread>

#include "base/deadline_test.h"
#include "base/files.h"
#include "base/mutex.h"
#include "base/temp_folder_test.h"
#include "noderim/nvml.h"

namespace gs::noderim {
namespace {

using namespace std::chrono_literals;
using agent::Fault;

/// Gives numbered looks; while it is shut, a look waits.
class Gate {
 public:
  void set(bool open) {
    MutexLock lock{mutex_};
    open_ = open;
    changed_.notifyAll();
  }
  int pass() {
    MutexLock lock{mutex_};
    ++inside_;
    most_inside_ = std::max(most_inside_, inside_);
    while (!open_) { changed_.wait(mutex_); }
    --inside_;
    return ++looks_;
  }
  int mostInside() {
    MutexLock lock{mutex_};
    return most_inside_;
  }

 private:
  Mutex mutex_;
  Signal changed_;
  bool open_ GS_GUARDED_BY(mutex_) = true;
  int looks_ GS_GUARDED_BY(mutex_) = 0;
  int inside_ GS_GUARDED_BY(mutex_) = 0;
  int most_inside_ GS_GUARDED_BY(mutex_) = 0;
};
class GatedSource final : public GpuSource {
 public:
  explicit GatedSource(std::shared_ptr<Gate> gate) : gate_{std::move(gate)} {}
  agent::Look look() override {
    agent::Hardware out;
    out.driver_version = std::to_string(gate_->pass());
    return out;
  }

 private:
  std::shared_ptr<Gate> gate_;
};

/// What a Poller gave out.
class Given {
 public:
  [[nodiscard]] Poller::Give give() {
    return [this](const agent::LookPtr& look) {
      MutexLock lock{mutex_};
      looks_.push_back(look);
      changed_.notifyAll();
    };
  }
  /// Waits for it; nullptr: none in a minute.
  agent::LookPtr next() {
    const auto until = std::chrono::steady_clock::now() + 60s;
    MutexLock lock{mutex_};
    while (looks_.empty()) {
      if (!changed_.waitUntil(mutex_, until)) { return nullptr; }
    }
    auto out = looks_.front();
    looks_.pop_front();
    return out;
  }

 private:
  Mutex mutex_;
  Signal changed_;
  std::deque<agent::LookPtr> looks_ GS_GUARDED_BY(mutex_);
};

TEST(Poller, GivesLooksOneAfterAnother) {
  Given given;
  Poller poller{std::make_unique<GatedSource>(std::make_shared<Gate>()), {1ms, 60s}, given.give()};
  poller.start();
  for (const char* number : {"1", "2", "3"}) {
    const auto look = given.next();
    ASSERT_TRUE(look != nullptr && *look);
    EXPECT_EQ((*look)->driver_version, number);
  }
}

TEST(Poller, SaysOnceThatALookIsOverdueAndGivesItWhenItComes) {
  const auto gate = std::make_shared<Gate>();
  Given given;
  gate->set(false);
  Poller poller{std::make_unique<GatedSource>(gate), {1ms, 20ms}, given.give()};
  poller.start();
  const auto overdue = given.next();
  ASSERT_TRUE(overdue != nullptr && !*overdue);
  EXPECT_EQ(overdue->error().kind, Fault::Kind::Hanging);
  EXPECT_EQ(overdue->error().text,
            "the GPU driver has not answered for 0.02 s; its call may hang until the node is rebooted");
  gate->set(true);
  const auto late = given.next();
  ASSERT_TRUE(late != nullptr && *late) << "nothing is said twice";
  EXPECT_EQ((*late)->driver_version, "1");
  EXPECT_EQ((*given.next())->driver_version, "2");
  EXPECT_EQ(gate->mostInside(), 1);
}

TEST(Poller, EndsThoughACallHangsForEver) {
  const auto gate = std::make_shared<Gate>();
  Given given;
  gate->set(false);
  {
    Poller poller{std::make_unique<GatedSource>(gate), {1ms, 1ms}, given.give()};
    poller.start();
    ASSERT_NE(given.next(), nullptr);
  }
  gate->set(true);  // the thread that was left behind ends
}

TEST(Poller, EndsWhileItWaitsForItsNextLook) {
  Given given;
  Poller poller{std::make_unique<GatedSource>(std::make_shared<Gate>()), {1h, 1h}, given.give()};
  poller.start();
  ASSERT_NE(given.next(), nullptr);
  poller.stop();
  poller.stop();
}

TEST(Poller, EndsThoughItWasNeverStarted) {
  Given given;
  const Poller poller{std::make_unique<GatedSource>(std::make_shared<Gate>()), {1h, 1h}, given.give()};
}

/// With the library itself.
TEST(Poller, GoesOnWhenTheDriversCallComesBack) {
  TempFolder folder;
  const std::string script = folder.path("script");
  setenv("GS_FAKE_NVML", script.c_str(), 1);
  std::ofstream{script} << *readFile("test/nvml/hanging.script");
  Given given;
  Poller poller{std::make_unique<Nvml>(Nvml::Options{.library = GS_NVML_fake}), {1ms, 20ms}, given.give()};
  poller.start();
  EXPECT_EQ(given.next()->error().kind, Fault::Kind::Hanging);
  const std::string fresh = folder.path("fresh");
  std::ofstream{fresh} << *readFile("test/nvml/dgx-h100.script");
  ASSERT_EQ(rename(fresh.c_str(), script.c_str()), 0);
  const auto look = given.next();
  ASSERT_TRUE(look != nullptr && *look);
  EXPECT_EQ((*look)->gpus.size(), 8U);
}

}  // namespace
}  // namespace gs::noderim
