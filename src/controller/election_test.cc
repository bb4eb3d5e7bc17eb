#include "controller/election.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "controller/election_hand_test.h"
#include "kapi/time.h"

namespace gs::controller {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A candidate that may lead without a right to the lease.
Election::Config alone() {
  Election::Config c = configOf("me");
  c.standalone_when_forbidden = true;
  return c;
}

TEST(Election, TakesALeaseThatIsNotThere) {
  One one;
  one.start();
  EXPECT_TRUE(one.leads());
  EXPECT_EQ(one.leadership->term, 1U);
  EXPECT_EQ(one.leadership->until, one.now().mono + seconds{3});
  ASSERT_TRUE(one.server.lease());
  EXPECT_EQ(one.server.lease()->holder, "me");
  EXPECT_EQ(one.server.lease()->record.duration_s, 5);
  EXPECT_EQ(one.server.lease()->record.transitions, 0);
  EXPECT_EQ(one.server.lease()->record.acquire_time, kapi::microTimeText(one.now().wall));
  EXPECT_EQ(one.server.body()["metadata"]["annotations"]["gpu.scheduling/address"].str(), "http://me");
  EXPECT_EQ(one.machine().holder(), "me");
}

TEST(Election, SaysWhereTheHolderListens) {
  One one;
  EXPECT_EQ(one.machine().address(), "");
  one.start();
  EXPECT_EQ(one.machine().address(), "http://me");
}

TEST(Election, AForbiddenLeaseIsATroubleUnlessOneMayRunAlone) {
  One one;
  one.server.forbidden = true;
  one.start();
  one.run(seconds{20});
  EXPECT_FALSE(one.leads());
  EXPECT_NE(one.machine().trouble().find("403"), std::string::npos);
}

TEST(Election, RunsAloneWhereTheLeaseIsForbiddenForALeaseDuration) {
  One one{alone()};
  one.server.forbidden = true;
  one.start();
  one.run(milliseconds{4900});
  EXPECT_FALSE(one.leads());
  one.run(seconds{1});
  EXPECT_TRUE(one.leads());
  EXPECT_TRUE(one.machine().alone());
  one.run(seconds{60});
  EXPECT_TRUE(one.leads());
  EXPECT_EQ(one.leadership->term, 1U);
  one.cut = true;  // the API server does not say any more that it forbids it
  one.run(seconds{4});
  EXPECT_FALSE(one.leads());
}

TEST(Election, WhoRunsAloneSaysSoOnce) {
  One one{alone()};
  one.server.forbidden = true;
  one.start();
  one.run(seconds{60});
  const auto says = [](const std::string& line) { return line.find("alone") != std::string::npos; };
  EXPECT_EQ(std::count_if(one.logs.begin(), one.logs.end(), says), 1);
}

TEST(Election, ALeaseThatMayBeReadButNotMadeIsForbiddenToo) {
  One one{alone()};
  one.server.no_writes = true;
  one.start();
  one.run(seconds{6});
  EXPECT_TRUE(one.machine().alone());
}

TEST(Election, WhoReadTheLeaseOnceNeverRunsAlone) {
  One one{alone()};
  one.server.put("other", 5, "r0");
  one.start();
  one.server.forbidden = true;  // as an API server says for a moment when it starts
  one.run(seconds{60});
  EXPECT_FALSE(one.leads());
}

TEST(Election, WhoRanAloneElectsOnceItMay) {
  One one{alone()};
  one.server.forbidden = true;
  one.start();
  one.run(seconds{10});
  ASSERT_TRUE(one.machine().alone());
  one.server.forbidden = false;
  one.server.put("other", 5, "r0");
  one.run(seconds{1});
  EXPECT_FALSE(one.leads());  // another one has it
  EXPECT_EQ(one.machine().address(), "");
  one.run(seconds{10});
  EXPECT_TRUE(one.leads());
  EXPECT_FALSE(one.machine().alone());
  EXPECT_EQ(one.server.lease()->holder, "me");
}

TEST(Election, RenewsEveryRetryPeriodWithoutReading) {
  One one;
  one.start();
  const auto acquired = one.server.lease()->record.acquire_time;
  one.calls = 0;
  one.run(seconds{10});
  EXPECT_TRUE(one.leads());
  EXPECT_GE(one.calls, 18);
  EXPECT_LE(one.calls, 20);
  EXPECT_EQ(one.leadership->term, 1U);
  EXPECT_EQ(one.server.lease()->record.acquire_time, acquired);
  EXPECT_NE(one.server.lease()->record.renew_time, acquired);
}

TEST(Election, WaitsForALiveHolder) {
  One one;
  one.server.put("other", 5, "r0");
  one.start();
  one.run(milliseconds{4900});
  EXPECT_FALSE(one.leads());
  EXPECT_EQ(one.machine().holder(), "other");
  one.run(milliseconds{900});
  EXPECT_TRUE(one.leads());
  EXPECT_EQ(one.server.lease()->record.transitions, 1);
}

TEST(Election, ASilentHolderIsForetoldOnceAndReplacedAtTheVeryEndOfItsTime) {
  One one;
  one.server.put("other", 5, "r0");
  one.start();
  one.run(milliseconds{4350});
  EXPECT_FALSE(one.leadership);
  one.run(milliseconds{50});
  ASSERT_TRUE(one.leadership);
  EXPECT_TRUE(one.leadership->soon);
  EXPECT_FALSE(one.leadership->leading);
  one.leadership.reset();
  one.run(milliseconds{550});
  EXPECT_FALSE(one.leadership) << "said once";
  one.run(milliseconds{50});
  EXPECT_TRUE(one.leads());
  EXPECT_FALSE(one.leadership->soon);
}

TEST(Election, AHolderThatIsHeardOfAgainIsForetoldAgain) {
  One one;
  one.server.put("other", 5, "r0");
  one.start();
  one.run(milliseconds{4600});
  ASSERT_TRUE(one.leadership);
  one.leadership.reset();
  one.server.put("other", 5, "r1");
  one.run(seconds{4});
  EXPECT_FALSE(one.leadership);
  one.run(seconds{2});
  EXPECT_TRUE(one.leadership);
}

TEST(Election, AServerThatIsBusyIsNotAskedAtTheEndOfTheHoldersTime) {
  One one;
  one.server.put("other", 5, "r0");
  one.start();
  one.run(milliseconds{4300});
  one.cut = true;
  one.run(milliseconds{600});
  one.busy(seconds{3});
  one.cut = false;
  one.calls = 0;
  one.run(milliseconds{2900});
  EXPECT_EQ(one.calls, 0);
  one.run(milliseconds{200});
  EXPECT_TRUE(one.leads());
}

/// With a short lease and rare renewals every renewal would be foretold as the last.
TEST(Election, AHolderThatRenewsInTimeIsNotForetold) {
  auto config = configOf("me");
  config.lease_duration = seconds{1};
  config.retry_period = milliseconds{300};
  One one{config};
  for (int i = 0; i < 20; ++i) {
    one.server.put("other", 1, "r" + std::to_string(i));
    if (i == 0) { one.start(); }
    one.run(milliseconds{400});
  }
  EXPECT_FALSE(one.leadership);
}

/// Not only a tick that happens to come: it asks to be woken then.
TEST(Election, AsksToBeWokenWhenTheHoldersTimeIsOver) {
  LeaseServer server;
  server.put("other", 5, "r0");
  Election machine{configOf("me"), Rng{3}};
  ManualClock clock;
  const auto started = clock.now().mono;
  auto out = machine.start(clock.now());
  std::set<Duration> wakes;
  while (!machine.leading() && clock.now().mono - started < seconds{6}) {
    std::optional<kapi::Call> call;
    for (const kapi::Effect& e : out.effects) {
      if (const auto* wake = std::get_if<kapi::Wake>(&e)) { wakes.insert(wake->at - started); }
      if (const auto* one = std::get_if<kapi::Call>(&e)) { call = *one; }
    }
    if (call) {
      out = machine.handle(server.serve(*call), clock.now());
      continue;
    }
    const auto due = wakes.upper_bound(clock.now().mono - started);
    ASSERT_NE(due, wakes.end());
    clock.advance(*due - (clock.now().mono - started));
    out = machine.tick(clock.now());
  }
  EXPECT_EQ(clock.now().mono - started, seconds{5});
  EXPECT_TRUE(wakes.contains(seconds{5} - Election::kForewarning));
}

TEST(Election, AHolderThatRenewsIsAlive) {
  One one;
  one.server.put("other", 5, "r0");
  one.start();
  for (int i = 1; i < 10; ++i) {
    one.run(seconds{3});
    one.server.put("other", 5, "r" + std::to_string(i));
  }
  EXPECT_FALSE(one.leads());
}

TEST(Election, AHolderWithALongerLeaseIsGivenThatLong) {
  One one;
  one.server.put("other", 15, "r0");
  one.start();
  one.run(milliseconds{14900});
  EXPECT_FALSE(one.leads());
  one.run(seconds{1});
  EXPECT_TRUE(one.leads());
}

TEST(Election, AReleasedLeaseIsTakenAtOnce) {
  One one;
  one.server.put("", 1, "r0");
  one.start();
  EXPECT_TRUE(one.leads());
}

TEST(Election, ALeaseDeletedByHandIsNotTakenBeforeItsHolderIsGone) {
  One one;
  one.server.put("other", 5, "r0");
  one.start();
  one.run(seconds{4});
  one.server.remove();
  one.run(milliseconds{4900});
  EXPECT_FALSE(one.leads());
  one.run(milliseconds{1200});
  EXPECT_TRUE(one.leads());
}

TEST(Election, ALeaderWhoseLeaseIsDeletedWritesItAgain) {
  One one;
  one.start();
  one.server.remove();
  one.run(seconds{2});
  EXPECT_TRUE(one.leads());
  EXPECT_EQ(one.leadership->term, 1U);
  EXPECT_TRUE(one.server.lease());
}

TEST(Election, LosesAtTheDeadlineOfTheLastRenewalThatWasApplied) {
  One one;
  one.start();
  one.run(milliseconds{400});
  const Mono until = one.leadership->until;
  one.cut = true;
  while (one.now().mono < until - milliseconds{50}) { one.run(milliseconds{50}); }
  EXPECT_TRUE(one.leads());
  one.run(milliseconds{50});
  EXPECT_FALSE(one.leads());
  EXPECT_FALSE(one.leadership->leading);
}

TEST(Election, ARenewalOfUnknownOutcomeDoesNotMoveTheDeadline) {
  One one;
  one.start();
  const Mono until = one.leadership->until;
  one.cut = true;
  one.run(seconds{1});
  one.answer(kapi::CallResult::Unknown, /*apply=*/true);
  EXPECT_EQ(one.leadership->until, until);
  one.cut = false;
  one.run(seconds{1});  // reads, sees its own write, renews
  EXPECT_TRUE(one.leads());
  EXPECT_EQ(one.leadership->term, 1U);
  EXPECT_GT(one.leadership->until, until);
}

TEST(Election, OneLostCallDoesNotCostTheLeadership) {
  One one;
  one.start();
  for (const Duration timeout : one.timeouts) { EXPECT_LE(timeout, milliseconds{1500}); }
  one.run(milliseconds{300});
  one.cut = true;
  one.run(milliseconds{250});  // the renewal is under way
  one.run(one.timeouts.back());
  one.cut = false;
  one.answer(kapi::CallResult::Unknown, false);
  one.run(seconds{1});
  EXPECT_TRUE(one.leads());
  EXPECT_EQ(one.leadership->term, 1U);
}

TEST(Election, AnAcquisitionAnsweredTooLateIsNotLedOn) {
  One one;
  one.cut = true;
  one.start();
  one.answer(kapi::CallResult::Applied, true);  // 404; now the create is under way
  one.advance(seconds{3});
  one.answer(kapi::CallResult::Applied, true);
  EXPECT_FALSE(one.leads());
  one.cut = false;
  one.run(seconds{1});  // its own lease: no need to wait
  EXPECT_TRUE(one.leads());
}

TEST(Election, SomebodyElsesWriteEndsTheLeadership) {
  One one;
  one.start();
  one.server.put("other", 5, "r0");
  one.run(milliseconds{600});
  EXPECT_FALSE(one.leads());
  EXPECT_EQ(one.machine().holder(), "other");
}

TEST(Election, ANewTermCountsOneMore) {
  One one;
  one.start();
  one.server.put("other", 5, "r0");
  one.run(seconds{7});
  EXPECT_TRUE(one.leads());
  EXPECT_EQ(one.leadership->term, 2U);
}

TEST(Election, AnOwnerThatHangsIsPingedAndLosesTheLeadership) {
  One one;
  one.start();
  one.run(seconds{5});
  EXPECT_GE(one.pings, 8);
  EXPECT_TRUE(one.leads());
  one.owner_hangs = true;
  one.run(milliseconds{3600});
  EXPECT_FALSE(one.leads());
  const auto renewed = one.server.lease()->record.renew_time;
  one.run(seconds{20});
  EXPECT_FALSE(one.leads());
  EXPECT_EQ(one.server.lease()->record.renew_time, renewed);  // so another may take it
  one.server.remove();
  one.run(seconds{20});
  EXPECT_FALSE(one.server.lease());
  one.owner_hangs = false;
  one.run(seconds{2});
  EXPECT_TRUE(one.leads());
}

TEST(Election, StopGivesTheLeaseBack) {
  One one;
  one.start();
  one.stop();
  EXPECT_FALSE(one.leads());
  EXPECT_FALSE(one.leadership->leading);
  EXPECT_TRUE(one.released);
  EXPECT_EQ(one.server.lease()->holder, "");
  EXPECT_EQ(one.server.lease()->record.duration_s, 1);
  one.calls = 0;
  one.run(seconds{10});
  EXPECT_EQ(one.calls, 0);
}

TEST(Election, StopDuringARenewalGivesTheLeaseBackAfterIt) {
  One one;
  one.start();
  one.cut = true;
  one.run(milliseconds{600});
  one.stop();
  EXPECT_FALSE(one.leads());
  EXPECT_FALSE(one.released);
  one.cut = false;
  one.answer(kapi::CallResult::Applied, true);
  EXPECT_TRUE(one.released);
  EXPECT_EQ(one.server.lease()->holder, "");
}

TEST(Election, StopDuringARenewalOfUnknownOutcomeReadsAndGivesBack) {
  One one;
  one.start();
  one.cut = true;
  one.run(milliseconds{600});
  one.stop();
  one.cut = false;
  one.answer(kapi::CallResult::Unknown, true);
  EXPECT_TRUE(one.released);
  EXPECT_EQ(one.server.lease()->holder, "");
}

TEST(Election, StopOfAStandbyWritesNothing) {
  One one;
  one.server.put("other", 5, "r0");
  one.start();
  one.stop();
  EXPECT_TRUE(one.released);
  EXPECT_EQ(one.server.lease()->holder, "other");
}

TEST(Election, StopWhileAStandbyReadsWritesNothing) {
  One one;
  one.server.put("other", 5, "r0");
  one.cut = true;
  one.start();
  one.stop();
  EXPECT_FALSE(one.released);
  one.answer(kapi::CallResult::Applied, true);
  EXPECT_TRUE(one.released);
  EXPECT_EQ(one.server.lease()->holder, "other");
}

TEST(Election, ASecondConflictInARowWaitsTheRetryPeriodAndSaysSo) {
  One one;
  one.start();
  ASSERT_TRUE(one.leads());
  one.server.conflicts = 1;
  int before = one.calls;
  one.run(milliseconds{500});
  EXPECT_EQ(one.calls - before, 3) << "a write, a read and a write";
  EXPECT_EQ(one.machine().trouble(), "");
  one.server.conflicts = 2;
  before = one.calls;
  one.run(milliseconds{500});
  EXPECT_EQ(one.calls - before, 3) << "and then it waits";
  EXPECT_NE(one.machine().trouble().find("cannot write the leader lease"), std::string::npos);
  EXPECT_NE(one.machine().trouble().find("409"), std::string::npos);
  EXPECT_EQ(one.logs.size(), 1U);
  one.run(milliseconds{500});
  EXPECT_TRUE(one.leads());
  EXPECT_EQ(one.machine().trouble(), "");
}

/// As where one that answers reads is not the one that answers writes.
TEST(Election, ALeaseThatIsNotThereAndCannotBeMadeIsTriedOncePerRetryPeriod) {
  One one;
  one.server.conflicts = 1'000;
  one.start();
  EXPECT_LE(one.calls, 4);
  const int before = one.calls;
  one.run(seconds{20});
  EXPECT_LE(one.calls - before, 2 * 40);
  EXPECT_GE(one.calls - before, 2 * 30);
  EXPECT_FALSE(one.leads());
  EXPECT_EQ(one.logs.size(), 1U);
  one.server.conflicts = 0;
  one.run(seconds{1});
  EXPECT_TRUE(one.leads());
}

TEST(Election, AnAnswerToAnEarlierCallIsIgnored) {
  One one;
  one.start();
  kapi::Outcome o;
  o.token = kapi::makeToken(100, 1);
  o.result = kapi::CallResult::Refused;
  o.http = 409;
  EXPECT_TRUE(one.machine().handle(o, one.now()).effects.empty());
}

TEST(Election, AnOlderLeaseThanItSawSaysThatHistoryWentBack) {
  for (const bool leads : {true, false}) {
    One one;
    if (!leads) { one.server.put("other", 3600, "t"); }
    one.start();
    one.run(seconds{2});
    ASSERT_EQ(one.leads(), leads);
    one.server.restore();
    const int calls = one.calls;
    one.run(seconds{2});
    EXPECT_FALSE(one.leads());
    ASSERT_TRUE(one.leadership);
    EXPECT_TRUE(one.leadership->went_back);
    EXPECT_NE(one.machine().trouble(), "");
    EXPECT_LE(one.calls, calls + 2) << "it does not try again";
    one.stop();
    EXPECT_TRUE(one.released);
  }
}

TEST(Election, NeverTakesTheLeaseOfAnotherScheduler) {
  Election::Config config = configOf("me");
  config.scheduler = "mine";
  One one{config};
  one.server.put("", 1, "t");
  one.server.nameOf("theirs");
  one.start();
  one.run(seconds{30});
  EXPECT_FALSE(one.leads());
  EXPECT_NE(one.machine().trouble().find("is that of scheduler theirs"), std::string::npos);
  EXPECT_EQ(one.logs.size(), 1U);
  EXPECT_EQ(one.server.lease()->holder, "");
  one.server.remove();
  one.run(seconds{30});
  EXPECT_TRUE(one.leads());
  EXPECT_EQ(one.server.lease()->record.scheduler, "mine");
  EXPECT_EQ(one.machine().trouble(), "");
  one.server.nameOf("theirs");
  one.run(seconds{2});
  EXPECT_FALSE(one.leads());
}

TEST(Election, ALeaseWithoutANameIsAnybodys) {
  Election::Config config = configOf("me");
  config.scheduler = "mine";
  One one{config};
  one.server.put("", 1, "t");
  one.start();
  EXPECT_TRUE(one.leads());
}

}  // namespace
}  // namespace gs::controller
