#include "scheduler/pending/held_back.h"

#include <gtest/gtest.h>

namespace gs::scheduler {
namespace {

class HeldBackTest : public ::testing::Test {
 protected:
  void add(const std::string& ns, const char* uid, int priority = 0, std::int64_t created = 0) {
    held.add(ns, {model::Uid{uid}, priority, created, 1});
  }
  std::string take(const std::string& ns) {
    const auto item = held.take(ns);
    return item ? item->uid.text : "";
  }
  HeldBack held;
};

TEST_F(HeldBackTest, EachNamespaceHasItsOrder) {
  add("a", "late", 0, 5);
  add("a", "early", 0, 4);
  add("a", "important", 1, 9);
  add("b", "other");
  EXPECT_EQ(held.size(), 4U);
  EXPECT_EQ(held.namespaces(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(take("a"), "important");
  EXPECT_EQ(take("a"), "early");
  EXPECT_EQ(take("a"), "late");
  EXPECT_EQ(take("a"), "");
  EXPECT_EQ(held.namespaces(), std::vector<std::string>{"b"});
}

TEST_F(HeldBackTest, ThoseThatWereTriedInVainAndTheOthersTakeTurns) {
  for (const char* uid : {"bad0", "bad1"}) { held.add("a", {model::Uid{uid}, 9, 0, 1}, true); }
  for (const char* uid : {"good0", "good1", "good2"}) { add("a", uid, 0, 1); }
  for (const char* uid : {"good0", "bad0", "good1", "bad1", "good2"}) { EXPECT_EQ(take("a"), uid); }
  held.add("a", {model::Uid{"bad"}, 0, 0, 1}, true);
  EXPECT_EQ(take("a"), "bad");
}

TEST_F(HeldBackTest, WhatIsRemovedOrAddedAgainLeavesNothingBehind) {
  add("a", "p", 0, 1);
  add("a", "p", 0, 2);
  EXPECT_EQ(held.size(), 1U);
  held.remove(model::Uid{"p"});
  held.remove(model::Uid{"never there"});
  EXPECT_EQ(held.size(), 0U);
  EXPECT_TRUE(held.namespaces().empty());
  add("a", "p");
  held.clear();
  EXPECT_EQ(take("a"), "");
}

}  // namespace
}  // namespace gs::scheduler
