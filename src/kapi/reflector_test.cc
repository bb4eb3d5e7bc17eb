#include "kapi/reflector.h"

#include <gtest/gtest.h>

#include "kapi/decode.h"
#include "kapi/paths.h"
#include "kapi/reflector_objects_test.h"

namespace gs::kapi {
namespace {

using model::Kind;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Plays the runner by hand: keeps the last effects and finds what a test wants to see.
class Hand {
 public:
  explicit Hand(int page_size = 500, Kind kind = kWatchedKind)
      : machine_{{kind, 9, "ns", "a=b", page_size}, Rng{1}} {}

  Reflector& machine() { return machine_; }
  Now now() const { return clock_.now(); }
  void advance(Duration by) { clock_.advance(by); }

  const Reflector::Output& take(Reflector::Output out) {
    last_ = std::move(out);
    for (const Effect& e : last_.effects) {
      if (const auto* call = std::get_if<Call>(&e)) { call_ = *call; }
      if (const auto* open = std::get_if<OpenWatch>(&e)) { open_ = *open; }
      if (const auto* wake = std::get_if<Wake>(&e)) { wake_ = wake->at; }
    }
    return last_;
  }
  const Reflector::Output& start() { return take(machine_.start(now())); }
  const Reflector::Output& tick() { return take(machine_.tick(now())); }
  const Reflector::Output& expectCatchUp() { return take(machine_.expectCatchUp(now())); }
  const Reflector::Output& catchUp(model::Revision r) { return take(machine_.catchUp(r, now())); }
  const Reflector::Output& listed(model::Revision revision, std::vector<model::Object> items,
                                  std::string more = {}) {
    Outcome o;
    o.token = call_.token;
    o.fate = Fate::Applied;
    o.http = 200;
    o.list_revision = revision;
    o.items = std::move(items);
    o.continue_token = std::move(more);
    return take(machine_.handle(o, now()));
  }
  const Reflector::Output& listFails(int http, Duration retry_after = {}) {
    Outcome o;
    o.token = call_.token;
    o.fate = http == 404 ? Fate::Refused : Fate::Unknown;
    o.http = http;
    o.message = "broken";
    o.retry_after = retry_after;
    return take(machine_.handle(o, now()));
  }
  const Reflector::Output& tooLarge() {
    Outcome o;
    o.token = call_.token;
    o.too_large = true;
    return take(machine_.handle(o, now()));
  }
  const Reflector::Output& event(Token stream, WatchType type, const std::string& name,
                                 const std::string& uid, model::Revision revision) {
    return take(machine_.handle(
        WatchEvent{stream, type, leaseObject(keyed(name), uid, revision), keyed(name), revision}, now()));
  }
  const Reflector::Output& bookmark(Token stream, model::Revision revision) {
    return take(machine_.handle(WatchEvent{stream, WatchType::Bookmark, {}, {}, revision}, now()));
  }
  const Reflector::Output& ended(Token stream, int http) {
    return take(machine_.handle(WatchEnded{stream, http, http == 200 ? "" : "broken"}, now()));
  }
  /// Listed at revision 10 with object "a", and watching.
  void begin() {
    start();
    listed(10, {leaseObject(keyed("a"), "u-a", 5)});
  }

  template <class T>
  int count() const {
    int n = 0;
    for (const Effect& e : last_.effects) { n += std::holds_alternative<T>(e) ? 1 : 0; }
    return n;
  }
  const Call& call() const { return call_; }
  const OpenWatch& open() const { return open_; }
  Duration untilWake() const { return wake_ - now().mono; }

 private:
  Reflector machine_;
  ManualClock clock_;
  Reflector::Output last_;
  Call call_;
  OpenWatch open_;
  Mono wake_{};
};

TEST(Reflector, ListsThenWatchesFromTheListsRevision) {
  Hand h;
  h.start();
  EXPECT_EQ(target(h.call()),
            "/apis/coordination.k8s.io/v1/namespaces/ns/leases?limit=500&labelSelector=a%3Db");
  EXPECT_EQ(tokenOwner(h.call().token), 9);
  EXPECT_FALSE(h.machine().synced());
  const auto& out = h.listed(10, {leaseObject(keyed("a"), "u", 5)});
  EXPECT_TRUE(out.synced_now);
  ASSERT_EQ(out.changes.size(), 1U);
  EXPECT_EQ(out.changes[0].key, keyed("a"));
  EXPECT_EQ(out.changes[0].revision, 5U);
  EXPECT_TRUE(h.machine().synced());
  EXPECT_EQ(h.machine().progress(), 10U);
  EXPECT_EQ(h.open().ns, "ns");
  EXPECT_NE(h.open().query.find("resourceVersion=10&"), std::string::npos);
  EXPECT_NE(h.open().query.find("allowWatchBookmarks=true"), std::string::npos);
  EXPECT_NE(h.open().query.find("labelSelector=a%3Db"), std::string::npos);
}

TEST(Reflector, ReadsAllPagesBeforeItSpeaks) {
  Hand h{2};
  h.start();
  EXPECT_TRUE(h.listed(10, {leaseObject(keyed("a"), "u", 5)}, "more+1").changes.empty());
  EXPECT_EQ(
      target(h.call()),
      "/apis/coordination.k8s.io/v1/namespaces/ns/leases?limit=2&continue=more%2B1&labelSelector=a%3Db");
  const auto& out = h.listed(10, {leaseObject(keyed("b"), "v", 6)});
  EXPECT_EQ(out.changes.size(), 2U);
  EXPECT_TRUE(out.synced_now);
}

TEST(Reflector, AnExpiredContinueListsAgainFromTheBeginning) {
  Hand h{2};
  h.start();
  h.listed(10, {leaseObject(keyed("a"), "u", 5)}, "more");
  h.listFails(410);
  EXPECT_EQ(h.count<Call>(), 0);
  h.advance(h.untilWake());
  h.tick();
  EXPECT_EQ(h.count<Call>(), 1);
  EXPECT_EQ(h.call().query.find("continue"), std::string::npos);
  EXPECT_EQ(h.listed(12, {leaseObject(keyed("b"), "v", 6)}).changes.size(),
            1U);  // nothing of the first page is left
}

TEST(Reflector, EventsBecomeChanges) {
  Hand h;
  h.begin();
  EXPECT_EQ(h.event(h.open().stream, WatchType::Added, "b", "u-b", 11).changes.size(), 1U);
  EXPECT_EQ(h.event(h.open().stream, WatchType::Modified, "a", "u-a", 12).changes.size(), 1U);
  const auto& gone = h.event(h.open().stream, WatchType::Deleted, "a", "u-a", 13);
  ASSERT_EQ(gone.changes.size(), 1U);
  EXPECT_EQ(gone.changes[0].object.index(), 0U);
  EXPECT_EQ(gone.changes[0].last_uid, model::Uid{"u-a"});
  EXPECT_EQ(h.machine().progress(), 13U);
}

TEST(Reflector, AnEventAtOrBelowTheFloorIsDropped) {
  Hand h;
  h.begin();
  EXPECT_TRUE(h.event(h.open().stream, WatchType::Modified, "a", "u-a", 10).changes.empty());
  EXPECT_TRUE(h.event(h.open().stream, WatchType::Deleted, "a", "u-a", 9).changes.empty());
}

TEST(Reflector, ADeletionTellsHowTheObjectWas) {
  Hand h;
  h.begin();
  const auto& out = h.event(h.open().stream, WatchType::Deleted, "a", "u-a", 12);
  ASSERT_EQ(out.changes.size(), 1U);
  EXPECT_EQ(out.changes[0].object.index(), 0U);
  EXPECT_EQ(uidOf(out.changes[0].last).text, "u-a");
}

TEST(Reflector, ADeletionOfSomethingUnknownIsNoChange) {
  Hand h;
  h.begin();
  EXPECT_TRUE(h.event(h.open().stream, WatchType::Deleted, "zz", "u", 11).changes.empty());
  EXPECT_EQ(h.machine().progress(), 11U);
}

TEST(Reflector, ANewUidUnderAnOldNameIsADeletionAndAnAddition) {
  Hand h;
  h.begin();
  const auto& out = h.event(h.open().stream, WatchType::Modified, "a", "u-2", 11);
  ASSERT_EQ(out.changes.size(), 2U);
  EXPECT_EQ(out.changes[0].object.index(), 0U);
  EXPECT_EQ(out.changes[0].last_uid, model::Uid{"u-a"});
  EXPECT_NE(out.changes[1].object.index(), 0U);
}

TEST(Reflector, EventsOfAnotherStreamAreIgnored) {
  Hand h;
  h.begin();
  EXPECT_TRUE(h.event(h.open().stream + 77, WatchType::Added, "b", "u-b", 11).changes.empty());
  EXPECT_TRUE(h.ended(h.open().stream + 77, 410).effects.empty());
  EXPECT_EQ(h.machine().progress(), 10U);
}

TEST(Reflector, AWatchThatEndsInTimeIsOpenedAgainFromTheLastRevision) {
  Hand h;
  h.begin();
  h.bookmark(h.open().stream, 20);
  h.ended(h.open().stream, 200);
  EXPECT_EQ(h.count<OpenWatch>(), 1);
  EXPECT_NE(h.open().query.find("resourceVersion=20&"), std::string::npos);
}

TEST(Reflector, AWatchThatEndsAtOnceWithoutEventsBacksOffMoreAndMore) {
  Hand h;
  h.begin();
  Duration longest{};
  for (int i = 0; i < 10; ++i) {
    h.ended(h.open().stream, 200);
    EXPECT_EQ(h.count<OpenWatch>(), 0) << i;
    EXPECT_GE(h.untilWake(), milliseconds{800});
    EXPECT_LE(h.untilWake(), seconds{30});
    longest = std::max(longest, h.untilWake());
    h.advance(h.untilWake());
    h.tick();
    EXPECT_EQ(h.count<OpenWatch>() + h.count<Call>(), 1);
    if (h.count<Call>() == 1) { h.listed(20 + static_cast<model::Revision>(i), {}); }
  }
  EXPECT_GE(longest, seconds{15});
}

TEST(Reflector, AWatchThatLivedIsOpenedAgainAtOnce) {
  Hand h;
  h.begin();
  h.advance(seconds{1});
  h.ended(h.open().stream, 200);
  EXPECT_EQ(h.count<OpenWatch>(), 1);
}

TEST(Reflector, ExpiredListsAgainAndTheDifferenceBecomesChanges) {
  Hand h;
  h.start();
  h.listed(10, {leaseObject(keyed("stays"), "s", 1), leaseObject(keyed("goes"), "g", 2),
                leaseObject(keyed("moves"), "m", 3), leaseObject(keyed("again"), "old", 4)});
  h.ended(h.open().stream, 410);
  ASSERT_EQ(h.count<Call>(), 1);
  const auto& out =
      h.listed(20, {leaseObject(keyed("stays"), "s", 1), leaseObject(keyed("moves"), "m", 15),
                    leaseObject(keyed("again"), "new", 16), leaseObject(keyed("fresh"), "f", 17)});
  EXPECT_FALSE(out.synced_now);
  std::vector<std::string> seen;
  for (const Change& c : out.changes) {
    seen.push_back(c.key.name + (c.object.index() == 0 ? "-" : "+") + c.last_uid.text);
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"goes-g", "moves+m", "again-old", "again+new", "fresh+f"}));
}

TEST(Reflector, AListThatIsOlderThanWhatIsKnownIsSaid) {
  Hand h;
  h.begin();
  h.event(h.open().stream, WatchType::Added, "b", "u-b", 20);
  h.ended(h.open().stream, 410);
  EXPECT_TRUE(h.listed(19, {}).went_back);
  h.ended(h.open().stream, 410);
  h.advance(seconds{60});
  h.tick();
  EXPECT_FALSE(h.listed(20, {}).went_back);
}

TEST(Reflector, AStreamThatWasSteadyEndsTheBackOffThoughItBroughtNothing) {
  for (const auto& [lived, lists_at_once] : {std::pair{seconds{9}, 0}, std::pair{seconds{10}, 1}}) {
    Hand h;
    h.begin();
    h.ended(h.open().stream, 410);
    h.listed(20, {});
    h.ended(h.open().stream, 410);
    h.advance(h.untilWake());
    h.tick();
    h.listed(21, {});
    h.advance(lived);
    h.ended(h.open().stream, 410);
    EXPECT_EQ(h.count<Call>(), lists_at_once) << lived.count() << " s";
  }
}

TEST(Reflector, RepeatedExpiryBacksOff) {
  Hand h;
  h.begin();
  h.ended(h.open().stream, 410);
  EXPECT_EQ(h.count<Call>(), 1);  // at once, the first time
  Duration waited{};
  for (int i = 0; i < 6; ++i) {
    h.listed(20 + static_cast<model::Revision>(i), {});
    h.ended(h.open().stream, 410);
    EXPECT_EQ(h.count<Call>(), 0) << i;
    waited = h.untilWake();
    h.advance(waited);
    h.tick();
    EXPECT_EQ(h.count<Call>(), 1);
  }
  EXPECT_GE(waited, seconds{10});
}

TEST(Reflector, AFailedListIsTriedAgainWithBackoff) {
  Hand h;
  h.start();
  for (int i = 0; i < 10; ++i) {
    h.listFails(500);
    EXPECT_NE(h.machine().trouble(), "");
    EXPECT_GE(h.untilWake(), milliseconds{800});
    EXPECT_LE(h.untilWake(), seconds{30});
    h.advance(h.untilWake());
    h.tick();
    EXPECT_EQ(h.count<Call>(), 1);
  }
  h.listed(10, {});
  EXPECT_EQ(h.machine().trouble(), "");
}

TEST(Reflector, RetryAfterIsKept) {
  Hand h;
  h.start();
  h.listFails(429, seconds{25});
  EXPECT_GE(h.untilWake(), seconds{25});
}

TEST(Reflector, ARelistThatFailsIsListedAgainAndNotWatched) {
  Hand h;
  h.begin();
  h.ended(h.open().stream, 410);
  h.listFails(500);
  h.advance(h.untilWake());
  h.tick();
  EXPECT_EQ(h.count<Call>(), 1);
  EXPECT_EQ(h.count<OpenWatch>(), 0);
}

TEST(Reflector, A404OfAKindThatIsAlwaysServedDeletesNothing) {
  Hand h;
  h.begin();
  h.ended(h.open().stream, 404);
  h.advance(h.untilWake());
  h.tick();
  EXPECT_TRUE(h.listFails(404).changes.empty());
  EXPECT_FALSE(h.machine().absent());
  EXPECT_NE(h.machine().trouble(), "");
}

TEST(Reflector, APageThatIsTooLargeIsAskedForInHalves) {
  Hand h{4};
  h.start();
  h.listed(10, {leaseObject(keyed("a"), "u-a", 5)}, "more");
  for (const char* limit : {"limit=2&", "limit=1&"}) {
    h.tooLarge();
    EXPECT_NE(target(h.call()).find(limit), std::string::npos) << target(h.call());
    EXPECT_NE(target(h.call()).find("continue=more"), std::string::npos);
  }
  h.tooLarge();  // one object is over the limit: an error as any other
  EXPECT_EQ(h.count<Call>(), 0);
  EXPECT_NE(h.machine().trouble(), "");
}

TEST(Reflector, ALaterListMayComeFromTheServersCacheUnlessOneFailed) {
  Hand h;
  h.begin();
  EXPECT_EQ(h.call().query.find("resourceVersion"), std::string::npos);
  h.ended(h.open().stream, 410);
  EXPECT_NE(h.call().query.find("resourceVersion=10&resourceVersionMatch=NotOlderThan"), std::string::npos);
  h.listFails(504);
  h.advance(h.untilWake());
  h.tick();
  EXPECT_EQ(h.call().query.find("resourceVersion"), std::string::npos);
}

TEST(Reflector, ANewTroubleIsLoggedOnce) {
  Hand h;
  h.start();
  EXPECT_EQ((h.listFails(403), h.count<Log>()), 1);
  h.advance(h.untilWake());
  h.tick();
  EXPECT_EQ((h.listFails(403), h.count<Log>()), 0);
}

TEST(Reflector, AKindThatIsNotServedIsEmptyAndAskedForAgain) {
  Hand h{500, Kind::GpuClaim};
  h.begin();
  h.ended(h.open().stream, 404);
  h.advance(h.untilWake());
  h.tick();
  const auto& out = h.listFails(404);
  EXPECT_TRUE(h.machine().absent());
  ASSERT_EQ(out.changes.size(), 1U);
  EXPECT_EQ(out.changes[0].object.index(), 0U);
  h.advance(h.untilWake());
  h.tick();
  EXPECT_EQ(h.listed(30, {leaseObject(keyed("a"), "u-a", 5)}).changes.size(), 1U);
  EXPECT_FALSE(h.machine().absent());
}

TEST(Reflector, ALostConnectionWatchesAgainWithoutAList) {
  Hand h;
  h.begin();
  h.ended(h.open().stream, 0);
  EXPECT_NE(h.machine().trouble(), "");
  h.advance(h.untilWake());
  h.tick();
  EXPECT_EQ(h.count<OpenWatch>(), 1);
  EXPECT_EQ(h.count<Call>(), 0);
  h.bookmark(h.open().stream, 10);  // even one that says nothing new shows that the stream runs
  EXPECT_EQ(h.machine().trouble(), "");
}

TEST(Reflector, AHistoryForgottenDuringAnOutageIsListedAtOnce) {
  Hand h;
  h.begin();
  for (int i = 0; i < 5; ++i) {
    h.ended(h.open().stream, 0);
    h.advance(h.untilWake());
    h.tick();
  }
  h.ended(h.open().stream, 410);
  EXPECT_EQ(h.count<Call>(), 1);
}

/// At once, or after a minute in which something between us and the server kept the answer to itself.
TEST(Reflector, AnErrorThatComesBackAgainAndAgainListsAnew) {
  for (const auto lived : {seconds{0}, seconds{60}}) {
    Hand h;
    h.begin();
    int lists = 0;
    for (int i = 0; i < 5 && lists == 0; ++i) {
      h.advance(lived);
      h.ended(h.open().stream, 504);
      h.advance(h.untilWake());
      h.tick();
      lists += h.count<Call>();
    }
    EXPECT_EQ(lists, 1) << lived.count() << " s";
  }
}

// ---- catching up

TEST(ReflectorCatchUp, IsSaidAtOnceWhenAlreadyThere) {
  Hand h;
  h.begin();
  EXPECT_TRUE(h.catchUp(10).caught_up_now);
  EXPECT_EQ(h.count<OpenWatch>(), 0);
}

TEST(ReflectorCatchUp, OpensASecondWatchWithAShortTimeout) {
  Hand h;
  h.begin();
  const Token first = h.open().stream;
  EXPECT_FALSE(h.catchUp(15).caught_up_now);
  EXPECT_EQ(h.count<OpenWatch>(), 1);
  EXPECT_NE(h.open().stream, first);
  EXPECT_NE(h.open().query.find("resourceVersion=10&"), std::string::npos);
  EXPECT_NE(h.open().query.find("timeoutSeconds=3"), std::string::npos);
  EXPECT_EQ(h.event(h.open().stream, WatchType::Added, "b", "u-b", 12).changes.size(), 1U);
  EXPECT_TRUE(
      h.event(first, WatchType::Added, "b", "u-b", 12).changes.empty());  // the same by the first watch
  const auto& out = h.bookmark(h.open().stream, 15);
  EXPECT_TRUE(out.caught_up_now);
  EXPECT_EQ(h.count<CloseWatch>(), 1);
  EXPECT_EQ(h.machine().progress(), 15U);
}

TEST(ReflectorCatchUp, TheFirstWatchMayGetThereFirst) {
  Hand h;
  h.begin();
  const Token first = h.open().stream;
  h.catchUp(15);
  EXPECT_TRUE(h.event(first, WatchType::Added, "b", "u-b", 15).caught_up_now);
}

TEST(ReflectorCatchUp, WithoutABookmarkIn3SecondsListsAgain) {
  Hand h;
  h.begin();
  h.catchUp(15);
  h.advance(milliseconds{2999});
  EXPECT_EQ(h.tick().effects.size(), 0U);
  h.advance(milliseconds{1});
  h.tick();
  EXPECT_EQ(h.count<Call>(), 1);
  EXPECT_EQ(h.count<CloseWatch>(), 2);
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
  ASSERT_EQ(h.count<Call>(), 1);
  EXPECT_TRUE(h.listed(16, {}).caught_up_now);
}

TEST(ReflectorCatchUp, DuringAListWaitsForIt) {
  Hand h;
  h.start();
  EXPECT_FALSE(h.catchUp(10).caught_up_now);
  EXPECT_EQ(h.count<Call>(), 0);
  EXPECT_TRUE(h.listed(10, {}).caught_up_now);
}

TEST(ReflectorCatchUp, ASecondCallReplacesTheFirst) {
  Hand h;
  h.begin();
  h.catchUp(15);
  const Token second = h.open().stream;
  h.catchUp(20);
  EXPECT_EQ(h.count<CloseWatch>(), 1);
  EXPECT_NE(h.open().stream, second);
  EXPECT_FALSE(h.bookmark(h.open().stream, 15).caught_up_now);
  EXPECT_TRUE(h.bookmark(h.open().stream, 20).caught_up_now);
}

TEST(ReflectorCatchUp, OneThatWasExpectedHasItsWatchAlready) {
  Hand h;
  h.begin();
  h.expectCatchUp();
  EXPECT_EQ(h.count<OpenWatch>(), 1);
  const Token early = h.open().stream;
  h.expectCatchUp();
  EXPECT_EQ(h.count<OpenWatch>(), 0) << "one is enough";
  h.advance(milliseconds{999});
  h.catchUp(15);
  EXPECT_EQ(h.count<OpenWatch>(), 0);
  EXPECT_EQ(h.untilWake(), seconds{3}) << "and is waited for";
  const auto& out = h.bookmark(early, 15);
  EXPECT_TRUE(out.caught_up_now);
  EXPECT_EQ(h.count<CloseWatch>(), 1);
}

TEST(ReflectorCatchUp, AWatchThatMayHaveHadItsBookmarkIsReplaced) {
  Hand h;
  h.begin();
  h.expectCatchUp();
  const Token early = h.open().stream;
  h.advance(seconds{1});
  h.catchUp(15);
  EXPECT_EQ(h.count<CloseWatch>(), 1);
  EXPECT_EQ(h.count<OpenWatch>(), 1);
  EXPECT_NE(h.open().stream, early);
  EXPECT_TRUE(h.bookmark(h.open().stream, 15).caught_up_now);
}

TEST(ReflectorCatchUp, WhatWasExpectedAndDidNotComeCostsNoList) {
  Hand h;
  h.begin();
  h.expectCatchUp();
  const Token early = h.open().stream;
  h.bookmark(early, 12);
  h.advance(seconds{3});
  h.ended(early, 200);
  h.advance(seconds{10});
  h.tick();
  EXPECT_EQ(h.count<Call>(), 0);
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
  const Token early = h.open().stream;
  h.ended(early, 200);
  EXPECT_EQ(h.count<OpenWatch>(), 1);
  EXPECT_NE(h.open().stream, early);
  h.advance(milliseconds{500});
  h.ended(h.open().stream, 200);
  EXPECT_EQ(h.count<OpenWatch>(), 0) << "the time is over";
  h.tick();
  EXPECT_EQ(h.count<Call>(), 1);
}

TEST(ReflectorCatchUp, AForgottenHistoryIsSeenByTheSecondWatchToo) {
  Hand h;
  h.begin();
  h.expectCatchUp();
  h.ended(h.open().stream, 410);
  EXPECT_EQ(h.count<Call>(), 1);
}

TEST(ReflectorCatchUp, DuringAListNothingIsExpected) {
  Hand h;
  h.start();
  h.expectCatchUp();
  EXPECT_EQ(h.count<OpenWatch>(), 0);
  h.listed(10, {});
  h.ended(h.open().stream, 410);
  h.expectCatchUp();
  EXPECT_EQ(h.count<OpenWatch>(), 0);
}

// A watch that is still open while a list is under way knows of deletions that the list does not.
TEST(ReflectorCatchUp, AListClosesTheSecondWatch) {
  Hand h;
  h.begin();
  const Token first = h.open().stream;
  h.catchUp(15);
  const Token second = h.open().stream;
  h.ended(first, 410);
  ASSERT_EQ(h.count<Call>(), 1);
  EXPECT_TRUE(h.event(second, WatchType::Deleted, "a", "u-a", 20).changes.empty());
  EXPECT_EQ(h.machine().progress(), 10U);
}

}  // namespace
}  // namespace gs::kapi
