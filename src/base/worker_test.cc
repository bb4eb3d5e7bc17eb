#include "base/worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>

#include "base/mailbox.h"

namespace gs {
namespace {

TEST(Worker, RunsItsBodyAndJoins) {
  std::atomic<int> ran{0};
  Worker worker{"runs", [&](const std::stop_token&) { ++ran; }};
  worker.join();
  worker.join();
  EXPECT_EQ(ran, 1);
}

TEST(Worker, DestructorAsksToStop) {
  std::atomic<bool> stopped{false};
  {
    const Worker worker{"a name longer than 15 bytes", [&](const std::stop_token& stop) {
                          while (!stop.stop_requested()) { std::this_thread::yield(); }
                          stopped = true;
                        }};
  }
  EXPECT_TRUE(stopped);
}

TEST(Worker, EndsWhenItsMailboxIsClosed) {
  Mailbox<int> box{4};
  int sum = 0;
  Worker worker{"sum", [&](const std::stop_token&) {
                  while (const auto message = box.pop()) { sum += *message; }
                }};
  EXPECT_TRUE(box.push(2));
  EXPECT_TRUE(box.push(3));
  box.close();
  worker.join();
  EXPECT_EQ(sum, 5);
}

TEST(WorkerDeathTest, AnExceptionEndsTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto throwInside = [] {
    Worker worker{"thrower", [](const std::stop_token&) { throw std::runtime_error{"no way on"}; }};
    worker.join();
  };
  EXPECT_EXIT(throwInside(), testing::ExitedWithCode(EXIT_FAILURE), "thread=thrower what=\"no way on\"");
}

}  // namespace
}  // namespace gs
