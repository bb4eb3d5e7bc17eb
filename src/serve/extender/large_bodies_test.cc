#include "serve/extender/large_bodies.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/deadline_test.h"

namespace gs::serve {
namespace {

using namespace std::chrono_literals;

TEST(LargeBodies, SmallOnesNeverWait) {
  LargeBodies bodies{{.small = 10, .most = 100, .patience = 0s}};
  const auto all = bodies.take(100);
  ASSERT_TRUE(all);
  EXPECT_FALSE(bodies.take(11));
  EXPECT_TRUE(bodies.take(10));
}

TEST(LargeBodies, TheirBytesTogetherAreLimited) {
  LargeBodies bodies{{.small = 10, .most = 100, .patience = 0s}};
  auto first = bodies.take(50);
  const auto second = bodies.take(50);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(bodies.take(11));
  first.reset();
  EXPECT_TRUE(bodies.take(11));
}

TEST(LargeBodies, OneLargerThanAllIsTakenAlone) {
  LargeBodies bodies{{.small = 10, .most = 100, .patience = 0s}};
  {
    const auto larger = bodies.take(1000);
    EXPECT_TRUE(larger);
    EXPECT_FALSE(bodies.take(11));
  }
  EXPECT_TRUE(bodies.take(100));
}

TEST(LargeBodies, WhoWaitsHasItsTurnWhenThereIsRoom) {
  LargeBodies bodies{{.small = 10, .most = 100, .patience = 1h}};
  std::atomic<bool> ended = false;
  auto first = bodies.take(100);
  std::jthread waits{[&] {
    const auto turn = bodies.take(60);
    EXPECT_TRUE(turn);
    EXPECT_TRUE(ended) << "not before the first one ended";
  }};
  gs::waitUntil("one waits for its turn", [&] { return bodies.waiting() == 1; });
  ended = true;
  first.reset();
}

TEST(LargeBodies, WhoGaveUpHoldsNobodyUp) {
  LargeBodies bodies{{.small = 10, .most = 100, .patience = 1h}};
  const auto first = bodies.take(50);
  std::atomic<bool> gave_up = false;
  std::jthread too_large{[&] {
    EXPECT_FALSE(bodies.take(100, 50ms));
    gave_up = true;
  }};
  gs::waitUntil("the other one waits", [&] { return gave_up || bodies.waiting() == 1; });
  const gs::Deadline deadline{"the one behind it has its turn"};
  EXPECT_TRUE(bodies.take(50)) << "it waited behind the other one, and had its turn once that was gone";
}

}  // namespace
}  // namespace gs::serve
