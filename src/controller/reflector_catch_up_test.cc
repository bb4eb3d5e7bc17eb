// Reaching the present on demand: the second watch of catchUp(), and the one that was opened beforehand.
#include <gtest/gtest.h>

#include "controller/reflector_hand_test.h"

namespace gs::controller {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(ReflectorCatchUp, IsSaidAtOnceWhenAlreadyThere) {
  Hand h;
  h.begin();
  EXPECT_TRUE(h.catchUp(10).caught_up_now);
  EXPECT_EQ(h.count<kapi::OpenWatch>(), 0);
}

TEST(ReflectorCatchUp, OpensASecondWatchWithAShortTimeout) {
  Hand h;
  h.begin();
  const kapi::Token first = h.open().stream;
  EXPECT_FALSE(h.catchUp(15).caught_up_now);
  EXPECT_EQ(h.count<kapi::OpenWatch>(), 1);
  EXPECT_NE(h.open().stream, first);
  EXPECT_NE(h.open().query.find("resourceVersion=10&"), std::string::npos);
  EXPECT_NE(h.open().query.find("timeoutSeconds=3"), std::string::npos);
  EXPECT_EQ(h.event(h.open().stream, kapi::WatchType::Added, "b", "u-b", 12).changes.size(), 1U);
  EXPECT_TRUE(
      h.event(first, kapi::WatchType::Added, "b", "u-b", 12).changes.empty());  // the same by the first watch
  const auto& out = h.bookmark(h.open().stream, 15);
  EXPECT_TRUE(out.caught_up_now);
  EXPECT_EQ(h.count<kapi::CloseWatch>(), 1);
  EXPECT_EQ(h.machine().progress(), 15U);
}

TEST(ReflectorCatchUp, TheFirstWatchMayGetThereFirst) {
  Hand h;
  h.begin();
  const kapi::Token first = h.open().stream;
  h.catchUp(15);
  EXPECT_TRUE(h.event(first, kapi::WatchType::Added, "b", "u-b", 15).caught_up_now);
}

TEST(ReflectorCatchUp, FewObjectsAreListedAgain) {
  Hand h{500, kWatchedKind, 2};
  h.begin();
  h.expectCatchUp();
  EXPECT_EQ(h.count<kapi::OpenWatch>(), 0) << "nothing takes time that could be used beforehand";
  h.catchUp(15);
  EXPECT_EQ(h.count<kapi::OpenWatch>(), 0);
  ASSERT_EQ(h.count<kapi::Call>(), 1);
  EXPECT_EQ(h.call().query.find("resourceVersion"), std::string::npos) << "not from a cache";
  const auto& out = h.listed(15, {leaseObject(keyed("b"), "u-b", 12)});
  EXPECT_TRUE(out.caught_up_now);
  EXPECT_EQ(out.changes.size(), 2U) << "one is gone, and one came";
}

TEST(ReflectorCatchUp, OneObjectMoreIsNotFew) {
  Hand h{500, kWatchedKind, 2};
  h.begin();
  h.event(h.open().stream, kapi::WatchType::Added, "b", "u-b", 12);
  h.expectCatchUp();
  EXPECT_EQ(h.count<kapi::OpenWatch>(), 1);
  h.catchUp(15);
  EXPECT_EQ(h.count<kapi::Call>(), 0);
}

TEST(ReflectorCatchUp, FewObjectsWhoseListFailsAreListedUntilItDoesNot) {
  Hand h{500, kWatchedKind, 2};
  h.begin();
  h.catchUp(15);
  ASSERT_EQ(h.count<kapi::Call>(), 1);
  h.listFails(500);
  h.advance(h.untilWake());
  h.tick();
  ASSERT_EQ(h.count<kapi::Call>(), 1);
  EXPECT_TRUE(h.listed(16, {}).caught_up_now);
}

TEST(ReflectorCatchUp, DoesNotHideThatTheFirstWatchWaitsToBeOpenedAgain) {
  Hand h;
  h.begin();
  h.ended(h.open().stream, 0);
  h.catchUp(15);
  EXPECT_TRUE(h.bookmark(h.open().stream, 15).caught_up_now);
  EXPECT_NE(h.machine().trouble(), "");
  h.advance(h.untilWake());
  h.tick();
  h.bookmark(h.open().stream, 16);
  EXPECT_EQ(h.machine().trouble(), "");
}

TEST(ReflectorCatchUp, WithoutABookmarkIn3SecondsListsAgain) {
  Hand h;
  h.begin();
  h.catchUp(15);
  h.advance(milliseconds{2999});
  EXPECT_EQ(h.tick().effects.size(), 0U);
  h.advance(milliseconds{1});
  h.tick();
  EXPECT_EQ(h.count<kapi::Call>(), 1);
  EXPECT_EQ(h.count<kapi::CloseWatch>(), 2);
  EXPECT_TRUE(h.listed(16, {}).caught_up_now);
}

TEST(ReflectorCatchUp, GoesOnWhenThatListFails) {
  Hand h;
  h.begin();
  h.catchUp(15);
  h.advance(seconds{3});
  h.tick();
  h.listFails(500);
  h.advance(h.untilWake());
  h.tick();
  ASSERT_EQ(h.count<kapi::Call>(), 1);
  EXPECT_TRUE(h.listed(16, {}).caught_up_now);
}

TEST(ReflectorCatchUp, DuringAListWaitsForIt) {
  Hand h;
  h.start();
  EXPECT_FALSE(h.catchUp(10).caught_up_now);
  EXPECT_EQ(h.count<kapi::Call>(), 0);
  EXPECT_TRUE(h.listed(10, {}).caught_up_now);
}

/// Whoever listed 140,000 pods is busy with them for seconds, and only then asks for what follows.
TEST(ReflectorCatchUp, WhatTheListBringsMayTakeItsTime) {
  Hand h;
  h.start();
  h.catchUp(15);
  h.listed(10, {});
  EXPECT_EQ(h.untilWake(), seconds{0});
  h.advance(seconds{20});
  h.tick();
  EXPECT_EQ(h.count<kapi::Call>(), 0);
  EXPECT_EQ(h.untilWake(), seconds{3});
  h.advance(seconds{3});
  h.tick();
  EXPECT_EQ(h.count<kapi::Call>(), 1) << "now it was asked for, and nothing came";
}

TEST(ReflectorCatchUp, ASecondCallReplacesTheFirst) {
  Hand h;
  h.begin();
  h.catchUp(15);
  const kapi::Token second = h.open().stream;
  h.catchUp(20);
  EXPECT_EQ(h.count<kapi::CloseWatch>(), 1);
  EXPECT_NE(h.open().stream, second);
  EXPECT_FALSE(h.bookmark(h.open().stream, 15).caught_up_now);
  EXPECT_TRUE(h.bookmark(h.open().stream, 20).caught_up_now);
}

TEST(ReflectorCatchUp, OneThatWasExpectedHasItsWatchAlready) {
  Hand h;
  h.begin();
  h.expectCatchUp();
  EXPECT_EQ(h.count<kapi::OpenWatch>(), 1);
  const kapi::Token early = h.open().stream;
  h.expectCatchUp();
  EXPECT_EQ(h.count<kapi::OpenWatch>(), 0) << "one is enough";
  h.advance(milliseconds{999});
  h.catchUp(15);
  EXPECT_EQ(h.count<kapi::OpenWatch>(), 0);
  EXPECT_EQ(h.untilWake(), seconds{3}) << "and is waited for";
  const auto& out = h.bookmark(early, 15);
  EXPECT_TRUE(out.caught_up_now);
  EXPECT_EQ(h.count<kapi::CloseWatch>(), 1);
}

TEST(ReflectorCatchUp, AWatchThatMayHaveHadItsBookmarkIsReplaced) {
  Hand h;
  h.begin();
  h.expectCatchUp();
  const kapi::Token early = h.open().stream;
  h.advance(seconds{1});
  h.catchUp(15);
  EXPECT_EQ(h.count<kapi::CloseWatch>(), 1);
  EXPECT_EQ(h.count<kapi::OpenWatch>(), 1);
  EXPECT_NE(h.open().stream, early);
  EXPECT_TRUE(h.bookmark(h.open().stream, 15).caught_up_now);
}

TEST(ReflectorCatchUp, WhatWasExpectedAndDidNotComeCostsNoList) {
  Hand h;
  h.begin();
  h.expectCatchUp();
  const kapi::Token early = h.open().stream;
  h.bookmark(early, 12);
  h.advance(seconds{3});
  h.ended(early, 200);
  h.advance(seconds{10});
  h.tick();
  EXPECT_EQ(h.count<kapi::Call>(), 0);
  EXPECT_EQ(h.machine().progress(), 12U);
}

/// The server sends one bookmark to such a watch, and it may come before what is waited for was written.
TEST(ReflectorCatchUp, AWatchThatEndsBelowIsFollowedByAnotherWhileThereIsTime) {
  Hand h;
  h.begin();
  h.expectCatchUp();
  h.advance(milliseconds{500});
  h.catchUp(15);
  h.bookmark(h.open().stream, 14);
  h.advance(milliseconds{2500});
  const kapi::Token early = h.open().stream;
  h.ended(early, 200);
  EXPECT_EQ(h.count<kapi::OpenWatch>(), 1);
  EXPECT_NE(h.open().stream, early);
  h.advance(milliseconds{500});
  h.ended(h.open().stream, 200);
  EXPECT_EQ(h.count<kapi::OpenWatch>(), 0) << "the time is over";
  h.tick();
  EXPECT_EQ(h.count<kapi::Call>(), 1);
}

/// As where a proxy ends them: opened again each time, they would come as fast as it answers.
TEST(ReflectorCatchUp, AWatchThatEndsAtOnceIsNotOpenedAgainAndAtTheDeadlineAllIsListed) {
  Hand h;
  h.begin();
  h.catchUp(15);
  h.advance(milliseconds{499});
  h.ended(h.open().stream, 200);
  EXPECT_EQ(h.count<kapi::OpenWatch>(), 0);
  h.advance(milliseconds{2500});
  h.tick();
  EXPECT_EQ(h.count<kapi::Call>(), 0);
  h.advance(milliseconds{1});
  h.tick();
  EXPECT_EQ(h.count<kapi::Call>(), 1);
  EXPECT_TRUE(h.listed(16, {}).caught_up_now);
}

TEST(ReflectorCatchUp, AForgottenHistoryIsSeenByTheSecondWatchToo) {
  Hand h;
  h.begin();
  h.expectCatchUp();
  h.ended(h.open().stream, 410);
  EXPECT_EQ(h.count<kapi::Call>(), 1);
}

TEST(ReflectorCatchUp, DuringAListNothingIsExpected) {
  Hand h;
  h.start();
  h.expectCatchUp();
  EXPECT_EQ(h.count<kapi::OpenWatch>(), 0);
  h.listed(10, {});
  h.ended(h.open().stream, 410);
  h.expectCatchUp();
  EXPECT_EQ(h.count<kapi::OpenWatch>(), 0);
}

// A watch that is still open while a list is under way knows of deletions that the list does not.
TEST(ReflectorCatchUp, AListClosesTheSecondWatch) {
  Hand h;
  h.begin();
  const kapi::Token first = h.open().stream;
  h.catchUp(15);
  const kapi::Token second = h.open().stream;
  h.ended(first, 410);
  ASSERT_EQ(h.count<kapi::Call>(), 1);
  EXPECT_TRUE(h.event(second, kapi::WatchType::Deleted, "a", "u-a", 20).changes.empty());
  EXPECT_EQ(h.machine().progress(), 10U);
}

}  // namespace
}  // namespace gs::controller
