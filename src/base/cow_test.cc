#include "base/cow.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace gs {
namespace {

TEST(Cow, HoldsNothingUntilItIsWritten) {
  Cow<std::string> text;
  EXPECT_EQ(text.read(), nullptr);
  const Cow<std::string> copy = text;
  text.write() = "a";
  EXPECT_EQ(*text.read(), "a");
  EXPECT_EQ(copy.read(), nullptr);
}

TEST(Cow, CopiesAreOneUntilOneWrites) {
  Cow<std::string> first;
  first.write() = "a";
  Cow<std::string> second = first;
  EXPECT_TRUE(second.sameAs(first));
  EXPECT_EQ(second.read(), first.read());
  second.write() += "b";
  EXPECT_FALSE(second.sameAs(first));
  EXPECT_EQ(*first.read(), "a");
  EXPECT_EQ(*second.read(), "ab");
  const std::string* before = second.read();
  second.write() += "c";
  EXPECT_EQ(second.read(), before) << "alone on it, and yet it was copied";
}

TEST(Cow, TheLastOwnerFreesIt) {
  const auto watched = std::make_shared<int>(7);
  Cow<std::shared_ptr<int>> first;
  first.write() = watched;
  {
    Cow<std::shared_ptr<int>> second = first;
    Cow<std::shared_ptr<int>> third;
    third = second;
    EXPECT_EQ(watched.use_count(), 2);
    second.write();
    EXPECT_EQ(watched.use_count(), 3);
    first = std::move(third);
  }
  EXPECT_EQ(watched.use_count(), 2);
  first = {};
  EXPECT_EQ(watched.use_count(), 1);
}

TEST(Cow, CopiesMayBeWrittenOnOtherThreads) {
  Cow<std::string> shared;
  shared.write() = "x";
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([mine = shared]() mutable {
      for (int i = 0; i < 1000; ++i) {
        Cow<std::string> next = mine;
        next.write() = std::to_string(i);
        mine = std::move(next);
      }
      EXPECT_EQ(*mine.read(), "999");
    });
  }
  for (auto& thread : threads) { thread.join(); }
  EXPECT_EQ(*shared.read(), "x");
}

}  // namespace
}  // namespace gs
