#include "base/system_clock.h"

#include <gtest/gtest.h>

namespace gs {
namespace {

TEST(SystemClock, NeverRunsBackwards) {
  const SystemClock clock;
  const Now first = clock.now();
  const Now second = clock.now();
  EXPECT_LE(first.mono, second.mono);
  EXPECT_GT(first.wall, Wall{std::chrono::seconds{1'700'000'000}});
}

TEST(ManualClock, MovesOnlyWhenTold) {
  ManualClock clock;
  const Now before = clock.now();
  clock.advance(std::chrono::milliseconds{1500});
  EXPECT_EQ(clock.now().mono - before.mono, std::chrono::milliseconds{1500});
  EXPECT_EQ(clock.now().wall - before.wall, std::chrono::milliseconds{1500});
}

}  // namespace
}  // namespace gs
