#include "scheduler/preempt/preemptor.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kapi/kinds.h"
#include "model/annotations.h"
#include "model/disruption.h"
#include "scheduler/core/metrics.h"
#include "scheduler/parts_test.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;

TEST(PreemptionStep, FollowsFromTheFacts) {
  using Step = PreemptionStep;
  const auto step = [](bool waits, bool fits_now, bool has_room, bool nominated, bool all_go) {
    return nextStep(PreemptionFacts{waits, fits_now, has_room, nominated, all_go});
  };
  EXPECT_EQ(step(false, true, true, true, false), Step::GiveUp) << "it does not come";
  EXPECT_EQ(step(true, true, true, true, false), Step::Place) << "it needs nobody's going";
  EXPECT_EQ(step(true, false, false, true, false), Step::GiveUp) << "it would be in vain";
  EXPECT_EQ(step(true, false, true, false, false), Step::Nominate) << "before anybody goes";
  EXPECT_EQ(step(true, false, true, false, true), Step::Nominate);
  EXPECT_EQ(step(true, false, true, true, false), Step::Evict);
  EXPECT_EQ(step(true, false, true, true, true), Step::Wait);
  PreemptionFacts blocked{.waits = true, .fits_now = true, .has_room = true, .nominated = true};
  blocked.blocked = true;
  EXPECT_EQ(nextStep(blocked), Step::Wait);
  blocked.waits = false;
  EXPECT_EQ(nextStep(blocked), Step::GiveUp);
}

TEST(PreemptionStep, AVictimIsMarkedThenDeletedOnce) {
  model::Pod victim;
  EXPECT_EQ(nextStep(victim, false, false), VictimStep::Mark);
  EXPECT_EQ(nextStep(victim, true, false), VictimStep::Delete);
  EXPECT_EQ(nextStep(victim, true, true), VictimStep::Nothing);
  victim.preempted = true;
  EXPECT_EQ(nextStep(victim, false, false), VictimStep::Delete);
  victim.deleting = true;
  EXPECT_EQ(nextStep(victim, false, false), VictimStep::Nothing);
}

/// Node a has one GPU, which pod low has.
class PreemptorTest : public ::testing::Test {
 protected:
  PreemptorTest() {
    t.claim("one", 1);
    t.node("a", 1);
    testing::PodBuilder low{"low"};
    low.claim("one").on("a").priority(1).allocated("a:0").annotate(model::kReservationKey, "r1").running();
    comes(low);
    const auto lease =
        std::make_shared<const model::Lease>(testing::makeLease("a", 0, low.value(), "r1", "a:0"));
    t.c.engine.apply({kapi::kLease, lease->key, {}, lease, lease->revision}, t.c.now.mono);
    comes(testing::PodBuilder{"high"}.claim("one").priority(10));
    (void)t.calls();
  }
  void comes(const testing::PodBuilder& pod) { t.learn(pod); }
  /// Calls about pods that left since; of events only how many.
  std::vector<kapi::Call> calls() {
    std::vector<kapi::Call> out;
    for (auto& call : t.calls()) {
      events += call.kind == kapi::kEvent ? 1 : 0;
      if (call.kind == kapi::kPod) { out.push_back(std::move(call)); }
    }
    return out;
  }
  /// What leaves next: "nominate high a", "clear high", "mark low", "delete low"; "" nothing.
  std::string next() {
    p.work();
    p.work();  // a search that is over is followed by its first step
    std::string out;
    for (auto& call : calls()) {
      out += (out.empty() ? "" : ", ") + textOf(call);
      last = std::move(call);
    }
    return out;
  }
  static std::string textOf(const kapi::Call& call) {
    if (call.verb == kapi::Verb::Delete) { return "delete " + call.key.name; }
    if (call.verb == kapi::Verb::StrategicPatch) { return "mark " + call.key.name; }
    const json::Value node = call.body["status"]["nominatedNodeName"];
    return node.isNull() ? "clear " + call.key.name
                         : "nominate " + call.key.name + " " + std::string{node.str()};
  }
  /// The API server does what was asked last; its answer shows the pod.
  void applied() {
    model::Pod pod = *t.known(last.key.name);
    pod.revision += 1'000;
    const std::string what = textOf(last);
    if (what.starts_with("nominate")) { pod.nominated = model::NodeName{"a"}; }
    if (what.starts_with("clear")) { pod.nominated = {}; }
    if (what.starts_with("mark")) { pod.preempted = true; }
    if (what.starts_with("delete")) { pod.deleting = true; }
    t.answer(last, kapi::CallResult::Applied, 200, std::make_shared<const model::Pod>(pod));
  }
  std::string after() {
    applied();
    return next();
  }
  void nominatedBySomebody(const char* name, bool preempts = true) {
    model::Pod told = *t.known(name);
    told.nominated = model::NodeName{"a"};
    told.preempts = preempts;
    told.revision += 1;
    t.c.engine.learn(std::make_shared<const model::Pod>(told), t.c.now.mono);
  }
  void want(const char* name = "high") { p.wanted(*t.known(name)); }

  TestParts t;
  bool asks = true;
  bool fits_now = false;
  bool is_being_placed = false;
  bool is_being_written = false;
  Preemptor p{
      t.c,
      {[this](const model::Pod& pod) {
         return asks ? std::optional{Preemptor::Asks{t.requestOf(pod)}} : std::nullopt;
       },
       [this](const model::Pod&) { return fits_now; }, [this](const model::Uid&) { return is_being_placed; },
       [this](const model::Uid&) { return is_being_written; }}};
  kapi::Call last;
  int events = 0;
};

TEST_F(PreemptorTest, NominatesThenMarksThenDeletesThenWaits) {
  want();
  EXPECT_EQ(next(), "nominate high a");
  EXPECT_TRUE(p.writes(TestParts::uid("high")));
  EXPECT_EQ(next(), "") << "nobody goes before that is written";
  EXPECT_EQ(after(), "mark low");
  EXPECT_EQ(after(), "delete low");
  EXPECT_EQ(json::print(last.body["preconditions"]), R"({"uid":"uid-low"})");
  EXPECT_EQ(after(), "");
  EXPECT_EQ(events, 1) << "low is told by whom";
  EXPECT_EQ(p.nominatedTo(TestParts::uid("high")), model::NodeName{"a"});
  fits_now = true;
  EXPECT_EQ(next(), "");
  p.podBound(*t.known("high"));
  EXPECT_EQ(p.size(), 0U);
}

TEST_F(PreemptorTest, NobodyGoesForAPodThatDoesNotWaitAnyMore) {
  want();
  EXPECT_EQ(next(), "nominate high a");
  EXPECT_EQ(after(), "mark low");
  asks = false;
  EXPECT_EQ(after(), "") << "that may be for a moment";
  EXPECT_EQ(p.nominatedTo(TestParts::uid("high")), model::NodeName{"a"});
  t.pass(Preemptor::kBlocked);
  EXPECT_EQ(next(), "clear high");
  EXPECT_EQ(after(), "");
  EXPECT_FALSE(p.nominatedTo(TestParts::uid("high")));
}

TEST_F(PreemptorTest, WhoIsNotToBePlacedForAMomentKeepsItsRoom) {
  want();
  EXPECT_EQ(next(), "nominate high a");
  EXPECT_EQ(after(), "mark low");
  asks = false;
  EXPECT_EQ(after(), "") << "nobody goes meanwhile";
  t.pass(Preemptor::kBlocked / 2);
  EXPECT_EQ(next(), "");
  asks = true;
  p.consider(*t.known("high"));
  EXPECT_EQ(next(), "delete low");
  asks = false;
  EXPECT_EQ(after(), "");
  t.pass(Preemptor::kBlocked / 2);
  EXPECT_EQ(next(), "") << "it has its time anew";
}

TEST_F(PreemptorTest, NobodyGoesForAPodThatFitsMeanwhile) {
  want();
  EXPECT_EQ(next(), "nominate high a");
  EXPECT_EQ(after(), "mark low");
  fits_now = true;
  EXPECT_EQ(after(), "");
}

TEST_F(PreemptorTest, NobodyGoesForAPodThatWasFencedMeanwhile) {
  want();
  EXPECT_EQ(next(), "nominate high a");
  EXPECT_EQ(after(), "mark low");
  model::Pod fenced = *t.known("high");
  fenced.annotations[model::kFenceKey] = "another";
  fenced.revision += 1;
  t.c.engine.learn(std::make_shared<const model::Pod>(fenced), t.c.now.mono);
  EXPECT_EQ(after(), "clear high");
}

TEST_F(PreemptorTest, NobodyGoesWhereThatIsInVainByNow) {
  want();
  EXPECT_EQ(next(), "nominate high a");
  applied();
  model::Node node = testing::makeNode("a");
  node.unschedulable = true;
  node.revision = 9'000;
  t.c.engine.apply({kapi::kNode, {"", "a"}, {}, std::make_shared<const model::Node>(node), 9'000},
                   t.c.now.mono);
  EXPECT_EQ(next(), "clear high");
}

TEST_F(PreemptorTest, WhileItIsBeingPlacedNothingIsWritten) {
  want();
  EXPECT_EQ(next(), "nominate high a");
  is_being_placed = true;
  EXPECT_EQ(after(), "");
  is_being_placed = false;
  p.consider(*t.known("high"));
  EXPECT_EQ(next(), "mark low") << "it came to nothing, and the pod waits again";
}

TEST_F(PreemptorTest, TheNextLeaderGoesOnFromWhatThePodSays) {
  want();
  EXPECT_EQ(next(), "nominate high a");
  EXPECT_EQ(after(), "mark low");
  applied();
  p.reset();
  EXPECT_EQ(next(), "");
  p.consider(*t.known("high"));
  EXPECT_EQ(next(), "delete low");
  EXPECT_EQ(after(), "");
  p.reset();
  p.consider(*t.known("high"));
  EXPECT_EQ(next(), "") << "low goes already";
  EXPECT_EQ(p.nominatedTo(TestParts::uid("high")), model::NodeName{"a"});
}

TEST_F(PreemptorTest, WhoIsNominatedAndIsNotToBePlacedLosesThat) {
  nominatedBySomebody("high");
  asks = false;
  p.consider(*t.known("high"));
  EXPECT_EQ(next(), "");
  t.pass(Preemptor::kBlocked);
  EXPECT_EQ(next(), "clear high");
}

/// A claim that is read a moment after the pod, say.
TEST_F(PreemptorTest, WhoIsNominatedAndIsToBePlacedAMomentLaterGoesOn) {
  nominatedBySomebody("high");
  asks = false;
  p.consider(*t.known("high"));
  EXPECT_EQ(next(), "");
  asks = true;
  p.consider(*t.known("high"));
  EXPECT_EQ(next(), "mark low");
}

TEST_F(PreemptorTest, NobodyGoesForAPodThatMayNotPreemptWhoeverNominatedIt) {
  comes(testing::PodBuilder{"polite"}.claim("one").priority(10));
  nominatedBySomebody("polite", false);
  p.consider(*t.known("polite"));
  EXPECT_EQ(next(), "clear polite");
}

// ---- What goes, and is not gone

/// Else its node, where nobody has to be told to go, would be the best one each time.
TEST_F(PreemptorTest, AfterWaitingInVainForWhatLeavesByItselfAnotherNodeIsTaken) {
  t.node("b", 1);
  comes(testing::PodBuilder{"low-b"}.claim("one").on("b").priority(5).allocated("b:0").running());
  model::Pod stuck = *t.known("low");
  stuck.priority = 50;
  stuck.deleting = true;
  stuck.revision += 1;
  t.c.engine.learn(std::make_shared<const model::Pod>(stuck), t.c.now.mono);
  want();
  EXPECT_EQ(next(), "nominate high a") << "there it costs nobody";
  EXPECT_EQ(after(), "");
  t.pass(Preemptor::kAwaited - 1s);
  EXPECT_EQ(next(), "");
  t.pass(1s);
  EXPECT_EQ(next(), "clear high");
  EXPECT_EQ(after(), "");
  t.pass(Preemptor::kTerms.first);
  EXPECT_EQ(next(), "nominate high b");
}

TEST_F(PreemptorTest, WhatVictimsLeaveBehindHasItsTimeHoweverLongTheyTook) {
  want();
  EXPECT_EQ(next(), "nominate high a");
  EXPECT_EQ(after(), "mark low");
  EXPECT_EQ(after(), "delete low");
  EXPECT_EQ(after(), "");
  t.pass(Preemptor::kAwaited * 3);
  EXPECT_EQ(next(), "") << "its grace is long";
  t.gone("low");
  auto& ledger = t.c.engine.ledger();
  ledger.hold(model::NodeName{"a"}, 0, TestParts::uid("low"), sched::Source::Draining, {});
  ledger.release(model::NodeName{"a"}, 0, TestParts::uid("low"), sched::Source::BoundPod);
  EXPECT_EQ(next(), "") << "its GPU is about to be free";
  t.pass(Preemptor::kAwaited - 1s);
  EXPECT_EQ(next(), "");
  t.pass(1s);
  EXPECT_EQ(next(), "clear high");
}

TEST_F(PreemptorTest, AVictimThatNeverEndsIsNotWaitedForForEver) {
  want();
  EXPECT_EQ(next(), "nominate high a");
  EXPECT_EQ(after(), "mark low");
  EXPECT_EQ(after(), "delete low");
  EXPECT_EQ(after(), "");
  t.pass(Preemptor::kMostAwaited - 1s);
  EXPECT_EQ(next(), "");
  t.pass(1s);
  EXPECT_EQ(next(), "clear high");
  EXPECT_EQ(after(), "");
  t.pass(Preemptor::kTerms.first);
  EXPECT_EQ(next(), "") << "it stays, as far as is known";
  EXPECT_FALSE(p.nominatedTo(TestParts::uid("high")));
}

/// Another scheduler does not know of the room that was made, and binds one pod after the other there.
TEST_F(PreemptorTest, OthersThatComeToItsNodeAreToldLaterEachTime) {
  want();
  EXPECT_EQ(next(), "nominate high a");
  EXPECT_EQ(after(), "mark low");
  EXPECT_EQ(after(), "delete low");
  EXPECT_EQ(after(), "");
  const auto follows = [&](const char* gone, const std::string& name) {
    t.gone(gone);
    for (const auto source : {sched::Source::Lease, sched::Source::BoundPod, sched::Source::Draining}) {
      t.c.engine.ledger().release(model::NodeName{"a"}, 0, TestParts::uid(gone), source);
    }
    comes(testing::PodBuilder{name}.claim("one").on("a").priority(1).allocated("a:0").running());
  };
  follows("low", "low-2");
  EXPECT_EQ(next(), "");
  t.pass(Preemptor::kTerms.first - 1s);
  EXPECT_EQ(next(), "");
  t.pass(1s);
  EXPECT_EQ(next(), "mark low-2");
  EXPECT_EQ(after(), "delete low-2") << "it is not told later than that";
  EXPECT_EQ(after(), "");
  follows("low-2", "low-3");
  t.pass(Preemptor::kTerms.first * 2 - 1s);
  EXPECT_EQ(next(), "");
  t.pass(1s);
  EXPECT_EQ(next(), "mark low-3");
}

TEST_F(PreemptorTest, WhatIsRefusedIsTriedAgainLater) {
  want();
  EXPECT_EQ(next(), "nominate high a");
  EXPECT_EQ(after(), "mark low");
  t.refuse(last);
  EXPECT_EQ(next(), "");
  t.pass(10s);
  EXPECT_EQ(next(), "mark low");
}

TEST_F(PreemptorTest, AServerThatDoesNotWriteDownTheNodeIsNotAskedAtOnce) {
  want();
  EXPECT_EQ(next(), "nominate high a");
  model::Pod same = *t.known("high");
  same.revision += 1;
  t.answer(last, kapi::CallResult::Applied, 200, std::make_shared<const model::Pod>(same));
  EXPECT_EQ(next(), "");
  t.pass(10s);
  EXPECT_EQ(next(), "nominate high a");
}

TEST_F(PreemptorTest, NobodyGoesForAPodThatIsNotMoreImportant) {
  comes(testing::PodBuilder{"equal"}.claim("one").priority(1));
  want("equal");
  EXPECT_EQ(next(), "");
  EXPECT_FALSE(p.hasMore());
}

/// Else a victim that its controller makes again would take the room, and have to go again, for ever.
TEST_F(PreemptorTest, NobodyLessImportantIsPlacedInTheRoomThatWasMade) {
  want();
  EXPECT_EQ(next(), "nominate high a");
  t.c.engine.ledger().release(model::NodeName{"a"}, 0, TestParts::uid("low"), sched::Source::Lease);
  t.c.engine.ledger().release(model::NodeName{"a"}, 0, TestParts::uid("low"), sched::Source::BoundPod);
  const auto& node = *t.c.engine.ledger().find(model::NodeName{"a"});
  ASSERT_EQ(node.free_devices, 1);
  comes(testing::PodBuilder{"low-again"}.claim("one").priority(1));
  comes(testing::PodBuilder{"top"}.claim("one").priority(100));
  const auto admits = [&](const char* name) {
    return p.admits(node, *t.known(name), t.requestOf(*t.known(name)));
  };
  EXPECT_FALSE(admits("low-again"));
  EXPECT_TRUE(admits("high"));
  EXPECT_TRUE(admits("top"));
}

TEST_F(PreemptorTest, WhoIsLessImportantLosesItsNomination) {
  want();
  EXPECT_EQ(next(), "nominate high a");
  applied();
  comes(testing::PodBuilder{"top"}.claim("one").priority(100));
  (void)calls();
  want("top");
  p.work();
  (void)calls();
  EXPECT_FALSE(p.nominatedTo(TestParts::uid("high")));
  EXPECT_EQ(p.nominatedTo(TestParts::uid("top")), model::NodeName{"a"});
}

TEST_F(PreemptorTest, NothingIsWrittenToItBesideAnotherWrite) {
  is_being_written = true;
  want();
  EXPECT_EQ(next(), "");
  is_being_written = false;
  p.consider(*t.known("high"));
  EXPECT_EQ(next(), "nominate high a");
}

TEST_F(PreemptorTest, WhoMayNotOrIsNotMoreImportantThanAnybodyIsNotLookedFor) {
  model::Pod never = *t.known("high");
  never.preempts = false;
  p.wanted(never);
  EXPECT_FALSE(p.hasMore());
  comes(testing::PodBuilder{"lower"}.claim("one").priority(0));
  want("lower");
  EXPECT_FALSE(p.hasMore());
}

/// Through the engine, which reads budgets as they come and go.
TEST_F(PreemptorTest, WhomABudgetProtectsStaysWhereAnotherOneCanGo) {
  t.node("b", 1);
  comes(testing::PodBuilder{"low-b"}.claim("one").on("b").priority(5).allocated("b:0").running());
  model::Pod low = *t.known("low");
  low.labels = {{"app", "web"}};
  low.revision += 1;
  t.c.engine.learn(std::make_shared<const model::Pod>(low), t.c.now.mono);
  model::DisruptionBudget budget;
  budget.key = {"default", "web"};
  budget.pods = model::LabelSelector{{{"app", model::LabelRequirement::Op::In, {"web"}}}};
  const auto made = std::make_shared<const model::DisruptionBudget>(budget);
  t.c.engine.apply({kapi::kDisruptionBudget, budget.key, {}, made, 9'000}, t.c.now.mono);
  want();
  EXPECT_EQ(next(), "nominate high b");
  p.podEnded(TestParts::uid("high"));
  t.c.engine.apply({kapi::kDisruptionBudget, budget.key, {}, {}, 9'001}, t.c.now.mono);
  want();
  EXPECT_EQ(next(), "nominate high a");
}

TEST_F(PreemptorTest, SaysForWhomItWaits) {
  want();
  EXPECT_EQ(next(), "nominate high a");
  EXPECT_EQ(p.saidOf(TestParts::uid("high")), "") << "nobody was told to go";
  EXPECT_EQ(after(), "mark low");
  EXPECT_EQ(p.saidOf(TestParts::uid("high")),
            "Nominated to node a, where it waits for the end of default/low.");
  EXPECT_EQ(p.takeSaid(), std::set<model::Uid>{TestParts::uid("high")});
  EXPECT_EQ(after(), "delete low");
  EXPECT_EQ(after(), "");
  EXPECT_TRUE(p.takeSaid().empty()) << "it goes, and that is the same";
  EXPECT_EQ(p.saidOf(TestParts::uid("low")), "");
}

TEST_F(PreemptorTest, AVictimThatIsReconciledMeanwhileIsNotToldTwice) {
  want();
  EXPECT_EQ(next(), "nominate high a");
  EXPECT_EQ(after(), "mark low");
  p.podBound(*t.known("low"));
  p.consider(*t.known("high"));
  EXPECT_EQ(next(), "") << "the first one is under way";
  EXPECT_EQ(after(), "delete low");
}

/// kube-scheduler's pods too: what went for them is not given to others.
TEST_F(PreemptorTest, WhomAnotherSchedulerNominatedCountsUntilItIsThere) {
  t.c.engine.ledger().release(model::NodeName{"a"}, 0, TestParts::uid("low"), sched::Source::Lease);
  t.c.engine.ledger().release(model::NodeName{"a"}, 0, TestParts::uid("low"), sched::Source::BoundPod);
  t.learn(testing::PodBuilder{"theirs"}.scheduler("other").priority(50));
  model::Pod theirs = *t.known("theirs");
  theirs.nominated = model::NodeName{"a"};
  theirs.requests.extended[model::kNvidiaGpu] = 1;
  p.theirs(theirs);
  const model::Pod& high = *t.known("high");
  const auto request = t.requestOf(high);
  const auto admits = [&] {
    return p.admits(*t.c.engine.ledger().find(model::NodeName{"a"}), high, request);
  };
  EXPECT_FALSE(admits());
  EXPECT_EQ(p.keptFrom(high, request, model::NodeName{"a"}),
            std::vector<model::NodeName>{model::NodeName{"a"}});
  EXPECT_TRUE(p.isKept(model::NodeName{"a"}, high));
  theirs.nominated = {};
  p.theirs(theirs);
  EXPECT_FALSE(p.isKept(model::NodeName{"a"}, high));
  EXPECT_TRUE(admits());
  EXPECT_TRUE(p.keptFrom(high, request, model::NodeName{"a"}).empty());
}

TEST_F(PreemptorTest, WhoAsksForTheSameHasTheSameAnswerUntilSomethingChanges) {
  t.claim("two", 2);
  comes(testing::PodBuilder{"large-1"}.claim("two").priority(9));
  comes(testing::PodBuilder{"large-2"}.claim("two").priority(9));
  want("large-1");
  want("large-2");
  t.c.out.clear();
  p.work();
  int searches = 0;
  for (const auto& effect : t.c.out) {
    const auto* metric = std::get_if<kapi::Metric>(&effect);
    searches += metric != nullptr && std::string{metric->name} == kPreemptionAttempts ? 1 : 0;
  }
  EXPECT_EQ(searches, 1);
  EXPECT_FALSE(p.hasMore());
  for (const char* name : {"large-1", "large-2"}) {
    EXPECT_EQ(p.saidOf(TestParts::uid(name)).find("preemption: 0/1 nodes are available: 1 "), 0U)
        << p.saidOf(TestParts::uid(name));
  }
  EXPECT_EQ(p.takeSaid().size(), 2U);
  p.podEnded(TestParts::uid("large-1"));
  EXPECT_EQ(p.saidOf(TestParts::uid("large-1")), "");
}

}  // namespace
}  // namespace gs::scheduler
