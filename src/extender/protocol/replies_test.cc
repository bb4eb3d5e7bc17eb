#include "extender/protocol/replies.h"

#include <gtest/gtest.h>

namespace gs::extender {
namespace {

using namespace std::chrono_literals;
using Kind = Answer::Kind;

Answer answerOf(Kind kind) {
  Answer a;
  a.kind = kind;
  a.text = "its own text";
  return a;
}

TEST(Replies, APromiseIsGoodUntilTheLeadEndsAndWithdrawnAfterwards) {
  Replies replies;
  const Mono end{1h};
  replies.leadUntil(end);
  for (const Kind kind : {Kind::Chosen, Kind::Done}) {
    replies.give(1, answerOf(kind), end - 1ns);
    replies.give(2, answerOf(kind), end);
    const auto given = replies.take();
    ASSERT_EQ(given.size(), 2U);
    EXPECT_EQ(given[0].first, 1U);
    EXPECT_EQ(given[0].second.kind, kind);
    EXPECT_EQ(given[0].second.good_until, end);
    EXPECT_EQ(given[1].first, 2U);
    EXPECT_EQ(given[1].second.kind, Kind::Unavailable);
    EXPECT_EQ(given[1].second.text, "this replica did not renew its lead in time");
  }
  EXPECT_TRUE(replies.take().empty());
  replies.leadUntil(end + 1h);
  replies.give(3, answerOf(Kind::Chosen), end);
  EXPECT_EQ(replies.take().at(0).second.kind, Kind::Chosen) << "it was said again";
}

TEST(Replies, WhatPromisesNothingIsSaidWhoeverLeads) {
  Replies replies;
  replies.leadUntil(Mono{});
  for (const Kind kind : {Kind::Failed, Kind::Nowhere, Kind::Untouched, Kind::Unavailable}) {
    replies.give(1, answerOf(kind), Mono{1h});
    const auto given = replies.take();
    EXPECT_EQ(given.at(0).second.kind, kind);
    EXPECT_EQ(given.at(0).second.text, "its own text");
  }
}

}  // namespace
}  // namespace gs::extender
