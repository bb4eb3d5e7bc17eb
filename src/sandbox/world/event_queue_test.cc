#include "sandbox/world/event_queue.h"

#include <gtest/gtest.h>

#include <string>

namespace gs::sandbox {
namespace {

using namespace std::chrono_literals;

class EventQueueTest : public testing::Test {
 protected:
  EventQueue::Action note(const char* what) {
    return [this, what] { done_ += std::string{what} + "@" + std::to_string(at().count()) + " "; };
  }
  /// Milliseconds since the start.
  std::chrono::milliseconds at() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(queue_.now().mono.time_since_epoch());
  }

  EventQueue queue_{Wall{}};
  std::string done_;
};

TEST_F(EventQueueTest, ByTimeAndOfEqualTimesInTheirOrder) {
  queue_.after(2ms, note("c"));
  queue_.after(1ms, note("a"));
  queue_.after(1ms, note("b"));
  queue_.runTo(Mono{5ms});
  EXPECT_EQ(done_, "a@1 b@1 c@2 ");
  EXPECT_EQ(at(), 5ms);
  EXPECT_EQ(queue_.now().wall, Wall{5ms});
}

TEST_F(EventQueueTest, WhatIsPutInMeanwhileHappensInItsTurn) {
  queue_.after(1ms, [this] {
    note("a")();
    queue_.after(0ms, note("now"));
    queue_.at(Mono{}, note("late"));
    queue_.after(3ms, note("d"));
  });
  queue_.after(1ms, note("b"));
  queue_.after(2ms, note("c"));
  queue_.runTo(Mono{3ms});
  EXPECT_EQ(done_, "a@1 b@1 now@1 late@1 c@2 ");
  EXPECT_EQ(queue_.nextDue(), Mono{4ms});
}

TEST_F(EventQueueTest, AStepIsOneActionThatIsDueByThen) {
  EXPECT_EQ(queue_.nextDue(), std::nullopt);
  EXPECT_FALSE(queue_.step(Mono::max()));
  queue_.after(2ms, note("a"));
  queue_.after(2ms, note("b"));
  EXPECT_FALSE(queue_.step(Mono{1ms}));
  EXPECT_EQ(at(), 0ms);
  EXPECT_TRUE(queue_.step(Mono{2ms}));
  EXPECT_EQ(done_, "a@2 ");
  queue_.moveTo(Mono{2ms});
  EXPECT_TRUE(queue_.step(Mono{2ms}));
  EXPECT_FALSE(queue_.step(Mono{2ms}));
}

TEST_F(EventQueueTest, TheWallMayBeSetAndTimeGoesOn) {
  queue_.setWall(Wall{1h});
  queue_.runTo(Mono{1ms});
  EXPECT_EQ(queue_.now().wall, Wall{1h + 1ms});
  EXPECT_EQ(at(), 1ms);
}

}  // namespace
}  // namespace gs::sandbox
