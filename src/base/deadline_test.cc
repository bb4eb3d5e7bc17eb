#include "base/deadline_test.h"

#include <gtest/gtest.h>

namespace gs {
namespace {

using namespace std::chrono_literals;

void waitForEver() {
  const Deadline deadline{"the end of all things", 1ms};
  Mutex mutex;
  Signal never;
  const MutexLock lock{mutex};
  while (true) { never.wait(mutex); }
}

TEST(DeadlineDeathTest, SaysWhatNeverCameTrueAndEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(waitForEver(), "never came true: the end of all things");
}

TEST(Deadline, DoesNothingWhereItEndsInTime) {
  const Deadline deadline{"nothing", 1h};
  int looks = 0;
  waitUntil("looked at three times", [&] { return ++looks == 3; });
  EXPECT_EQ(looks, 3);
}

}  // namespace
}  // namespace gs
