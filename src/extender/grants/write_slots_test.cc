#include "extender/grants/write_slots.h"

#include <gtest/gtest.h>

namespace gs::extender {
namespace {

model::Uid uid(const char* text) { return model::Uid{text}; }

TEST(WriteSlots, OfOneNamespaceSoManyAtATime) {
  WriteSlots slots{4, 2};
  EXPECT_TRUE(slots.take("a", uid("1")));
  EXPECT_TRUE(slots.take("a", uid("2")));
  EXPECT_FALSE(slots.take("a", uid("3")));
  EXPECT_FALSE(slots.next()) << "nobody can go on yet";
  EXPECT_TRUE(slots.take("b", uid("4"))) << "others have theirs";
  slots.give("a");
  EXPECT_EQ(slots.next(), uid("3"));
  EXPECT_FALSE(slots.next()) << "it waits no more";
}

TEST(WriteSlots, NamespacesTakeTurns) {
  WriteSlots slots{1, 1};
  EXPECT_TRUE(slots.take("a", uid("0")));
  for (const char* pod : {"1", "2"}) { EXPECT_FALSE(slots.take("a", uid(pod))); }
  EXPECT_FALSE(slots.take("b", uid("3")));
  slots.give("a");
  EXPECT_EQ(slots.next(), uid("1"));
  EXPECT_TRUE(slots.take("a", uid("1")));
  slots.give("a");
  EXPECT_EQ(slots.next(), uid("3")) << "not the other one of a";
  EXPECT_TRUE(slots.take("b", uid("3")));
  slots.give("b");
  EXPECT_EQ(slots.next(), uid("2"));
}

TEST(WriteSlots, WhoEndsWaitsNoMore) {
  WriteSlots slots{1, 1};
  EXPECT_TRUE(slots.take("a", uid("0")));
  EXPECT_FALSE(slots.take("a", uid("1")));
  EXPECT_FALSE(slots.take("a", uid("1"))) << "twice the same";
  slots.forget("a", uid("1"));
  slots.give("a");
  EXPECT_FALSE(slots.next());
}

}  // namespace
}  // namespace gs::extender
