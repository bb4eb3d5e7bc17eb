#include "base/mailbox.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace gs {
namespace {

constexpr Mono kPast{};                                    // looks once, never waits
const Mono kNever = Mono::max() - std::chrono::hours{24};  // no test gets there

TEST(Mailbox, GivesBackInOrder) {
  Mailbox<int> box{4};
  EXPECT_TRUE(box.push(1));
  EXPECT_TRUE(box.push(2));
  EXPECT_EQ(box.size(), 2U);
  EXPECT_EQ(box.pop(), 1);
  EXPECT_EQ(box.pop(kPast), 2);
  EXPECT_EQ(box.pop(kPast), std::nullopt);
}

TEST(Mailbox, TryPushRefusesWhenFull) {
  Mailbox<int> box{1};
  EXPECT_TRUE(box.tryPush(1));
  EXPECT_FALSE(box.tryPush(2));
  EXPECT_EQ(box.pop(), 1);
  EXPECT_TRUE(box.tryPush(3));
}

TEST(Mailbox, CloseKeepsWhatWasAcceptedAndRefusesMore) {
  Mailbox<int> box{4};
  EXPECT_TRUE(box.push(1));
  box.close();
  box.close();
  EXPECT_FALSE(box.push(2));
  EXPECT_FALSE(box.tryPush(2));
  EXPECT_FALSE(box.drained());
  EXPECT_EQ(box.pop(), 1);
  EXPECT_TRUE(box.drained());
  EXPECT_EQ(box.pop(), std::nullopt);
  EXPECT_EQ(box.pop(kNever), std::nullopt);
}

TEST(Mailbox, PopAllAppendsEverything) {
  Mailbox<std::unique_ptr<int>> box{4};
  for (int i = 0; i < 4; ++i) { EXPECT_TRUE(box.push(std::make_unique<int>(i))); }
  std::vector<std::unique_ptr<int>> batch;
  batch.push_back(std::make_unique<int>(-1));
  EXPECT_EQ(box.popAll(batch, kNever), 4U);
  ASSERT_EQ(batch.size(), 5U);
  EXPECT_EQ(*batch[4], 3);
  EXPECT_EQ(box.popAll(batch, kPast), 0U);
}

TEST(Mailbox, CloseWakesAWaitingPop) {
  Mailbox<int> box{1};
  std::jthread owner{[&] { EXPECT_EQ(box.pop(), std::nullopt); }};
  box.close();
}

TEST(Mailbox, CloseWakesAWaitingPush) {
  Mailbox<int> box{1};
  EXPECT_TRUE(box.push(1));
  std::jthread pusher{[&] { EXPECT_FALSE(box.push(2)); }};
  box.close();
}

TEST(Mailbox, ManyPushersLoseNothingAndKeepTheirOwnOrder) {
  constexpr int kPushers = 4;
  constexpr int kEach = 2000;
  Mailbox<std::pair<int, int>> box{8};
  std::vector<std::jthread> pushers;
  for (int p = 0; p < kPushers; ++p) {
    pushers.emplace_back([&box, p] {
      for (int i = 0; i < kEach; ++i) { EXPECT_TRUE(box.push({p, i})); }
    });
  }
  std::vector<int> next(kPushers, 0);
  std::vector<std::pair<int, int>> batch;
  for (int seen = 0; seen < kPushers * kEach;) {
    batch.clear();
    seen += static_cast<int>(box.popAll(batch, kNever));
    for (const auto& [pusher, i] : batch) { EXPECT_EQ(i, next[static_cast<std::size_t>(pusher)]++); }
  }
  EXPECT_EQ(box.size(), 0U);
}

}  // namespace
}  // namespace gs
