#include "serve/operator/turns.h"

#include <gtest/gtest.h>

#include <vector>

namespace gs::serve {
namespace {

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

}  // namespace
}  // namespace gs::serve
