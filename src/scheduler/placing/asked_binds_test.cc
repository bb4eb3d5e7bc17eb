#include "scheduler/placing/asked_binds.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "kapi/kinds.h"
#include "scheduler/parts_test.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;
using Answered = BindAnswer::Kind;

Config withBinds(std::size_t at_once) {
  Config config = TestParts::kubes();
  config.max_waiting_binds = at_once;
  return config;
}

class AskedBindsTest : public ::testing::Test {
 protected:
  AskedBindsTest() { t.threeNodes(); }
  /// The number of the request.
  std::uint64_t ask(const std::string& name, const std::string& node, Duration patience = 4s) {
    BindRequest request;
    request.id = ++last_;
    request.uid = t.uid(name);
    request.node = model::NodeName{node};
    request.until = t.c.now.mono + patience;
    t.binds.bind(std::move(request));
    return last_;
  }
  std::uint64_t askNew(const std::string& name, const std::string& node, const char* ns = "default",
                       const char* claim = "one") {
    t.pod(name, claim, ns);
    return ask(name, node);
  }
  /// "bound", "failed: why", "unavailable", or "" while there is none.
  std::string answerTo(std::uint64_t id) {
    for (auto& answer : t.binds.takeAnswers()) { answers_[answer.id] = std::move(answer); }
    const auto it = answers_.find(id);
    if (it == answers_.end()) { return ""; }
    switch (it->second.kind) {
      case Answered::Bound: return "bound";
      case Answered::Failed: return "failed: " + it->second.text;
      case Answered::Unavailable: return "unavailable: " + it->second.text;
    }
    return "?";
  }
  std::string bind(const std::string& name, const std::string& node, const char* ns = "default",
                   const char* claim = "one") {
    const auto id = askNew(name, node, ns, claim);
    t.applyAll();
    return answerTo(id);
  }
  bool begin(const std::string& name, const std::string& node, const char* claim = "one") {
    const model::Pod& pod = t.pod(name, claim);
    return t.holds.begin(pod, t.requestOf(pod), model::NodeName{node});
  }
  /// Its namespace has four slots, which these use.
  std::vector<std::uint64_t> fillSlots() {
    std::vector<std::uint64_t> ids;
    for (const char* name : {"s0", "s1", "s2", "s3"}) { ids.push_back(askNew(name, "b")); }
    return ids;
  }
  /// A binding cycle of the namespace cannot be taken back.
  void stick(const std::string& name) {
    (void)askNew(name, "b");
    t.slots.stuck(t.uid(name));
  }
  static bool isFence(const kapi::Call& call) {
    return call.kind == kapi::kPod && call.subresource == "status";
  }
  std::vector<kapi::Call> fences() {
    auto calls = t.calls();
    std::erase_if(calls, [](const auto& call) { return !isFence(call); });
    return calls;
  }
  void wentThrough(const kapi::Call& fence, const std::string& name) {
    t.answer(fence, kapi::CallResult::Applied, 200, model::Object{t.known(name)});
    t.work();
  }
  TestParts t;

 private:
  std::map<std::uint64_t, BindAnswer> answers_;
  std::uint64_t last_ = 0;
};

TEST_F(AskedBindsTest, IsAnsweredWhenThePodIsBound) {
  const auto id = askNew("p", "a");
  EXPECT_TRUE(t.binder.has(t.uid("p")));
  EXPECT_EQ(t.freeOn("a"), 3);
  EXPECT_EQ(answerTo(id), "");
  EXPECT_EQ(t.binds.size(), 1U);
  EXPECT_EQ(t.binds.nextDue(), t.c.now.mono + 4s);
  t.applyAll();
  EXPECT_EQ(answerTo(id), "bound");
  EXPECT_EQ(t.binds.size(), 0U);
}

TEST_F(AskedBindsTest, WhoseLeaseIsRefusedIsToldSo) {
  const auto id = askNew("p", "a");
  t.work();
  t.refuse(t.calls().at(0));
  t.applyAll();
  EXPECT_NE(answerTo(id).find("failed: "), std::string::npos);
  EXPECT_EQ(t.freeOn("a"), 4);
}

TEST_F(AskedBindsTest, RefusesWhatCannotBe) {
  EXPECT_EQ(answerTo(ask("nobody", "a")), "failed: gpu-scheduler does not know the pod yet; ask again");
  EXPECT_EQ(answerTo(askNew("p", "nowhere")),
            "failed: node nowhere: gpu-scheduler does not know it yet; ask again");
  EXPECT_NE(answerTo(askNew("q", "a", "default", "none")).find("failed: node a: gpuclaim \"none\" not found"),
            std::string::npos);
  EXPECT_EQ(bind("f", "a", "default", "four"), "bound");
  EXPECT_EQ(bind("r", "a"), "failed: node a: node(s) had too few free GPUs: need 1 and most free is 0");
  t.c.engine.apply({kapi::kNode, {"", "b"}, {}, {}, 1'000}, t.c.now.mono);
  EXPECT_EQ(answerTo(askNew("s", "b")), "failed: node b: gpu-scheduler does not know it yet; ask again");
}

TEST_F(AskedBindsTest, APodThatIsBoundOrGoing) {
  t.learn(testing::PodBuilder{"p"}.scheduler("kube").claim("one").on("a"));
  EXPECT_EQ(answerTo(ask("p", "a")), "bound");
  EXPECT_EQ(answerTo(ask("p", "b")), "failed: pod default/p is bound to a");
  t.learn(testing::PodBuilder{"q"}.scheduler("kube").claim("one").phase(model::PodPhase::Failed));
  EXPECT_EQ(answerTo(ask("q", "b")), "failed: pod default/q is going");
}

TEST_F(AskedBindsTest, WhatIsReservedForThePodIsNotGivenTwice) {
  const model::Pod& pod = t.pod("p");
  const auto other = t.c.engine.ledger().reserve(model::NodeName{"a"}, pod.uid, t.requestOf(pod), {0});
  EXPECT_EQ(answerTo(ask("p", "a")), "failed: node a: its GPUs are reserved for the pod; ask again");
}

TEST_F(AskedBindsTest, WhoAsksAgainJoinsWhatIsUnderWay) {
  const auto first = askNew("p", "a");
  const auto again = ask("p", "a");
  const auto elsewhere = ask("p", "b");
  EXPECT_EQ(answerTo(elsewhere), "failed: pod default/p is being bound to a; ask again");
  t.applyAll();
  EXPECT_EQ(answerTo(first), "bound");
  EXPECT_EQ(answerTo(again), "bound");
  EXPECT_EQ(t.freeOn("a"), 3);
}

TEST_F(AskedBindsTest, WhoGivesUpTakesBackWhatWasNotSentYet) {
  const auto id = askNew("p", "a");
  const auto patient = ask("p", "a", 5s);
  t.work();
  const auto lease = t.calls().at(0);  // it comes to no answer in time
  t.pass(4s - 1ns);
  EXPECT_EQ(answerTo(id), "");
  t.pass(1ns);
  EXPECT_EQ(answerTo(id), "failed: its leases and its Binding were not confirmed in time; ask again");
  EXPECT_EQ(answerTo(patient), "");
  t.pass(1s);
  EXPECT_NE(answerTo(patient), "") << "the last one";
  EXPECT_EQ(t.binds.size(), 0U);
  t.refuse(lease);
  t.applyAll();
  EXPECT_FALSE(t.binder.has(t.uid("p")));
  EXPECT_EQ(t.requestOf(*t.known("p")).not_on, t.nodes({"a"})) << "another node comes first";
}

TEST_F(AskedBindsTest, AHoldEndsWithTheRequest) {
  EXPECT_TRUE(begin("p", "b"));
  EXPECT_EQ(t.freeOn("b"), 7);
  EXPECT_NE(ask("p", "a"), 0U);
  EXPECT_EQ(t.freeOn("b"), 8);
  EXPECT_EQ(t.freeOn("a"), 3);
}

TEST_F(AskedBindsTest, WhoIsToBeBoundTakesWhatIsHeldForOthers) {
  EXPECT_TRUE(begin("f", "a", "four"));
  EXPECT_EQ(bind("p", "a"), "bound");
  EXPECT_FALSE(t.holds.has(t.uid("f")));
  EXPECT_TRUE(begin("g", "b", "four"));
  EXPECT_NE(answerTo(askNew("nine", "b", "default", "none")), "");
  EXPECT_TRUE(t.holds.has(t.uid("g")));
  EXPECT_EQ(answerTo(askNew("x", "a", "default", "four")),
            "failed: node a: node(s) had too few free GPUs: need 4 and most free is 3");
}

// ---- slots, and the line for them

TEST_F(AskedBindsTest, WhoFindsNoSlotWaitsForOneAndItsGpusAreHeld) {
  const auto first = fillSlots();
  const auto queued = askNew("q", "b", "default", "four");
  const auto behind = askNew("r", "a");
  EXPECT_FALSE(t.binder.has(t.uid("q")));
  EXPECT_EQ(t.freeOn("b"), 0);
  EXPECT_EQ(t.freeOn("a"), 3);
  EXPECT_EQ(t.binds.size(), 6U);
  const auto other = askNew("o", "b", "other");
  EXPECT_NE(answerTo(other), "") << "who is in line came first";
  t.applyAll();
  for (const auto id : first) { EXPECT_EQ(answerTo(id), "bound"); }
  EXPECT_EQ(answerTo(queued), "bound");
  EXPECT_EQ(answerTo(behind), "bound");
  EXPECT_EQ(t.binds.size(), 0U);
}

TEST_F(AskedBindsTest, OthersWaitInTheOrderInWhichTheyAsked) {
  (void)fillSlots();
  for (const char* name : {"q2", "q1"}) { (void)askNew(name, "a"); }
  t.gone("s0");
  t.binder.podEnded(t.uid("s0"));
  t.work();
  EXPECT_TRUE(t.binder.has(t.uid("q2")));
  EXPECT_FALSE(t.binder.has(t.uid("q1")));
  (void)askNew("late", "a");
  EXPECT_FALSE(t.binder.has(t.uid("late"))) << "behind q1";
}

TEST_F(AskedBindsTest, WhoIsInLineIsToldWhyNot) {
  (void)fillSlots();
  EXPECT_NE(answerTo(askNew("x", "a", "default", "none")).find("failed: node a: gpuclaim"),
            std::string::npos);
  EXPECT_EQ(answerTo(askNew("y", "nowhere")),
            "failed: node nowhere: gpu-scheduler does not know it yet; ask again");
  EXPECT_EQ(t.binds.size(), 4U);
  const auto first = askNew("q", "a");
  const auto again = ask("q", "a");
  EXPECT_EQ(t.freeOn("a"), 3) << "held once";
  EXPECT_EQ(answerTo(ask("q", "b")), "failed: pod default/q is being bound to a; ask again");
  t.applyAll();
  EXPECT_EQ(answerTo(first), "bound");
  EXPECT_EQ(answerTo(again), "bound");
}

TEST_F(AskedBindsTest, WhoIsInLineForTooLongIsToldToAskAgain) {
  (void)fillSlots();
  (void)t.calls();
  t.pass(100ms);
  const auto id = askNew("q", "a");
  EXPECT_EQ(t.binds.nextDue(), t.c.now.mono + 4s - 100ms);
  t.pass(4s - 100ms);
  EXPECT_EQ(answerTo(id), "");
  EXPECT_EQ(t.binds.nextDue(), t.c.now.mono + 100ms);
  t.pass(100ms);
  EXPECT_EQ(answerTo(id),
            "failed: pods of namespace default that asked before are still being bound; ask again");
}

/// They would wait for longer than they are worth to others.
TEST_F(AskedBindsTest, NothingIsHeldInLineForANamespaceWhoseWritesTakeLong) {
  (void)fillSlots();
  t.pass(AskedBinds::kPaced - 1ns);
  (void)askNew("q", "a");
  EXPECT_EQ(t.freeOn("a"), 3);
  t.pass(1ns);
  (void)askNew("r", "a");
  EXPECT_EQ(t.freeOn("a"), 3);
  EXPECT_EQ(t.binds.size(), 6U);
}

// ---- the places of those that wait: 16

class AskedBindsPlaces : public AskedBindsTest {
 protected:
  AskedBindsPlaces() { t.node("huge", 256); }
  std::vector<std::uint64_t> askMany(const std::string& ns, int n) {
    t.claim("one", 1, ns);
    std::vector<std::uint64_t> ids;
    for (int i = 0; i < n; ++i) {
      ids.push_back(askNew("of-" + std::to_string(++names_), "huge", ns.c_str()));
    }
    return ids;
  }
  model::Uid lastPod() { return t.uid("of-" + std::to_string(names_)); }
  /// That the next `n` pods of it find.
  int places(const std::string& ns, int n) {
    const auto ids = askMany(ns, n);
    return static_cast<int>(std::count_if(ids.begin(), ids.end(), [&](auto id) { return !isBusy(id, ns); }));
  }
  bool isBusy(std::uint64_t id, const std::string& ns) {
    return answerTo(id) ==
           "failed: as many pods of namespace " + ns + " as may are being bound already; ask again";
  }

 private:
  int names_ = 0;
};

TEST_F(AskedBindsPlaces, ANamespaceHasHalfOfWhatItLeaves) {
  EXPECT_EQ(places("one", 20), 8);
  EXPECT_EQ(places("two", 20), 4);
  EXPECT_EQ(places("three", 20), 2);
  EXPECT_EQ(places("four", 20), 1);
  EXPECT_EQ(places("five", 20), 1);
  EXPECT_EQ(t.binds.size(), 16U);
  EXPECT_EQ(places("six", 1), 0) << "none of the others is slow yet";
}

TEST_F(AskedBindsPlaces, WhoHangsLeavesItsPlaceToWhoDoesNot) {
  const auto first = askMany("hangs", 8);
  t.pass(1ms);
  EXPECT_EQ(places("hangs-too", 4), 4);
  EXPECT_EQ(places("and-this", 2), 2);
  EXPECT_EQ(places("and-that", 2), 1);
  t.pass(AskedBinds::kPaced);
  EXPECT_EQ(places("early", 1), 1) << "the last one";
  EXPECT_EQ(t.binds.size(), 16U);
  EXPECT_EQ(places("early", 9), 0) << "the API server may be slow for all";
  for (const auto id : first) { EXPECT_EQ(answerTo(id), ""); }
  t.pass(AskedBinds::kHanging);
  EXPECT_EQ(places("works", 9), 8) << "half, as if those that hang were not there";
  EXPECT_EQ(t.binds.size(), 16U);
  const auto turnedAway = [&] {
    return std::count_if(first.begin(), first.end(), [&](auto id) { return answerTo(id) != ""; });
  };
  EXPECT_EQ(turnedAway(), 8) << "who waited longest";
  EXPECT_EQ(places("hangs-too", 1), 0) << "nobody makes room for it";
}

/// By seed.
class AskedBindsHang : public AskedBindsPlaces, public ::testing::WithParamInterface<std::uint64_t> {};

/// However many namespaces hang, with however many pods, since when, stuck or not: the next one finds as many
/// places as if they were not there.
TEST_P(AskedBindsHang, TheNextNamespaceFindsItsPlaces) {
  Rng rng{GetParam()};
  for (std::uint64_t i = 0, all = 1 + rng.below(20); i < all; ++i) {
    const std::string ns = "hangs-" + std::to_string(i);
    (void)askMany(ns, static_cast<int>(1 + rng.below(12)));
    if (rng.chance(20)) { t.slots.stuck(lastPod()); }
    if (rng.chance(30)) { t.pass(std::chrono::milliseconds{rng.below(400)}); }
    ASSERT_LE(t.binds.size(), 16U);
  }
  t.pass(AskedBinds::kHanging);
  EXPECT_FALSE(t.binds.isCrowded("next"));
  EXPECT_EQ(places("next", 9), 8);
  EXPECT_LE(t.binds.size(), 16U);
  EXPECT_EQ(places("after", 9), 4);
}

INSTANTIATE_TEST_SUITE_P(Seeds, AskedBindsHang, ::testing::Range(std::uint64_t{0}, std::uint64_t{100}));

TEST_F(AskedBindsTest, IsCrowdedWhenTwoWaitForASlot) {
  TestParts many{withBinds(64)};
  many.node("b", 8);
  many.claim("one", 1);
  for (const char* name : {"s0", "s1", "s2", "s3", "q0", "q1"}) {
    EXPECT_FALSE(many.binds.isCrowded("default")) << name;
    many.pod(name);
    many.binds.bind({1, {}, many.uid(name), model::NodeName{"b"}, many.c.now.mono + 4s, {}});
  }
  EXPECT_TRUE(many.binds.isCrowded("default"));
  EXPECT_FALSE(many.binds.isCrowded("other"));
  many.pass(AskedBinds::kPaced);
  EXPECT_FALSE(many.binds.isCrowded("default")) << "its writes take long";
}

TEST_F(AskedBindsTest, IsCrowdedWhenThreeQuartersOfAllAreTaken) {
  TestParts few{withBinds(8)};
  few.node("b", 8);
  const auto ask = [&](const std::string& name, const std::string& ns) {
    few.claim("one", 1, ns);
    few.pod(name, "one", ns);
    few.binds.bind({1, {}, few.uid(name), model::NodeName{"b"}, few.c.now.mono + 4s, {}});
  };
  for (const char* ns : {"n0", "n1"}) {
    ask(std::string{ns} + "p", ns);
    ask(std::string{ns} + "q", ns);
  }
  ask("p4", "n2");
  EXPECT_FALSE(few.binds.isCrowded("any"));
  ask("p5", "n3");
  EXPECT_TRUE(few.binds.isCrowded("any"));
  ask("p6", "n3");
  EXPECT_TRUE(few.binds.isCrowded("n3"));
  few.pass(AskedBinds::kPaced);
  EXPECT_FALSE(few.binds.isCrowded("any")) << "nobody waits for those";
}

TEST_F(AskedBindsTest, IsCrowdedWhenItHasThreeEighthsItself) {
  TestParts few{withBinds(8)};
  few.node("b", 8);
  few.claim("one", 1);
  for (const char* name : {"p0", "p1", "p2"}) {
    EXPECT_FALSE(few.binds.isCrowded("default")) << name;
    few.pod(name);
    few.binds.bind({1, {}, few.uid(name), model::NodeName{"b"}, few.c.now.mono + 4s, {}});
  }
  EXPECT_TRUE(few.binds.isCrowded("default"));
}

// ---- pods of a namespace that cannot be written

TEST_F(AskedBindsTest, WhereOthersAreStuckItShowsFirstThatItCanBeWritten) {
  stick("stuck");
  EXPECT_TRUE(begin("p", "a"));
  const auto id = ask("p", "a");
  const auto fence = fences();
  ASSERT_EQ(fence.size(), 1U);
  EXPECT_EQ(fence[0].key.name, "p");
  EXPECT_EQ(t.freeOn("a"), 4) << "it holds nothing meanwhile";
  EXPECT_FALSE(t.binder.has(t.uid("p")));
  EXPECT_EQ(t.binds.size(), 2U);
  const auto again = ask("p", "a");
  EXPECT_EQ(fences().size(), 0U);
  t.work();
  EXPECT_EQ(answerTo(id), "");
  wentThrough(fence[0], "p");
  EXPECT_TRUE(t.binder.has(t.uid("p")));
  EXPECT_EQ(t.probes.size(), 0U) << "next time it shows it anew";
  t.applyAll();
  EXPECT_EQ(answerTo(id), "bound");
  EXPECT_EQ(answerTo(again), "bound");
}

TEST_F(AskedBindsTest, WhoCannotBeWrittenIsToldSo) {
  stick("stuck");
  const auto id = askNew("p", "a");
  t.refuse(fences().at(0));
  t.work();
  const std::string no = "failed: pods of namespace default cannot be written now; ask again";
  EXPECT_EQ(answerTo(id), no);
  EXPECT_EQ(answerTo(ask("p", "a")), no) << "it is not tried again at once";
  EXPECT_EQ(fences().size(), 0U);
  t.pass(2s);
  EXPECT_EQ(answerTo(ask("p", "a")), "");
  EXPECT_EQ(fences().size(), 1U);
  EXPECT_EQ(t.freeOn("a"), 4);
}

TEST_F(AskedBindsTest, WhoShowsItForTooLongIsToldToAskAgain) {
  stick("stuck");
  const auto id = askNew("p", "a");
  EXPECT_EQ(t.binds.nextDue(), t.c.now.mono + 4s);
  t.pass(4s - 1ns);
  EXPECT_EQ(answerTo(id), "");
  t.pass(1ns);
  EXPECT_EQ(answerTo(id), "failed: pods of namespace default cannot be written now; ask again");
}

TEST_F(AskedBindsTest, WhoGoesWhileItShowsItIsGone) {
  stick("stuck");
  const auto id = askNew("p", "a");
  const auto fence = fences().at(0);
  t.gone("p");
  t.probes.end(t.uid("p"));
  t.work();
  EXPECT_EQ(answerTo(id), "failed: the pod is gone");
}

TEST_F(AskedBindsTest, WhoHadItsTurnShowsItBeforeItIsGranted) {
  (void)fillSlots();
  const auto id = askNew("q", "a");
  t.slots.stuck(t.uid("s0"));
  EXPECT_FALSE(t.binds.isCrowded("default"));
  t.work();
  EXPECT_FALSE(t.binder.has(t.uid("q")));
  EXPECT_EQ(t.freeOn("a"), 4);
  const auto fence = fences();
  ASSERT_EQ(fence.size(), 1U);
  wentThrough(fence[0], "q");
  EXPECT_TRUE(t.binder.has(t.uid("q")));
  t.applyAll();
  EXPECT_EQ(answerTo(id), "bound");
}

TEST_F(AskedBindsTest, NothingIsHeldInLineWhereOthersAreStuck) {
  (void)fillSlots();
  t.slots.stuck(t.uid("s0"));
  (void)askNew("q", "a");  // shows it, in the slot that the stuck one left
  const auto behind = askNew("r", "a");
  EXPECT_EQ(answerTo(behind), "");
  EXPECT_EQ(t.freeOn("a"), 4);
}

// ---- leases of an earlier leader

class LeasesOfBefore : public AskedBindsTest {
 protected:
  void leaseOf(const std::string& name, int gpu = 0) {
    const model::Pod& pod = t.pod(name);
    auto lease = testing::makeLease("a", gpu, pod, "r", "a:" + std::to_string(gpu));
    t.c.engine.learn(model::Object{std::make_shared<const model::Lease>(lease)}, t.c.now.mono);
  }
};

TEST_F(LeasesOfBefore, AreTakenOverWhereTheSameNodeIsAskedFor) {
  leaseOf("p");
  const auto id = ask("p", "a");
  EXPECT_TRUE(t.binder.has(t.uid("p")));
  EXPECT_EQ(answerTo(id), "");
}

TEST_F(LeasesOfBefore, AreTakenBackWhereAnotherOneIs) {
  leaseOf("p");
  EXPECT_TRUE(t.binds.mayBeAskedAgain(t.uid("p")));
  EXPECT_EQ(answerTo(ask("p", "b")),
            "failed: node b: leases of an earlier decision are being taken back; ask again");
  EXPECT_FALSE(t.binder.has(t.uid("p")));
  EXPECT_TRUE(t.c.reconciles.contains(t.uid("p")));
  EXPECT_FALSE(t.binds.mayBeAskedAgain(t.uid("p"))) << "they go at once";
}

TEST_F(LeasesOfBefore, StandUntilThereWasTimeToAskAgain) {
  leaseOf("p");
  EXPECT_TRUE(t.binds.mayBeAskedAgain(t.uid("p")));
  EXPECT_EQ(t.binds.size(), 1U);
  t.pass(12s - 1ns);
  EXPECT_TRUE(t.binds.mayBeAskedAgain(t.uid("p")));
  t.pass(1ns);
  EXPECT_FALSE(t.binds.mayBeAskedAgain(t.uid("p")));
  t.binds.forget(t.uid("p"));
  EXPECT_EQ(t.binds.size(), 0U);
  EXPECT_TRUE(t.binds.mayBeAskedAgain(t.uid("p")));
  (void)ask("p", "a");
  EXPECT_EQ(t.binds.size(), 1U) << "it waits for its answer, and for nothing else";
}

TEST_F(LeasesOfBefore, ThatAreBeingTakenBackAreNotTakenOver) {
  leaseOf("p");
  t.leftovers.remove(*t.c.cache().pod(t.uid("p")));
  EXPECT_EQ(answerTo(ask("p", "a")),
            "failed: node a: leases of an earlier decision are being taken back; ask again");
}

TEST_F(LeasesOfBefore, CountAsItsHoldInLineAndAreNoReasonToShowAnything) {
  (void)fillSlots();
  leaseOf("p");
  const auto id = ask("p", "a");
  EXPECT_FALSE(t.holds.has(t.uid("p")));
  EXPECT_EQ(answerTo(id), "");
  t.slots.stuck(t.uid("s0"));
  t.work();
  EXPECT_TRUE(t.binder.has(t.uid("p")));
}

// ---- the term ends

TEST_F(AskedBindsTest, WhenTheTermEndsEverybodyIsTold) {
  const auto ids = fillSlots();
  const auto queued = askNew("q", "a");
  (void)askNew("x", "large", "other");
  t.slots.stuck(t.uid("x"));
  const auto probed = askNew("y", "large", "other");
  EXPECT_EQ(t.binds.size(), 7U);
  t.c.parts.reset();
  const std::string no = "unavailable: this replica does not lead any more; ask again";
  for (const auto id : ids) { EXPECT_EQ(answerTo(id), no); }
  EXPECT_EQ(answerTo(queued), no);
  EXPECT_EQ(answerTo(probed), no);
  EXPECT_EQ(t.binds.size(), 0U);
  EXPECT_EQ(t.binds.nextDue(), std::nullopt);
  EXPECT_FALSE(t.binds.isCrowded("default"));
}

TEST_F(AskedBindsTest, NoLeaseIsWrittenBeforeTheRecordIsOurs) {
  t.record.reset();
  EXPECT_EQ(answerTo(askNew("p", "a")),
            "failed: node a: no GPU lease can be written yet: the GpuClaim CRD is missing; apply the CRDs");
  EXPECT_EQ(t.freeOn("a"), 4);
}

}  // namespace
}  // namespace gs::scheduler
