#include "controller/reflector.h"

#include <gtest/gtest.h>

#include "controller/reflector_hand_test.h"
#include "kapi/decode.h"
#include "kapi/kinds.h"
#include "kapi/paths.h"

namespace gs::controller {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Reflector, ListsThenWatchesFromTheListsRevision) {
  Hand h;
  EXPECT_EQ(h.start().effects.size(), 1U) << "nothing is there to be closed";
  EXPECT_EQ(kapi::target(h.call()),
            "/apis/coordination.k8s.io/v1/namespaces/ns/leases?limit=500&labelSelector=a%3Db");
  EXPECT_EQ(kapi::tokenOwner(h.call().token), 9);
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
      kapi::target(h.call()),
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
  EXPECT_EQ(h.count<kapi::Call>(), 0);
  h.advance(h.untilWake());
  h.tick();
  EXPECT_EQ(h.count<kapi::Call>(), 1);
  EXPECT_EQ(h.call().query.find("continue"), std::string::npos);
  EXPECT_EQ(h.listed(12, {leaseObject(keyed("b"), "v", 6)}).changes.size(),
            1U);  // nothing of the first page is left
}

TEST(Reflector, EventsBecomeChanges) {
  Hand h;
  h.begin();
  EXPECT_EQ(h.event(h.open().stream, kapi::WatchType::Added, "b", "u-b", 11).changes.size(), 1U);
  EXPECT_EQ(h.event(h.open().stream, kapi::WatchType::Modified, "a", "u-a", 12).changes.size(), 1U);
  const auto& gone = h.event(h.open().stream, kapi::WatchType::Deleted, "a", "u-a", 13);
  ASSERT_EQ(gone.changes.size(), 1U);
  EXPECT_TRUE(gone.changes[0].object.empty());
  EXPECT_EQ(gone.changes[0].last_uid, model::Uid{"u-a"});
  EXPECT_EQ(h.machine().progress(), 13U);
}

TEST(Reflector, AnEventAtOrBelowTheFloorIsDropped) {
  Hand h;
  h.begin();
  EXPECT_TRUE(h.event(h.open().stream, kapi::WatchType::Modified, "a", "u-a", 10).changes.empty());
  EXPECT_TRUE(h.event(h.open().stream, kapi::WatchType::Deleted, "a", "u-a", 9).changes.empty());
}

TEST(Reflector, ADeletionTellsHowTheObjectWas) {
  Hand h;
  h.begin();
  const auto& out = h.event(h.open().stream, kapi::WatchType::Deleted, "a", "u-a", 12);
  ASSERT_EQ(out.changes.size(), 1U);
  EXPECT_TRUE(out.changes[0].object.empty());
  EXPECT_EQ(out.changes[0].last.uid().text, "u-a");
}

TEST(Reflector, ADeletionOfSomethingUnknownIsNoChange) {
  Hand h;
  h.begin();
  EXPECT_TRUE(h.event(h.open().stream, kapi::WatchType::Deleted, "zz", "u", 11).changes.empty());
  EXPECT_EQ(h.machine().progress(), 11U);
}

TEST(Reflector, ANewUidUnderAnOldNameIsADeletionAndAnAddition) {
  Hand h;
  h.begin();
  const auto& out = h.event(h.open().stream, kapi::WatchType::Modified, "a", "u-2", 11);
  ASSERT_EQ(out.changes.size(), 2U);
  EXPECT_TRUE(out.changes[0].object.empty());
  EXPECT_EQ(out.changes[0].last_uid, model::Uid{"u-a"});
  EXPECT_FALSE(out.changes[1].object.empty());
}

TEST(Reflector, EventsOfAnotherStreamAreIgnored) {
  Hand h;
  h.begin();
  EXPECT_TRUE(h.event(h.open().stream + 77, kapi::WatchType::Added, "b", "u-b", 11).changes.empty());
  EXPECT_TRUE(h.ended(h.open().stream + 77, 410).effects.empty());
  EXPECT_EQ(h.machine().progress(), 10U);
}

TEST(Reflector, AWatchThatEndsInTimeIsOpenedAgainFromTheLastRevision) {
  Hand h;
  h.begin();
  h.bookmark(h.open().stream, 20);
  h.ended(h.open().stream, 200);
  EXPECT_EQ(h.count<kapi::OpenWatch>(), 1);
  EXPECT_NE(h.open().query.find("resourceVersion=20&"), std::string::npos);
}

TEST(Reflector, AWatchThatEndsAtOnceWithoutEventsBacksOffMoreAndMore) {
  Hand h;
  h.begin();
  Duration longest{};
  for (int i = 0; i < 10; ++i) {
    h.ended(h.open().stream, 200);
    EXPECT_EQ(h.count<kapi::OpenWatch>(), 0) << i;
    EXPECT_GE(h.untilWake(), milliseconds{800});
    EXPECT_LE(h.untilWake(), seconds{30});
    longest = std::max(longest, h.untilWake());
    h.advance(h.untilWake());
    h.tick();
    EXPECT_EQ(h.count<kapi::OpenWatch>() + h.count<kapi::Call>(), 1);
    if (h.count<kapi::Call>() == 1) { h.listed(20 + static_cast<model::Revision>(i), {}); }
  }
  EXPECT_GE(longest, seconds{15});
}

TEST(Reflector, AWatchThatLivedIsOpenedAgainAtOnce) {
  Hand h;
  h.begin();
  h.advance(seconds{1});
  h.ended(h.open().stream, 200);
  EXPECT_EQ(h.count<kapi::OpenWatch>(), 1);
}

TEST(Reflector, ExpiredListsAgainAndTheDifferenceBecomesChanges) {
  Hand h;
  h.start();
  h.listed(10, {leaseObject(keyed("stays"), "s", 1), leaseObject(keyed("goes"), "g", 2),
                leaseObject(keyed("moves"), "m", 3), leaseObject(keyed("again"), "old", 4)});
  h.ended(h.open().stream, 410);
  ASSERT_EQ(h.count<kapi::Call>(), 1);
  const auto& out =
      h.listed(20, {leaseObject(keyed("stays"), "s", 1), leaseObject(keyed("moves"), "m", 15),
                    leaseObject(keyed("again"), "new", 16), leaseObject(keyed("fresh"), "f", 17)});
  EXPECT_FALSE(out.synced_now);
  std::vector<std::string> seen;
  for (const Change& c : out.changes) {
    seen.push_back(c.key.name + (c.object.empty() ? "-" : "+") + c.last_uid.text);
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"goes-g", "moves+m", "again-old", "again+new", "fresh+f"}));
}

TEST(Reflector, AListThatIsOlderThanWhatIsKnownIsSaid) {
  Hand h;
  h.begin();
  h.event(h.open().stream, kapi::WatchType::Added, "b", "u-b", 20);
  h.ended(h.open().stream, 410);
  const auto& out = h.listed(19, {});
  EXPECT_TRUE(out.went_back);
  for (const auto& change : out.changes) {
    EXPECT_NE(change.key, keyed("b")) << "what is newer than the list is not gone by it";
  }
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
    EXPECT_EQ(h.count<kapi::Call>(), lists_at_once) << lived.count() << " s";
  }
}

TEST(Reflector, RepeatedExpiryBacksOff) {
  Hand h;
  h.begin();
  h.ended(h.open().stream, 410);
  EXPECT_EQ(h.count<kapi::Call>(), 1);  // at once, the first time
  Duration waited{};
  for (int i = 0; i < 6; ++i) {
    h.listed(20 + static_cast<model::Revision>(i), {});
    h.ended(h.open().stream, 410);
    EXPECT_EQ(h.count<kapi::Call>(), 0) << i;
    waited = h.untilWake();
    h.advance(waited);
    h.tick();
    EXPECT_EQ(h.count<kapi::Call>(), 1);
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
    EXPECT_EQ(h.count<kapi::Call>(), 1);
    EXPECT_EQ(h.count<kapi::CloseWatch>(), 0) << "none is open";
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
  EXPECT_EQ(h.count<kapi::Call>(), 1);
  EXPECT_EQ(h.count<kapi::OpenWatch>(), 0);
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
    EXPECT_NE(kapi::target(h.call()).find(limit), std::string::npos) << kapi::target(h.call());
    EXPECT_NE(kapi::target(h.call()).find("continue=more"), std::string::npos);
  }
  h.tooLarge();  // one object is over the limit: an error as any other
  EXPECT_EQ(h.count<kapi::Call>(), 0);
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
  EXPECT_EQ((h.listFails(403), h.count<kapi::Log>()), 1);
  h.advance(h.untilWake());
  h.tick();
  EXPECT_EQ((h.listFails(403), h.count<kapi::Log>()), 0);
}

TEST(Reflector, AKindThatIsNotServedIsEmptyAndAskedForAgain) {
  Hand h{500, kapi::kGpuClaim};
  h.begin();
  h.ended(h.open().stream, 404);
  h.advance(h.untilWake());
  h.tick();
  const auto& out = h.listFails(404);
  EXPECT_TRUE(h.machine().absent());
  ASSERT_EQ(out.changes.size(), 1U);
  EXPECT_TRUE(out.changes[0].object.empty());
  h.advance(h.untilWake());
  h.tick();
  EXPECT_EQ(h.listed(30, {leaseObject(keyed("a"), "u-a", 5)}).changes.size(), 1U);
  EXPECT_FALSE(h.machine().absent());
}

/// It was emptied: that a later list fails otherwise does not make it known.
TEST(Reflector, AKindThatIsNotServedStaysSoUntilAListIsComplete) {
  Hand h{500, kapi::kGpuClaim};
  h.begin();
  h.ended(h.open().stream, 404);
  for (const int http : {404, 500, 503, 429, 0, 403}) {
    h.advance(h.untilWake());
    h.tick();
    h.listFails(http);
    EXPECT_TRUE(h.machine().absent()) << http;
  }
  h.advance(h.untilWake());
  h.tick();
  h.listed(30, {});
  EXPECT_FALSE(h.machine().absent());
}

TEST(Reflector, ALostConnectionWatchesAgainWithoutAList) {
  Hand h;
  h.begin();
  h.ended(h.open().stream, 0);
  EXPECT_NE(h.machine().trouble(), "");
  h.advance(h.untilWake());
  h.tick();
  EXPECT_EQ(h.count<kapi::OpenWatch>(), 1);
  EXPECT_EQ(h.count<kapi::Call>(), 0);
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
  EXPECT_EQ(h.count<kapi::Call>(), 1);
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
      lists += h.count<kapi::Call>();
    }
    EXPECT_EQ(lists, 1) << lived.count() << " s";
  }
}

/// After a restore of etcd: what is written anew has revisions that were there before.
TEST(Reflector, AnEventFromBeforeItsWatchBeganSaysThatHistoryWentBack) {
  Hand h;
  h.begin();
  EXPECT_FALSE(h.event(h.open().stream, kapi::WatchType::Added, "b", "u-b", 11).went_back);
  EXPECT_FALSE(h.event(h.open().stream, kapi::WatchType::Added, "b", "u-b", 11).went_back)
      << "only said again";
  EXPECT_TRUE(h.event(h.open().stream, kapi::WatchType::Added, "c", "u-c", 9).went_back);
}

TEST(Reflector, SoDoesOneOfTheSecondWatch) {
  Hand h;
  h.begin();
  h.event(h.open().stream, kapi::WatchType::Added, "b", "u-b", 20);
  h.catchUp(30);
  EXPECT_TRUE(h.event(h.open().stream, kapi::WatchType::Added, "c", "u-c", 19).went_back);
}

/// A bookmark alone may come of a server that lags behind: a list tells.
TEST(Reflector, ABookmarkFromBeforeItsWatchBeganHasTheKindListed) {
  Hand h;
  h.begin();
  EXPECT_FALSE(h.bookmark(h.open().stream, 9).went_back);
  ASSERT_EQ(h.count<kapi::Call>(), 1);
  EXPECT_EQ(h.call().query.find("NotOlderThan"), std::string::npos) << "not from a cache: " << h.call().query;
  EXPECT_TRUE(h.listed(9, {}).went_back);
}

}  // namespace
}  // namespace gs::controller
