#include "operator/desk.h"

#include <gtest/gtest.h>

#include <vector>

namespace gs::gkm {
namespace {

using namespace std::chrono_literals;
using TestDesk = Desk<int>;

class DeskTest : public ::testing::Test {
 protected:
  TestDesk desk{9, 4};
  Mono now{};

  std::vector<std::string> all(bool begins = false) {
    std::vector<std::string> out;
    while (const auto key = desk.next(now)) {
      out.push_back(key->text());
      if (begins) { tokens.push_back(desk.begin(*key, 0)); }
    }
    return out;
  }
  std::vector<kapi::Token> tokens;
};

TEST_F(DeskTest, NamespacesTakeTurns) {
  for (const char* name : {"1", "2", "3"}) { desk.touch({"a", name}); }
  desk.touch({"b", "1"});
  EXPECT_EQ(all(), (std::vector<std::string>{"a/1", "b/1", "a/2", "a/3"}));
  EXPECT_TRUE(all().empty());
}

TEST_F(DeskTest, OneNamespaceLeavesRoomForAnother) {
  for (const char* name : {"1", "2", "3", "4", "5"}) { desk.touch({"a", name}); }
  EXPECT_EQ(all(true).size(), 2U);
  desk.touch({"b", "1"});
  EXPECT_EQ(all(true), (std::vector<std::string>{"b/1"}));
  (void)desk.answered(tokens[0]);
  EXPECT_EQ(all(true), (std::vector<std::string>{"a/1"}));
}

TEST_F(DeskTest, AKeyThatIsTouchedDuringItsCallComesAfterIt) {
  desk.touch({"a", "1"});
  ASSERT_EQ(all(true).size(), 1U);
  desk.touch({"a", "1"});
  EXPECT_TRUE(all().empty());
  EXPECT_TRUE(desk.answered(tokens[0]).has_value());
  EXPECT_EQ(all(), (std::vector<std::string>{"a/1"}));
}

TEST_F(DeskTest, AKeyThatFailedComesWhenItsWaitIsOver) {
  desk.touch({"a", "1"});
  ASSERT_EQ(all(true).size(), 1U);
  (void)desk.answered(tokens[0]);
  desk.failed({"a", "1"}, now, {});
  EXPECT_TRUE(all().empty());
  now = desk.nextDue().value();
  EXPECT_EQ(all(), (std::vector<std::string>{"a/1"}));
}

TEST_F(DeskTest, TheEarliestOfTwoTimesCounts) {
  desk.touchAt({"a", "1"}, now + 5s);
  desk.touchAt({"a", "1"}, now + 2s);
  desk.touchAt({"a", "1"}, now + 9s);
  EXPECT_EQ(desk.nextDue(), now + 2s);
  now += 2s;
  EXPECT_EQ(all(), (std::vector<std::string>{"a/1"}));
  EXPECT_EQ(desk.nextDue(), std::nullopt);
}

TEST_F(DeskTest, WhatIsForgottenDoesNotComeAndItsCallIsStale) {
  desk.touch({"a", "1"});
  ASSERT_EQ(all(true).size(), 1U);
  desk.touchAt({"a", "1"}, now + 1s);
  desk.touch({"a", "2"});
  desk.forget({"a", "1"});
  desk.forget({"a", "2"});
  now += 2s;
  EXPECT_TRUE(all().empty());
  EXPECT_TRUE(desk.answered(tokens[0])->stale);
}

}  // namespace
}  // namespace gs::gkm
