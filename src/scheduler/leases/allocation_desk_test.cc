#include "scheduler/leases/allocation_desk.h"

#include "scheduler/leases/allocation_desk_fixture_test.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;
using kapi::CallResult;

TEST_F(AllocationDeskTest, AFirstDecisionIsAPostAndAPut) {
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "POST");
  EXPECT_EQ(next(), "") << "one call at a time";
  applied(claim(5));
  EXPECT_EQ(next(), "PUT 5 gpu-1");
  applied(claim(6, 1));
  EXPECT_EQ(told(), "allocated 6");
  EXPECT_TRUE(desk.isAllocated(pod, {gpu(1)}));
  EXPECT_FALSE(desk.isAllocated(pod, {gpu(2)}));
  EXPECT_EQ(desk.size(), 0U);
}

TEST_F(AllocationDeskTest, ALaterOneIsAPut) {
  know(claim(5));
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "PUT 5 gpu-1");
}

TEST_F(AllocationDeskTest, WhatIsThereAlreadyIsNotWrittenAgain) {
  know(claim(5, 1));
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(told(), "allocated 5");
}

// An allocation cannot be changed.
TEST_F(AllocationDeskTest, AnotherAllocationIsEmptiedFirst) {
  know(claim(5, 2));
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "PUT 5");
  applied(claim(6));
  EXPECT_EQ(next(), "PUT 6 gpu-1");
}

TEST_F(AllocationDeskTest, TheWatchMayTellBeforeTheAnswer) {
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "POST");
  know(claim(5));
  EXPECT_EQ(next(), "") << "its answer is on the way";
  applied(claim(5));
  EXPECT_EQ(next(), "PUT 5 gpu-1");
}

TEST_F(AllocationDeskTest, AConflictIsReadAndTriedAgain) {
  know(claim(5));
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "PUT 5 gpu-1");
  answer(CallResult::Refused, 409);
  EXPECT_EQ(next(), "GET");
  applied(claim(7));
  EXPECT_EQ(next(), "PUT 7 gpu-1");
}

TEST_F(AllocationDeskTest, APostThatMeetsOneOfItsNameIsRead) {
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "POST");
  answer(CallResult::Refused, 409);
  EXPECT_EQ(next(), "GET");
  applied(claim(5));
  EXPECT_EQ(next(), "PUT 5 gpu-1");
}

TEST_F(AllocationDeskTest, OneThatSomebodyElseMadeIsInTheWay) {
  const auto refusal = [&](auto change) {
    model::ResourceClaim c = claim(5, 1);
    change(c);
    engine::Engine& e = engine;
    e.resourceClaimGone(c.key, {}, now);
    c.uid = model::Uid{"c" + std::to_string(now.time_since_epoch().count())};
    now += 1s;
    know(c);
    desk.allocate(pod, {gpu(1)}, false);
    EXPECT_EQ(told(), "refused");
    return why;
  };
  EXPECT_EQ(
      refusal([](auto& c) { c.reservation.clear(); }),
      "ResourceClaim team/gpu-u, which the pod needs, was made by somebody else; delete it, or create the "
      "pod anew");
  EXPECT_NE(refusal([](auto& c) { c.owner_pod = model::Uid{"another"}; }).find("by somebody else"),
            std::string::npos);
  EXPECT_NE(refusal([](auto& c) { c.requests.clear(); }).find("asks for something else"), std::string::npos);
  EXPECT_NE(refusal([](auto& c) { c.deleting = true; }).find("is being deleted"), std::string::npos);
}

TEST_F(AllocationDeskTest, WhatTheApiServerRefusesIsTold) {
  for (const int http : {403, 422}) {
    desk.allocate(pod, {gpu(1)}, false);
    now += 1min;
    EXPECT_EQ(next(), "POST");
    answer(CallResult::Refused, http);
    EXPECT_EQ(told(), "refused");
    EXPECT_NE(why.find(std::to_string(http)), std::string::npos) << why;
  }
}

TEST_F(AllocationDeskTest, WhoIsBusyIsAskedLater) {
  know(claim(5));
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "PUT 5 gpu-1");
  answer(CallResult::Refused, 429);
  EXPECT_EQ(next(), "");
  EXPECT_TRUE(desk.failing(pod.uid));
  ASSERT_TRUE(desk.nextDue());
  now = *desk.nextDue();
  EXPECT_EQ(next(), "PUT 5 gpu-1");
}

// It may land later: no other PUT leaves before the claim has another resourceVersion.
TEST_F(AllocationDeskTest, AfterAnUnknownPutTheClaimIsFenced) {
  know(claim(5));
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "PUT 5 gpu-1");
  answer(CallResult::Unknown, 0);
  now += 1min;
  EXPECT_EQ(next(), "GET");
  applied(claim(5));
  EXPECT_EQ(next(), "PATCH");
  applied(claim(8));
  EXPECT_EQ(next(), "PUT 8 gpu-1");
}

TEST_F(AllocationDeskTest, AnUnknownPutThatLandedIsTaken) {
  know(claim(5));
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "PUT 5 gpu-1");
  answer(CallResult::Unknown, 0);
  now += 1min;
  EXPECT_EQ(next(), "GET");
  applied(claim(6, 1));
  EXPECT_EQ(next(), "PATCH");
  applied(claim(7, 1));
  EXPECT_EQ(told(), "allocated 7");
}

// An earlier leader may have sent what empties it.
TEST_F(AllocationDeskTest, WhatAnEarlierLeaderAllocatedIsFencedBeforeItCounts) {
  know(claim(5, 1));
  desk.allocate(pod, {gpu(1)}, true);
  EXPECT_EQ(next(), "PATCH");
  applied(claim(6, 1));
  EXPECT_EQ(told(), "allocated 6");
}

// Somebody made an object under its name, and another pod runs with what that is allocated.
TEST_F(AllocationDeskTest, OneThatIsReservedForOthersIsNeverEmptied) {
  model::ResourceClaim theirs = claim(5, 1);
  theirs.reserved_for = {model::Uid{"another"}};
  know(theirs);
  EXPECT_TRUE(desk.withDevices(pod).empty());
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(told(), "refused");
  EXPECT_NE(why.find("is used by others"), std::string::npos) << why;
  desk.empty(pod.uid, pod.key, {kapi::claimKeyOf(pod)}, true);
  EXPECT_EQ(told(), "empty");
  theirs.reserved_for = {model::Uid{"another"}, pod.uid};
  theirs.revision = 6;
  know(theirs);
  desk.empty(pod.uid, pod.key, {kapi::claimKeyOf(pod)}, false);
  EXPECT_EQ(told(), "empty");
}

// Users may write its metadata.
TEST_F(AllocationDeskTest, WhatIsAllocatedForThePodIsEmptiedWhateverElseItSays) {
  model::ResourceClaim edited = claim(5, 1);
  edited.reservation.clear();
  edited.owner_pod = {};
  know(edited);
  EXPECT_FALSE(desk.withDevices(pod).empty());
  desk.empty(pod.uid, pod.key, {kapi::claimKeyOf(pod)}, false);
  EXPECT_EQ(next(), "PUT 5");
  applied(claim(6));
  EXPECT_EQ(told(), "empty");
}

TEST_F(AllocationDeskTest, A404SaysNothingOfAnotherThatTookItsName) {
  know(claim(5));
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "PUT 5 gpu-1");
  model::ResourceClaim second = claim(9);
  second.uid = model::Uid{"c-2"};
  know(second);
  answer(CallResult::Refused, 404);
  EXPECT_EQ(next(), "PUT 9 gpu-1");
}

TEST_F(AllocationDeskTest, EmptyingIsOnePut) {
  know(claim(5, 1));
  desk.empty(pod.uid, pod.key, {kapi::claimKeyOf(pod)}, false);
  EXPECT_EQ(next(), "PUT 5");
  applied(claim(6));
  EXPECT_EQ(told(), "empty");
}

TEST_F(AllocationDeskTest, WhatWasNeverAllocatedIsEmpty) {
  know(claim(5));
  desk.empty(pod.uid, pod.key, {kapi::claimKeyOf(pod)}, false);
  EXPECT_EQ(told(), "empty");
  desk.empty(model::Uid{"no-claim"}, {"team", "b"}, {{"team", "gpu-no-claim"}}, false);
  EXPECT_EQ(told(), "empty");
}

TEST_F(AllocationDeskTest, WhatOthersMayHaveSentIsFencedFirst) {
  know(claim(5));
  desk.empty(pod.uid, pod.key, {kapi::claimKeyOf(pod)}, true);
  EXPECT_EQ(next(), "PATCH");
  answer(CallResult::Unknown, 0);
  now += 1min;
  EXPECT_EQ(next(), "GET");
  applied(claim(6, 3));
  EXPECT_EQ(next(), "PATCH") << "its outcome is unknown";
  applied(claim(7, 3));
  EXPECT_EQ(next(), "PUT 7");
  applied(claim(8));
  EXPECT_EQ(told(), "empty");
}

TEST_F(AllocationDeskTest, WhatIsUnderWayWhenItIsGivenUpIsFenced) {
  know(claim(5));
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "PUT 5 gpu-1");
  desk.empty(pod.uid, pod.key, {kapi::claimKeyOf(pod)}, false);
  EXPECT_EQ(next(), "");
  answer(CallResult::Unknown, 0);
  now += 1min;
  EXPECT_EQ(next(), "GET");
  applied(claim(5));
  EXPECT_EQ(next(), "PATCH");
  applied(claim(6));
  EXPECT_EQ(told(), "empty");
}

// Its devices are nobody else's until then.
TEST_F(AllocationDeskTest, EmptyingIsNeverGivenUp) {
  know(claim(5, 1));
  desk.empty(pod.uid, pod.key, {kapi::claimKeyOf(pod)}, false);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(next(), "PUT 5");
    answer(CallResult::Refused, 403);
    EXPECT_EQ(told(), "");
    now += 1min;
  }
}

TEST_F(AllocationDeskTest, AClaimThatIsGoneIsEmpty) {
  know(claim(5, 1));
  desk.empty(pod.uid, pod.key, {kapi::claimKeyOf(pod)}, true);
  EXPECT_EQ(next(), "PATCH");
  answer(CallResult::Refused, 404);
  EXPECT_EQ(told(), "empty");
}

TEST_F(AllocationDeskTest, OneThatWentWhileItIsAllocatedIsMadeAnew) {
  know(claim(5));
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "PUT 5 gpu-1");
  answer(CallResult::Refused, 404);
  EXPECT_EQ(next(), "POST");
}

TEST_F(AllocationDeskTest, ANewWishTakesThePlaceOfTheFirst) {
  know(claim(5, 1));
  desk.empty(pod.uid, pod.key, {kapi::claimKeyOf(pod)}, false);
  EXPECT_EQ(next(), "PUT 5");
  desk.allocate(pod, {gpu(2)}, false);
  applied(claim(6));
  EXPECT_EQ(next(), "PUT 6 gpu-2");
  applied(claim(7, 2));
  EXPECT_EQ(told(), "allocated 7");
}

TEST_F(AllocationDeskTest, SomebodyWhoFightsForItIsMetWithPatience) {
  know(claim(5));
  desk.allocate(pod, {gpu(1)}, false);
  int calls = 0;
  model::Revision revision = 5;
  for (int i = 0; i < 20 && !next().empty(); ++i) {
    ++calls;
    if (call.verb == kapi::Verb::Get) {
      applied(claim(++revision));
    } else {
      answer(CallResult::Refused, 409);
    }
  }
  EXPECT_LE(calls, 8) << "at once";
  EXPECT_TRUE(desk.nextDue());
}

/// A webhook that denies with code 409, or a name that is taken whenever we write and free whenever we read.
TEST_F(AllocationDeskTest, ANameThatIsNeverThereAndNeverFreeIsTold) {
  for (int round = 0; round < 3; ++round) {
    desk.allocate(pod, {gpu(1)}, false);
    now += 1min;
    int calls = 0;
    for (; calls < 20 && !next().empty(); ++calls) {
      answer(CallResult::Refused, call.verb == kapi::Verb::Get ? 404 : 409);
    }
    EXPECT_EQ(calls, 5) << "at once";
    EXPECT_EQ(told(), "refused");
    EXPECT_NE(why.find("team/gpu-u was refused: 409"), std::string::npos) << why;
  }
}

/// Somebody deletes it whenever we write.
TEST_F(AllocationDeskTest, OneThatIsTakenAwayAgainAndAgainIsMadeWithPatience) {
  know(claim(5));
  desk.allocate(pod, {gpu(1)}, false);
  int calls = 0;
  model::Revision revision = 5;
  for (; calls < 20 && !next().empty(); ++calls) {
    if (call.verb == kapi::Verb::Create) {
      model::ResourceClaim anew = claim(++revision);
      anew.uid = model::Uid{"c-" + std::to_string(revision)};
      applied(std::move(anew));
    } else {
      answer(CallResult::Refused, 404);
    }
  }
  EXPECT_LE(calls, 8) << "at once";
  EXPECT_TRUE(desk.nextDue());
}

/// It conflicts whenever we write, and is gone whenever we read: nothing of it is allocated then.
TEST_F(AllocationDeskTest, OneThatIsToBeEmptiedAndIsGoneWhenItIsReadIsEmpty) {
  know(claim(5, 1));
  desk.empty(pod.uid, pod.key, {kapi::claimKeyOf(pod)}, false);
  EXPECT_EQ(next(), "PUT 5");
  answer(CallResult::Refused, 409);
  EXPECT_EQ(next(), "GET");
  answer(CallResult::Refused, 404);
  EXPECT_EQ(told(), "empty");
}

TEST_F(AllocationDeskTest, OfAPodThatEndedNothingIsKept) {
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "POST");
  desk.podEnded(pod.uid);
  EXPECT_EQ(desk.size(), 0U);
  applied(claim(5));
  EXPECT_EQ(told(), "");
  EXPECT_NE(engine.allocatedClaims().find({"team", "gpu-u"}), nullptr) << "what the answer says is known";
}

}  // namespace
}  // namespace gs::scheduler
