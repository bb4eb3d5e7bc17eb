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
  int passed() {
    MutexLock lock{mutex_};
    return looks_;
  }
  void end() {
    MutexLock lock{mutex_};
    ended_on_ = std::this_thread::get_id();
  }
  /// The thread that ended the source; none: nobody did.
  std::thread::id endedOn() {
    MutexLock lock{mutex_};
    return ended_on_;
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
  std::thread::id ended_on_ GS_GUARDED_BY(mutex_);
};
class GatedSource final : public GpuSource {
 public:
  explicit GatedSource(std::shared_ptr<Gate> gate) : gate_{std::move(gate)} {}
  GatedSource(const GatedSource&) = delete;
  GatedSource& operator=(const GatedSource&) = delete;
  ~GatedSource() override { gate_->end(); }
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

TEST(Poller, SaysWhileALookIsOverdueThatItIsAndGivesItWhenItComes) {
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
  for (int i = 0; i < 2; ++i) {
    const auto again = given.next();
    ASSERT_TRUE(again != nullptr && !*again) << "who takes it may have dropped one";
  }
  gate->set(true);
  auto late = given.next();
  while (late != nullptr && !*late) { late = given.next(); }
  ASSERT_TRUE(late != nullptr && *late);
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
    while (gate->mostInside() == 0) { std::this_thread::yield(); }
  }
  gate->set(true);  // the thread that was left behind ends
  while (gate->passed() == 0) { std::this_thread::yield(); }
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(gate->endedOn(), std::thread::id{}) << "its source is left alone";
}

TEST(Poller, TheSourceEndsOnTheThreadThatLooks) {
  const auto gate = std::make_shared<Gate>();
  Given given;
  {
    Poller poller{std::make_unique<GatedSource>(gate), {1ms, 60s}, given.give()};
    poller.start();
    ASSERT_NE(given.next(), nullptr);
  }
  EXPECT_NE(gate->endedOn(), std::thread::id{});
  EXPECT_NE(gate->endedOn(), std::this_thread::get_id());
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
  auto look = given.next();
  while (look != nullptr && !*look) { look = given.next(); }
  ASSERT_NE(look, nullptr);
  EXPECT_EQ((*look)->gpus.size(), 8U);
}

}  // namespace
}  // namespace gs::noderim
