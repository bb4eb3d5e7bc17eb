#include "scheduler/placing/nominator.h"

#include <gtest/gtest.h>

#include "model/annotations.h"
#include "scheduler/parts_test.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;
using kapi::CallResult;

/// A node with many GPUs; pods of namespaces default, other and third.
class NominatorTest : public ::testing::Test {
 protected:
  NominatorTest() {
    for (const char* ns : {"default", "other", "third"}) { t.claim("one", 1, ns); }
    t.node("a", 64);
  }
  /// Its kube-scheduler asked about it, and found no node.
  void refused(const std::string& name, const char* ns = "default") {
    t.pod(name, "one", ns);
    t.nominator.asked(t.uid(name), false);
  }
  /// Nobody asked about it for a minute.
  void forgotten(const std::vector<std::string>& names, const char* ns = "default") {
    for (const auto& name : names) { t.nominator.seen(t.pod(name, "one", ns)); }
    t.pass(60s);
    for (const auto& name : names) { t.nominator.seen(*t.known(name)); }
  }
  bool waits(const std::string& name) { return t.nominator.isToBeWoken(t.uid(name)); }
  /// Its turn has come in our queue; the write that wakes it.
  std::optional<kapi::Call> wake(const std::string& name) {
    (void)t.calls();
    const model::Pod& pod = *t.known(name);
    t.nominator.wake(pod, t.requestOf(pod), model::NodeName{"a"});
    const auto calls = t.calls();
    EXPECT_LE(calls.size(), 1U);
    return calls.empty() ? std::nullopt : std::optional{calls.front()};
  }
  /// The next in line may leave by now.
  void turn() { t.pass(controller::kBetweenWakes); }
  bool isReconciled(const std::string& name) {
    bool found = false;
    while (const auto uid = t.c.reconciles.take()) { found = found || *uid == t.uid(name); }
    return found;
  }
  void tick() { t.nominator.tick(t.c.now, t.c.out); }
  TestParts t;
};

TEST_F(NominatorTest, WhoFoundNoneIsToBeWokenUntilOneIsFound) {
  refused("p");
  EXPECT_TRUE(waits("p"));
  EXPECT_TRUE(isReconciled("p"));
  t.nominator.asked(t.uid("p"), false);
  EXPECT_FALSE(isReconciled("p")) << "it waits already";
  EXPECT_TRUE(waits("p"));
  t.nominator.asked(t.uid("p"), true);
  EXPECT_TRUE(isReconciled("p"));
  EXPECT_FALSE(waits("p"));
  t.nominator.asked(t.uid("p"), true);
  EXPECT_FALSE(isReconciled("p"));
  EXPECT_FALSE(wake("p"));
}

TEST_F(NominatorTest, WakingWritesItsAnnotationAndHoldsGpusForAMoment) {
  refused("p");
  const auto call = wake("p");
  ASSERT_TRUE(call);
  EXPECT_TRUE(call->leader_only);
  EXPECT_EQ(call->key.name, "p");
  EXPECT_FALSE(call->body["metadata"]["annotations"][model::kWakeKey].str().empty());
  EXPECT_EQ(t.freeOn("a"), 63);
  EXPECT_FALSE(waits("p"));
  t.apply(*call);
  EXPECT_FALSE(waits("p")) << "it is awaited";
  t.pass(Holds::kHeld);
  EXPECT_EQ(t.freeOn("a"), 64);
}

/// What is held is no condition: its kube-scheduler sees what is free.
TEST_F(NominatorTest, WhoMayHoldNothingIsWokenAllTheSame) {
  t.pod("q");
  ASSERT_TRUE(t.holds.begin(*t.known("q"), t.requestOf(t.pod("q")), model::NodeName{"a"}));
  t.pass(Holds::kHeld);
  refused("p");
  EXPECT_TRUE(wake("p"));
  EXPECT_EQ(t.freeOn("a"), 64);
}

TEST_F(NominatorTest, EachTimeItIsWokenLater) {
  refused("p");
  t.apply(wake("p").value());
  for (const Duration wait : {5s, 10s, 20s}) {
    t.nominator.asked(t.uid("p"), false);
    EXPECT_FALSE(waits("p"));
    t.pass(wait - 1ns);
    EXPECT_FALSE(waits("p"));
    (void)isReconciled("p");
    t.c.now.mono += 1ns;
    tick();
    EXPECT_TRUE(isReconciled("p")) << "its time has come";
    EXPECT_TRUE(waits("p"));
    t.apply(wake("p").value());
  }
}

TEST_F(NominatorTest, WhoIsNotAskedAboutForAMinuteIsForgottenAndHoldsNothing) {
  const model::Pod& pod = t.pod("p");
  t.nominator.seen(pod);
  t.pass(60s - 1ns);
  t.nominator.seen(pod);
  EXPECT_FALSE(waits("p"));
  t.pass(1ns);
  t.nominator.seen(pod);
  EXPECT_TRUE(waits("p"));
  EXPECT_TRUE(wake("p"));
  EXPECT_EQ(t.freeOn("a"), 64);
  t.pass(59s);
  t.nominator.seen(pod);
  EXPECT_FALSE(waits("p")) << "a minute from when it was woken";
}

TEST_F(NominatorTest, WhoWasAskedAboutIsNotForgottenAndAGatedOneNever) {
  t.pod("p");
  t.pass(30s);
  t.nominator.asked(t.uid("p"), true);
  t.learn(testing::PodBuilder{"g"}.scheduler("kube").claim("one").gate("later"));
  t.nominator.seen(*t.known("g"));
  t.pass(59s);
  t.nominator.seen(*t.known("p"));
  EXPECT_FALSE(waits("p"));
  t.pass(60s);
  t.nominator.seen(*t.known("g"));
  EXPECT_FALSE(waits("g"));
}

/// Pods of a namespace whose webhook refuses every write after a moment: what is held for one after the other
/// keeps nobody from having all GPUs of the node.
TEST_F(NominatorTest, WhereAWakeIsRefusedLateTheNodeRests) {
  refused("p");
  const auto call = wake("p");
  ASSERT_TRUE(call);
  EXPECT_EQ(t.freeOn("a"), 63);
  t.pass(Holds::kHeld - 100ms);
  refused("q");
  t.refuse(*call);
  EXPECT_EQ(t.freeOn("a"), 64);
  EXPECT_TRUE(wake("q"));
  EXPECT_EQ(t.freeOn("a"), 64) << "it is woken, and nothing is held for it";
}

/// It holds what the others of those do.
TEST_F(NominatorTest, AForgottenOneThatIsThenRefusedIsOneOfThose) {
  forgotten({"p"});
  t.nominator.asked(t.uid("p"), false);
  EXPECT_TRUE(waits("p"));
  EXPECT_TRUE(wake("p"));
  EXPECT_EQ(t.freeOn("a"), 63);
}

TEST_F(NominatorTest, ARefusedOneStaysOneThoughNobodyAsksForLong) {
  refused("p");
  t.pass(61s);
  t.nominator.seen(*t.known("p"));
  EXPECT_TRUE(wake("p"));
  EXPECT_EQ(t.freeOn("a"), 63);
}

TEST_F(NominatorTest, FourOfANamespaceAreAwaitedAtATime) {
  for (const char* name : {"p0", "p1", "p2", "p3", "p4", "p5"}) { refused(name); }
  refused("q", "other");
  for (const char* name : {"p0", "p1", "p2", "p3"}) {
    t.apply(wake(name).value());
    turn();
  }
  EXPECT_FALSE(wake("p4"));
  EXPECT_FALSE(waits("p4")) << "it stands in line";
  EXPECT_FALSE(wake("p5"));
  EXPECT_FALSE(wake("q")) << "behind those, too, for a moment";
  turn();
  EXPECT_TRUE(waits("q"));
  EXPECT_FALSE(waits("p4"));
  EXPECT_TRUE(wake("q"));
  turn();
  t.nominator.asked(t.uid("p1"), true);
  turn();
  EXPECT_TRUE(waits("p4")) << "there is room, and it is the first";
  EXPECT_FALSE(waits("p5"));
  EXPECT_TRUE(wake("p4"));
  t.pass(controller::WokenPods::kAwaited);
  EXPECT_TRUE(waits("p5")) << "nobody asked about those in time";
}

TEST_F(NominatorTest, OneThatIsWokenAndEndsLetsTheNextIn) {
  for (const char* name : {"p0", "p1", "p2", "p3", "p4"}) { refused(name); }
  for (const char* name : {"p0", "p1", "p2", "p3"}) {
    t.apply(wake(name).value());
    turn();
  }
  EXPECT_FALSE(wake("p4"));
  turn();
  EXPECT_FALSE(waits("p4")) << "four are awaited";
  t.nominator.podEnded(t.uid("p1"));
  turn();
  EXPECT_TRUE(waits("p4"));
}

TEST_F(NominatorTest, ThoseInLineHaveTheirTurnsOneAfterTheOther) {
  refused("p");
  refused("q", "other");
  refused("r", "third");
  EXPECT_TRUE(wake("p"));
  EXPECT_FALSE(wake("q")) << "the last turn was used just now";
  EXPECT_FALSE(wake("r"));
  EXPECT_EQ(t.nominator.nextDue(), t.c.now.mono + controller::kBetweenWakes);
  turn();
  EXPECT_TRUE(waits("q"));
  EXPECT_FALSE(waits("r"));
  EXPECT_TRUE(wake("q"));
  turn();
  EXPECT_TRUE(wake("r"));
}

/// It is looked at again first, and may not fit any more.
TEST_F(NominatorTest, ATurnThatNobodyUsesPasses) {
  refused("p");
  refused("q", "other");
  EXPECT_TRUE(wake("p"));
  EXPECT_FALSE(wake("q"));
  (void)isReconciled("q");
  t.c.now.mono += controller::kBetweenWakes;
  tick();
  EXPECT_TRUE(isReconciled("q"));
  t.c.now.mono += 1s;
  refused("r", "third");
  EXPECT_TRUE(wake("r")) << "nobody stands in line";
  EXPECT_FALSE(wake("q")) << "its turn is over";
  turn();
  EXPECT_TRUE(waits("q"));
  t.c.now.mono += 1s - 1ns;
  EXPECT_TRUE(wake("q"));
}

TEST_F(NominatorTest, WhoIsInLineLeavesItWhenItIsAskedAbout) {
  refused("p");
  refused("q", "other");
  EXPECT_TRUE(wake("p"));
  EXPECT_FALSE(wake("q"));
  t.nominator.asked(t.uid("q"), true);
  turn();
  EXPECT_FALSE(waits("q"));
  EXPECT_EQ(t.nominator.size(), 4U) << "two that were asked about, a write, and when the next may leave";
}

TEST_F(NominatorTest, ForgottenOnesAreWokenFiveASecond) {
  forgotten({"p", "q"});
  EXPECT_TRUE(wake("p"));
  EXPECT_FALSE(wake("q"));
  t.pass(200ms - 1ns);
  EXPECT_FALSE(waits("q"));
  t.pass(1ns);
  EXPECT_TRUE(wake("q"));
}

/// What is written about pods of one namespace takes for ever.
TEST_F(NominatorTest, WritesThatHangTakeHalfOfWhatTheyLeaveToOthers) {
  forgotten({"p0", "p1", "p2", "p3", "p4"});
  std::vector<kapi::Call> hang;
  for (const char* name : {"p0", "p1", "p2", "p3"}) {
    hang.push_back(wake(name).value());
    t.pass(200ms);
  }
  EXPECT_FALSE(wake("p4"));
  refused("q", "other");
  EXPECT_TRUE(wake("q"));
  t.pass(200ms);
  EXPECT_FALSE(waits("p4"));
  t.answer(hang[1], CallResult::Unknown, 0);
  t.pass(200ms);
  EXPECT_TRUE(waits("p4"));
  EXPECT_TRUE(wake("p4"));
}

TEST_F(NominatorTest, WritesOfPodsThatAreGoneCountUntilTheyAreAnswered) {
  forgotten({"p0", "p1", "p2", "p3", "p4"});
  std::vector<kapi::Call> hang;
  for (const char* name : {"p0", "p1", "p2", "p3"}) {
    hang.push_back(wake(name).value());
    t.nominator.podEnded(t.uid(name));
    t.pass(200ms);
  }
  EXPECT_FALSE(wake("p4"));
  for (const auto& call : hang) { t.answer(call, CallResult::Refused, 404); }
  t.pass(200ms);
  EXPECT_TRUE(wake("p4"));
  EXPECT_FALSE(waits("p0")) << "it is gone";
}

TEST_F(NominatorTest, WhatCouldNotBeWrittenIsTriedAgainLaterAndHoldsNothing) {
  refused("p");
  const auto call = wake("p").value();
  EXPECT_EQ(t.freeOn("a"), 63);
  t.refuse(call, 409);
  EXPECT_EQ(t.freeOn("a"), 64);
  EXPECT_FALSE(waits("p"));
  t.pass(5s);
  EXPECT_TRUE(waits("p"));
  for (const char* name : {"q0", "q1", "q2", "q3"}) {
    refused(name);
    EXPECT_TRUE(wake(name)) << "it is not awaited";
    turn();
  }
}

TEST_F(NominatorTest, AnAnswerAboutAnotherPodOfThatNameIsNone) {
  refused("p");
  const auto call = wake("p").value();
  const auto other = testing::PodBuilder{"p"}.uid("another").scheduler("kube").revision(500).make();
  t.answer(call, CallResult::Applied, 200, other);
  EXPECT_EQ(t.c.cache().pod(model::Uid{"another"}), nullptr);
  t.pass(5s);
  EXPECT_TRUE(waits("p"));
}

TEST_F(NominatorTest, WhatTheAnswerSaysOfThePodIsKnownAtOnce) {
  refused("p");
  const auto call = wake("p").value();
  const auto newer =
      testing::PodBuilder{"p"}.scheduler("kube").claim("one").annotate("seen", "yes").revision(500).make();
  t.answer(call, CallResult::Applied, 200, newer);
  EXPECT_NE(t.c.cache().pod(t.uid("p"))->annotation("seen"), nullptr);
  EXPECT_EQ(t.freeOn("a"), 63) << "it is awaited";
}

TEST_F(NominatorTest, WhoIsForgottenLeavesNothing) {
  refused("p");
  refused("q", "other");
  EXPECT_TRUE(wake("p"));
  EXPECT_FALSE(wake("q"));
  t.nominator.podEnded(t.uid("p"));
  t.nominator.podEnded(t.uid("q"));
  EXPECT_EQ(t.nominator.size(), 0U);
  EXPECT_EQ(t.freeOn("a"), 64);
  turn();
  EXPECT_FALSE(waits("q"));
}

TEST_F(NominatorTest, ANewTermBeginsWithNothing) {
  for (const char* name : {"p0", "p1", "p2", "p3", "p4"}) { refused(name); }
  for (const char* name : {"p0", "p1", "p2", "p3"}) {
    EXPECT_TRUE(wake(name));
    turn();
  }
  EXPECT_FALSE(wake("p4"));
  t.nominator.reset();
  t.holds.reset();
  EXPECT_EQ(t.nominator.size(), 0U);
  EXPECT_EQ(t.nominator.nextDue(), std::nullopt);
  for (const char* name : {"p0", "p1", "p2", "p3"}) {
    refused(name);
    EXPECT_TRUE(wake(name));
    turn();
  }
}

TEST_F(NominatorTest, SaysWhenItIsDueNext) {
  EXPECT_EQ(t.nominator.nextDue(), std::nullopt);
  refused("p");
  t.apply(wake("p").value());
  EXPECT_EQ(t.nominator.nextDue(), t.c.now.mono + Holds::kHeld);
  t.pass(Holds::kHeld);
  EXPECT_EQ(t.nominator.nextDue(), t.c.now.mono + 2s) << "it may be woken again";
  t.pass(2s);
  EXPECT_EQ(t.nominator.nextDue(), t.c.now.mono + 7s) << "nobody asked about it in time";
}

}  // namespace
}  // namespace gs::scheduler
