#include "serve/operator/turns.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "base/system_clock.h"

namespace gs::serve {
namespace {

using namespace std::chrono_literals;

Mono after(Duration time) { return SystemClock{}.now().mono + time; }

std::string refusalOf(Turns& turns, const std::string& ns, const std::string& registry) {
  const auto turn = turns.take(ns, registry);
  return turn ? std::string{} : turn.error().message;
}

TEST(TurnsTest, EachHasItsOwnLimit) {
  Turns turns{{.of_pair = 1, .of_namespace = 2, .of_registry = 2, .all = 4}};
  const auto a1 = turns.take("a", "one");
  EXPECT_EQ(refusalOf(turns, "a", "one"),
            "busy with other images of one of namespace a; try again in a moment");
  EXPECT_EQ(refusalOf(turns, "a", "two"), "");
  const auto a2 = turns.take("a", "two");
  EXPECT_EQ(refusalOf(turns, "a", "three"), "busy with other images of namespace a; try again in a moment");
  const auto b1 = turns.take("b", "one");
  EXPECT_EQ(refusalOf(turns, "c", "one"), "busy with other images of one; try again in a moment");
  EXPECT_EQ(refusalOf(turns, "c", "two"), "");
  const auto wide = turns.take("", "four");
  EXPECT_EQ(refusalOf(turns, "", "four"),
            "busy with other images of four of cluster-wide caches; try again in a moment");
  EXPECT_EQ(refusalOf(turns, "c", "five"), "busy with other images of all namespaces; try again in a moment");
}

TEST(TurnsTest, WhatEndedIsGivenBackOnce) {
  Turns turns{{.of_pair = 1, .of_namespace = 1, .of_registry = 1, .all = 1}};
  for (int i = 0; i < 3; ++i) {
    auto turn = turns.take("a", "one");
    ASSERT_TRUE(turn.has_value());
    const Turns::Turn moved = *std::move(turn);
    EXPECT_NE(refusalOf(turns, "b", "two"), "");
  }
  EXPECT_EQ(refusalOf(turns, "b", "two"), "");
}

TEST(TurnsTest, WhoComesTooManyWaitsForATurn) {
  Turns turns{{.of_pair = 2, .of_namespace = 6, .of_registry = 6, .all = 6}};
  std::atomic<int> at_once = 0;
  std::atomic<int> most = 0;
  std::vector<std::future<bool>> five;
  for (int i = 0; i < 5; ++i) {
    five.push_back(std::async(std::launch::async, [&] {
      const auto turn = turns.take("a", "one", after(1min));
      const int now = ++at_once;
      int seen = most;
      while (seen < now && !most.compare_exchange_weak(seen, now)) {}
      std::this_thread::yield();
      --at_once;
      return turn.has_value();
    }));
  }
  for (auto& one : five) { EXPECT_TRUE(one.get()); }
  EXPECT_LE(most, 2);
}

TEST(TurnsTest, OnlySoManyWaitAndOnlySoLong) {
  Turns turns{{.of_pair = 1, .of_namespace = 9, .of_registry = 9, .all = 9, .waiting = 1}};
  auto held = turns.take("a", "one");
  ASSERT_TRUE(held.has_value());
  EXPECT_EQ(turns.take("a", "one", after(1ms)).error().message,
            "busy with other images of one of namespace a; try again in a moment");
  auto waits =
      std::async(std::launch::async, [&] { return turns.take("a", "one", after(1min)).has_value(); });
  while (turns.waiting() == 0) { std::this_thread::yield(); }
  EXPECT_EQ(turns.take("a", "one", after(1min)).error().code, Code::Unavailable);  // at once
  { const Turns::Turn ends = *std::move(held); }
  EXPECT_TRUE(waits.get());
  EXPECT_EQ(turns.waiting(), 0);
}

TEST(TurnsTest, WhoWaitsIsToldThatItEnds) {
  Turns turns{{.of_pair = 1}};
  const auto held = turns.take("a", "one");
  auto waits =
      std::async(std::launch::async, [&] { return turns.take("a", "one", after(1min)).has_value(); });
  while (turns.waiting() == 0) { std::this_thread::yield(); }
  turns.stop();
  EXPECT_FALSE(waits.get());
  EXPECT_FALSE(turns.take("a", "one", after(1min)).has_value());  // at once
}

}  // namespace
}  // namespace gs::serve
