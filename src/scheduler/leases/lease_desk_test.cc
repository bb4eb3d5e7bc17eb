#include "scheduler/leases/lease_desk.h"

#include "scheduler/leases/lease_desk_fixture_test.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;
using kapi::CallResult;
using kapi::Verb;

TEST_F(LeaseDeskTest, AForgottenWishWritesNothingMore) {
  desk.take(key, claimant("a", "r1"), false);
  const auto create = sent();
  desk.forget(key, model::Uid{"a"});
  answer(create, CallResult::Applied, 201, lease("a", "r1", 5));
  EXPECT_EQ(told(), "");
  EXPECT_TRUE(desk.idle(key, model::Uid{"a"}));
  EXPECT_TRUE(silent());
}

TEST_F(LeaseDeskTest, TakingAFreeDeviceIsOneCreate) {
  desk.take(key, claimant("p", "r"), false);
  const auto create = sent();
  EXPECT_EQ(create.verb, Verb::Create);
  EXPECT_TRUE(create.leader_only);
  answer(create, CallResult::Applied, 201, lease("p", "r", 5));
  EXPECT_EQ(told(), "held:p ");
  EXPECT_TRUE(desk.idle(key, model::Uid{"p"}));
}

TEST_F(LeaseDeskTest, ACreateThatMeetsAnotherHolderIsLostAfterALiveRead) {
  desk.take(key, claimant("p", "r"), false);
  answer(sent(), CallResult::Refused, 409);
  const auto read = sent();
  EXPECT_EQ(read.verb, Verb::Get);
  answer(read, CallResult::Applied, 200, lease("other", "x", 5));
  EXPECT_EQ(told(), "lost:p ");
}

TEST_F(LeaseDeskTest, ACreateThatMeetsItselfIsHeld) {
  desk.take(key, claimant("p", "r"), false);
  answer(sent(), CallResult::Refused, 409);
  answer(sent(), CallResult::Applied, 200, lease("p", "r", 5));
  EXPECT_EQ(told(), "held:p ");
}

TEST_F(LeaseDeskTest, ItsOwnPartUnderAnotherReservationIsAnotherLeadersDecision) {
  for (const bool shared : {false, true}) {
    const model::Revision base = shared ? 20 : 10;
    const std::vector<const char*> holders = shared ? std::vector{"p"} : std::vector<const char*>{};
    Claimant ours = claimant("p", "r2", shared);
    desk.take(key, ours, false);
    answer(sent(), CallResult::Refused, 409);
    answer(sent(), CallResult::Applied, 200, lease("p", "r1", base, holders));
    EXPECT_EQ(told(), "lost:p ") << shared;
    ours.over_own = true;  // as when an earlier leader's are adopted
    desk.take(key, ours, false);
    const auto put = sent();
    EXPECT_EQ(put.verb, Verb::Update);
    answer(put, CallResult::Applied, 200, lease("p", "r2", base + 1, holders));
    EXPECT_EQ(told(), "held:p ") << shared;
    engine.leaseGone(key, {}, base + 2);
  }
}

TEST_F(LeaseDeskTest, A404ThatIsOlderThanWhatTheWatchBroughtSinceIsNotBelieved) {
  desk.take(key, claimant("p", "r"), false);
  answer(sent(), CallResult::Refused, 409);
  const auto read = sent();
  engine.learn(lease("other", "x", 9), now);  // created after the server looked, and the watch was quicker
  answer(read, CallResult::Refused, 404);
  EXPECT_EQ(told(), "lost:p ");
  ASSERT_NE(engine.cache().lease(key), nullptr);
  EXPECT_EQ(engine.cache().lease(key)->holder, "other");
}

TEST_F(LeaseDeskTest, AnUnknownCreateIsReadAndSaidToHaveBeenUnknown) {
  desk.take(key, claimant("p", "r"), false);
  answer(sent(), CallResult::Unknown, 0);
  EXPECT_TRUE(silent());  // not at once
  now += 1s;
  const auto read = sent();
  EXPECT_EQ(read.verb, Verb::Get);
  answer(read, CallResult::Applied, 200, lease("p", "r", 5));
  EXPECT_EQ(told(), "held:p? ");
}

TEST_F(LeaseDeskTest, AnUnknownCreateThatIsNotThereIsMadeAgain) {
  desk.take(key, claimant("p", "r"), false);
  answer(sent(), CallResult::Unknown, 0);
  now += 1s;
  answer(sent(), CallResult::Refused, 404);
  const auto again = sent();
  EXPECT_EQ(again.verb, Verb::Create);
  answer(again, CallResult::Applied, 201, lease("p", "r", 5));
  EXPECT_EQ(told(), "held:p? ");
}

TEST_F(LeaseDeskTest, ALeaseThatLostOurLabelMayComeBack) {
  engine.learn(lease("p", "r", 5), now);
  engine.leaseGone(key, {}, 6);  // as the watch of labelled leases says it
  engine.learn(lease("p", "r", 4), now);
  EXPECT_EQ(engine.cache().lease(key), nullptr) << "late news";
  engine.learn(lease("p", "r", 7), now);
  EXPECT_NE(engine.cache().lease(key), nullptr);
}

TEST_F(LeaseDeskTest, ALeaseThatAFinalizerKeepsIsDeletedAgainLater) {
  engine.learn(lease("p", "r", 5), now);
  desk.give(key, model::Uid{"p"});
  answer(sent(), CallResult::Applied, 200, lease("p", "r", 6));
  EXPECT_TRUE(silent());
  now += 1s;
  EXPECT_EQ(sent().verb, Verb::Delete);
}

TEST_F(LeaseDeskTest, ConflictsInARowAreNotAnsweredAtNetworkSpeed) {
  desk.take(key, claimant("p", "r"), false);
  answer(sent(), CallResult::Refused, 409);
  answer(sent(), CallResult::Refused, 404);  // the read after it: nothing there
  answer(sent(), CallResult::Refused, 409);
  EXPECT_TRUE(silent());
  now += 1s;
  EXPECT_EQ(sent().verb, Verb::Get);
}

TEST_F(LeaseDeskTest, A404OfAProxySaysNothingAboutALease) {
  engine.learn(lease("p", "r", 5), now);
  desk.give(key, model::Uid{"p"});
  kapi::Outcome proxy;
  proxy.token = sent().token;
  proxy.result = CallResult::Refused;
  proxy.http = 404;
  desk.handle(proxy, Now{now, {}}, ignored);
  EXPECT_EQ(told(), "");
  EXPECT_NE(engine.cache().lease(key), nullptr);
}

TEST_F(LeaseDeskTest, GivingDeletesWithUidAndRevision) {
  engine.learn(lease("p", "r", 5), now);
  desk.give(key, model::Uid{"p"});
  const auto del = sent();
  EXPECT_EQ(del.verb, Verb::Delete);
  EXPECT_EQ(del.body["preconditions"]["resourceVersion"].str(), "5");
  EXPECT_EQ(del.body["preconditions"]["uid"].str(), "lease-gpu-node-a-0");
  answer(del, CallResult::Applied, 200);
  EXPECT_EQ(told(), "gone:p ");
  EXPECT_EQ(engine.cache().lease(key), nullptr);
}

TEST_F(LeaseDeskTest, GivingWhatAnotherHoldsTouchesNothing) {
  engine.learn(lease("other", "x", 5), now);
  desk.give(key, model::Uid{"p"});
  EXPECT_EQ(told(), "gone:p ");
}

TEST_F(LeaseDeskTest, ADeletedLeaseIsNotBroughtBackByALateAnswer) {
  engine.learn(lease("p", "r", 5), now);
  desk.give(key, model::Uid{"p"});
  answer(sent(), CallResult::Applied, 200);
  engine.learn(lease("p", "r", 5), now);
  EXPECT_EQ(engine.cache().lease(key), nullptr);
}

TEST_F(LeaseDeskTest, ARefusalForGoodIsTold) {
  desk.take(key, claimant("p", "r"), false);
  answer(sent(), CallResult::Refused, 403);
  EXPECT_EQ(told(), "refused:p ");
}

/// What one pod's wish found there is not what the next one's finds: it is read again.
TEST_F(LeaseDeskTest, WhatStoodThereForAnEarlierWishIsReadForTheNext) {
  model::Lease others = *lease("x", "r9", 5).as<model::Lease>();
  others.managed = false;
  desk.take(key, claimant("a", "r1"), false);
  answer(sent(), CallResult::Refused, 403);
  EXPECT_EQ(told(), "refused:a ");
  now += 1s;
  desk.take(key, claimant("b", "r2"), false);
  answer(sent(), CallResult::Refused, 409);
  answer(sent(), CallResult::Applied, 200, std::make_shared<const model::Lease>(others));
  EXPECT_EQ(told(), "lost:b ");
  now += 1s;
  desk.take(key, claimant("c", "r3"), false);
  EXPECT_EQ(sent().verb, Verb::Get);
}

/// However many pods follow each other there; when the wait is over the next one tries.
TEST_F(LeaseDeskTest, WhatIsRefusedAgainAndAgainIsToldWithoutACall) {
  int calls = 0;
  int refused = 0;
  for (int i = 0; i < 40; ++i) {
    desk.take(key, claimant("p", "r"), false);
    kapi::Effects out;
    desk.pump(now, out);
    for (const auto& effect : out) {
      ++calls;
      desk.handle(outcomeOf(effect, CallResult::Refused, 403), Now{now, {}}, ignored);
    }
    refused += told() == "refused:p " ? 1 : 0;
    now += 100ms;
  }
  EXPECT_LE(calls, 8);
  EXPECT_GE(refused, 20);
  now += 10s;
  desk.take(key, claimant("p", "r"), false);
  answer(sent(), CallResult::Applied, 201, lease("p", "r", 5));
  EXPECT_EQ(told(), "held:p ");
}

TEST_F(LeaseDeskTest, AWishThatFulfillsItselfDoesNotEndTheWaitThatTheServerAskedFor) {
  engine.learn(lease("p", "r", 5, {"p", "x"}), now);
  desk.give(key, model::Uid{"p"});
  desk.take(key, claimant("q", "s", true), false);
  kapi::Outcome busy = outcomeOf(kapi::Effect{sent()}, CallResult::Refused, 429);
  busy.retry_after = 5s;
  desk.handle(busy, Now{now, {}}, ignored);
  engine.learn(lease("p", "r", 6, {"x"}), now);
  desk.take(key, claimant("t", "u", true), false);
  EXPECT_EQ(told(), "gone:p ");
  now += 5s - 1ms;
  EXPECT_TRUE(silent());
  now += 1ms;
  EXPECT_EQ(sent().verb, Verb::Update);
}

TEST_F(LeaseDeskTest, AfterAWishIsFulfilledTheNextFailureIsTheFirst) {
  engine.learn(lease("p", "r", 5, {"p", "x"}), now);
  desk.give(key, model::Uid{"p"});
  desk.take(key, claimant("q", "s", true), false);
  answer(sent(), CallResult::NotSent, 0);
  now += 200ms;
  engine.learn(lease("p", "r", 6, {"x"}), now);
  answer(sent(), CallResult::NotSent, 0);
  EXPECT_EQ(told(), "gone:p ");
  now += 200ms;
  EXPECT_EQ(sent().verb, Verb::Update);
}

TEST_F(LeaseDeskTest, FailuresGoWithTheLastWish) {
  desk.take(key, claimant("p", "r"), false);
  answer(sent(), CallResult::NotSent, 0);
  EXPECT_TRUE(desk.failing(key));
  desk.forget(key, model::Uid{"p"});
  EXPECT_TRUE(silent());
  EXPECT_FALSE(desk.failing(key));
  EXPECT_EQ(desk.nextDue(), std::nullopt);
  desk.take(key, claimant("q", "s"), false);
  EXPECT_EQ(sent().verb, Verb::Create);
}

TEST_F(LeaseDeskTest, ARefusalIsForgottenAMinuteAfterItsWait) {
  desk.take(key, claimant("p", "r"), false);
  answer(sent(), CallResult::Refused, 403);
  EXPECT_EQ(told(), "refused:p ");
  now += 200ms + 59s;
  EXPECT_TRUE(silent());
  EXPECT_TRUE(desk.failing(key));
  EXPECT_EQ(desk.nextDue(), now + 1s);
  now += 1s;
  EXPECT_TRUE(silent());
  EXPECT_FALSE(desk.failing(key));
  EXPECT_EQ(desk.nextDue(), std::nullopt);
}

TEST_F(LeaseDeskTest, ABusyServerIsAskedAgainWhenItSaid) {
  desk.take(key, claimant("p", "r"), false);
  const auto call = sent();
  kapi::Outcome busy;
  busy.token = call.token;
  busy.result = CallResult::Refused;
  busy.http = 429;
  busy.retry_after = 5s;
  desk.handle(busy, Now{now, {}}, ignored);
  EXPECT_TRUE(silent());
  EXPECT_EQ(desk.nextDue(), now + 5s);
  now += 5s;
  EXPECT_EQ(sent().verb, Verb::Create);
}

TEST_F(LeaseDeskTest, OneCallPerLeaseIsInFlight) {
  desk.take(key, claimant("a", "ra", true), false);
  const auto create = sent();
  desk.take(key, claimant("b", "rb", true), false);
  EXPECT_TRUE(silent());
  answer(create, CallResult::Applied, 201, lease("a", "ra", 5, {"a"}));
  EXPECT_EQ(sent().verb, Verb::Update);
}

TEST_F(LeaseDeskTest, AfterALossOfLeadershipLateOutcomesAreIgnored) {
  desk.take(key, claimant("p", "r"), false);
  const auto create = sent();
  desk.reset();
  answer(create, CallResult::Applied, 201, lease("p", "r", 5));
  EXPECT_EQ(told(), "");
  EXPECT_EQ(engine.cache().lease(key), nullptr) << "the watch brings it";
}

TEST_F(LeaseDeskTest, ALateOutcomeDoesNotEndTheCallOfALaterTerm) {
  desk.take(key, claimant("p", "r"), false);
  const auto earlier = sent();
  desk.reset();
  desk.take(key, claimant("p", "r2"), false);
  const auto later = sent();
  answer(earlier, CallResult::Refused, 409);
  EXPECT_TRUE(silent()) << "one call is in flight";
  answer(later, CallResult::Applied, 201, lease("p", "r2", 5));
  EXPECT_EQ(told(), "held:p ");
}

// The read was answered from before the lease that the watch brought meanwhile.
TEST_F(LeaseDeskTest, AReadThatFoundNothingTakesNoNewerLeaseAway) {
  engine.learn(lease("other", "x", 5), now);
  desk.take(key, claimant("p", "r"), false);
  const auto read = sent();
  ASSERT_EQ(read.verb, Verb::Get);
  engine.leaseGone(key, engine.cache().lease(key)->uid, 6);
  model::Lease newer = *lease("third", "y", 7).as<model::Lease>();
  newer.uid = model::Uid{"newer"};
  engine.learn(std::make_shared<const model::Lease>(newer), now);
  answer(read, CallResult::Refused, 404);
  ASSERT_NE(engine.cache().lease(key), nullptr);
  EXPECT_EQ(engine.cache().lease(key)->uid, model::Uid{"newer"});
}

TEST_F(LeaseDeskTest, WhatIsToBeConfirmedIsReadThoughItIsKnown) {
  engine.learn(lease("p", "r", 5), now);
  desk.take(key, claimant("p", "r"), true);
  const auto read = sent();
  EXPECT_EQ(read.verb, Verb::Get);
  answer(read, CallResult::Applied, 200, lease("p", "r", 5));
  EXPECT_EQ(told(), "held:p ");
}

/// Whatever is answered, calls of one lease come slower and slower.
TEST_F(LeaseDeskTest, NoAnswerMakesItAskForEverAtOnce) {
  for (const int http : {200, 201, 400, 401, 404, 409, 429, 500, 0}) {
    controller::Parts others;
    LeaseDesk other{engine, model::kMaxSharers, others};
    int calls = 0;
    for (const Mono end = now + 1min; now < end; now += 1ms) {
      if (other.idle(key, model::Uid{"p"})) { other.take(key, claimant("p", "r"), false); }
      kapi::Effects out;
      other.pump(now, out);
      for (const auto& effect : out) {
        ++calls;
        kapi::Outcome o = outcomeOf(effect, CallResult::Refused, http);
        if (http == 0 || http >= 500) { o.result = CallResult::Unknown; }
        if (http / 100 == 2) { o.result = CallResult::Applied; }
        if (http == 404) { o.reason = "NotFound"; }
        other.handle(o, Now{now, {}}, ignored);
      }
      const auto refused = other.takeNotices();
      if (!refused.empty()) { break; }  // who asked backs off
    }
    EXPECT_LE(calls, 20) << http;
  }
}

TEST_F(LeaseDeskTest, ALeaseOfOursWithoutItsLabelIsTakenBack) {
  runsAndFindsUnlabelled(lease("p", "r", 5));
  const auto update = sent();
  EXPECT_EQ(update.verb, Verb::Update);
  EXPECT_EQ(update.body["metadata"]["labels"]["gpu.scheduling/managed"].str(), "true");
  EXPECT_EQ(update.body["metadata"]["resourceVersion"].str(), "5");
  answer(update, CallResult::Applied, 200, lease("p", "r", 6));
  EXPECT_EQ(told(), "held:p ");
}

TEST_F(LeaseDeskTest, OneOfAnotherDecisionIsNot) {
  runsAndFindsUnlabelled(lease("p", "another", 5));
  EXPECT_EQ(told(), "lost:p ");
}

}  // namespace
}  // namespace gs::scheduler
