#include "runner/wake_times.h"

#include <gtest/gtest.h>

namespace gs::runner {
namespace {

using namespace std::chrono_literals;

TEST(WakeTimes, EachTimeIsDueOnceAndNeverEarly) {
  WakeTimes times;
  EXPECT_EQ(times.next(), Mono::max());
  times.add(Mono{1500us});
  times.add(Mono{1s});
  EXPECT_EQ(times.next(), Mono{2ms});
  EXPECT_FALSE(times.due(Mono{1999us}));
  EXPECT_TRUE(times.due(Mono{2ms}));
  EXPECT_FALSE(times.due(Mono{2ms}));
  EXPECT_EQ(times.next(), Mono{1s});
  EXPECT_TRUE(times.due(Mono{5s}));
  EXPECT_EQ(times.next(), Mono::max());
}

TEST(WakeTimes, AskingForTheSameMillisecondOrForNeverCostsNothing) {
  WakeTimes times;
  for (int i = 1; i <= 1000; ++i) { times.add(Mono{std::chrono::microseconds{i}}); }
  times.add(Mono::max());
  EXPECT_TRUE(times.due(Mono{1ms}));
  EXPECT_EQ(times.next(), Mono::max());
}

}  // namespace
}  // namespace gs::runner
