// Reviews by themselves: whatever they hand on is noted here, and done by nobody.
#include "extender/reviews.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "extender/grants/metrics.h"
#include "extender/protocol/pod_server_test.h"
#include "kapi/kinds.h"

namespace gs::extender {
namespace {

using namespace std::chrono_literals;
using RequestIds = std::vector<RequestId>;

/// Who is asked to go on with what.
class CoordinatorDouble : public Coordinator {
 public:
  void place(Caller caller) override { placed.push_back(caller.request_id); }
  void written(Grant& grant, const model::Pod& /*pod*/) override { grant.write.written(); }
  void review(const model::Uid& /*uid*/) override {}
  void endedUnwritten(const model::Uid& /*uid*/) override {}

  RequestIds placed;
};

Config besideOwnScheduler() {
  Config config;
  config.own_scheduler = "gpu-scheduler";
  return config;
}

/// Nodes a and b with one GPU each. Pods ask for half of one.
class ReviewsTest : public ::testing::Test {
 protected:
  ReviewsTest() {
    c.now = Now{Mono{1h}, Wall{1000h}};
    for (const char* name : {"a", "b"}) {
      model::Node node = gpuNode(name, 1);
      node.revision = ++server.revision;
      engine.apply({kapi::kNode, {"", name}, {}, std::make_shared<const model::Node>(node), node.revision},
                   c.now.mono);
    }
  }
  /// The watch brings what the server has; what it changed is not reviewed yet.
  void watchBrings(const std::string& name) {
    const model::Pod& pod = server.pods.at(name);
    engine.apply({kapi::kPod, pod.key, {}, std::make_shared<const model::Pod>(pod), pod.revision},
                 c.now.mono);
  }
  /// Somebody changes the pod.
  void changes(const std::string& name, const std::function<void(model::Pod&)>& how) {
    how(server.pods.at(name));
    server.pods.at(name).revision = ++server.revision;
    watchBrings(name);
  }
  void isBound(const std::string& name, const std::string& node) {
    changes(name, [&](model::Pod& pod) {
      pod.node = model::NodeName{node};
      pod.phase = model::PodPhase::Running;
    });
  }
  /// What it says is what it has: that device 0 of a.
  Grant& hasWritten(const std::string& name) {
    model::Pod pod = vcudaPod(name, {{50, 1}});
    const model::VcudaNote note{model::NodeName{"a"}, {{0, {0}}}, 17, false};
    pod.annotations = model::printVcudaNote(note);
    server.add(pod);
    watchBrings(name);
    Grant& g = grants.of(pod.uid, pod.key);
    g.picks = sched::vcudaPicks(pod);
    g.note = g.noted = note;
    g.write.written();
    g.asked = c.now.mono;
    grants.reserve(g, pod);
    return g;
  }
  [[nodiscard]] Caller waits(RequestId request_id, Duration time = 4s) {
    Caller caller;
    caller.request_id = request_id;
    caller.until = c.now.mono + time;
    return caller;
  }
  [[nodiscard]] bool isThere(const std::string& name) {
    return grants.find(model::Uid{"uid-" + name}) != nullptr;
  }
  void review(const std::string& name) { reviews.review(model::Uid{"uid-" + name}); }
  /// What callers were told since the last time, by request.
  std::map<RequestId, std::string> told() {
    std::map<RequestId, std::string> out;
    for (auto& [request_id, answer] : c.replies.take()) {
      EXPECT_EQ(answer.kind, Answer::Kind::Failed);
      out[request_id] = answer.text;
    }
    return out;
  }
  /// The calls that were sent since the last time.
  std::vector<kapi::Call> sent() {
    std::vector<kapi::Call> out;
    for (auto& effect : std::exchange(c.out, {})) {
      if (auto* call = std::get_if<kapi::Call>(&effect)) { out.push_back(std::move(*call)); }
      if (const auto* metric = std::get_if<kapi::Metric>(&effect)) { counted[metric->name] += metric->value; }
      if (const auto* log = std::get_if<kapi::Log>(&effect)) {
        warnings += log->level == kapi::Level::Warn ? 1 : 0;
      }
    }
    return out;
  }
  /// All that was sent is carried out.
  void run() {
    for (const kapi::Call& call : sent()) {
      const auto answered = calls.answered(call.token);
      ASSERT_TRUE(answered);
      writer.answered(*answered, server.carryOut(call));
    }
  }
  [[nodiscard]] double late() {
    (void)sent();
    return counted[kLateForeignBinds];
  }

  engine::Engine engine;
  PodServer server;
  Context c{engine, besideOwnScheduler(), Rng{1}};
  Grants grants{engine, false};
  PodCalls calls{7};
  CoordinatorDouble coordinator;
  ShareChooser chooser{engine, false};
  NoteWriter writer{c, grants, calls, coordinator};
  FoundNotes found{c, grants, chooser, writer};
  Wakes wakes{c, grants, calls, writer.troubles()};
  Reviews reviews{c, grants, {chooser, writer, found, wakes, coordinator}};
  std::map<std::string, double> counted;
  int warnings = 0;
};

// ---- The pod is over

TEST_F(ReviewsTest, ABoundPodsGrantEndsAndWhoWaitsIsAskedAboutAnew) {
  Grant& g = hasWritten("p");
  g.callers.awaitDecision(waits(1));
  g.callers.awaitWrite(waits(2));
  isBound("p", "a");
  review("p");
  EXPECT_FALSE(isThere("p"));
  EXPECT_EQ(coordinator.placed, (RequestIds{2, 1}));
  EXPECT_TRUE(told().empty());
  EXPECT_EQ(engine.ledger().find(model::NodeName{"a"})->free_milli, 500) << "the pod has it itself";
  EXPECT_EQ(late(), 0);
  EXPECT_TRUE(reviews.takeNotes().empty());
}

TEST_F(ReviewsTest, WhoWaitsForAPodThatIsGoneIsToldSo) {
  hasWritten("p").callers.awaitDecision(waits(1));
  engine.podGone(model::Uid{"uid-p"}, c.now.mono);
  review("p");
  EXPECT_FALSE(isThere("p"));
  EXPECT_EQ(told(), (std::map<RequestId, std::string>{{1, "the pod is gone"}}));
  EXPECT_EQ(engine.ledger().find(model::NodeName{"a"})->free_milli, 1000);
}

/// Its caller saw it before the watch did.
TEST_F(ReviewsTest, APodThatIsNotKnownYetKeepsWhatItWasGiven) {
  Grant& g = grants.of(model::Uid{"uid-new"}, {"default", "new"});
  g.callers.awaitDecision(waits(1));
  review("new");
  EXPECT_TRUE(isThere("new"));
  EXPECT_TRUE(told().empty());
}

/// Else whoever makes pods makes what is kept of them grow for ever.
TEST_F(ReviewsTest, NothingIsRememberedOfWhoIsOverAndAllOfWhoIsNot) {
  const std::map<std::string, std::function<void()>> ends{
      {"bound", [&] { isBound("bound", "a"); }},
      {"finished",
       [&] { changes("finished", [](model::Pod& pod) { pod.phase = model::PodPhase::Succeeded; }); }},
      {"gone", [&] { engine.podGone(model::Uid{"uid-gone"}, c.now.mono); }},
      {"lives", [&] { changes("lives", [](model::Pod& pod) {
                        pod.labels = {{"touched", "yes"}};
                      }); }},
  };
  for (const auto& [name, comes] : ends) {
    const model::Pod pod = server.add(vcudaPod(name, {{100, 0}}));
    watchBrings(name);
    const bool lives = name == "lives";
    chooser.triedInVain(pod.uid, model::NodeName{"b"}, true, c.now.mono);
    (void)writer.troubles().refused(pod.uid, "said by a policy", c.now.mono);
    writer.troubles().showed(pod.uid, pod.key.ns);
    Candidates candidates;
    candidates.table = chooser.table();
    candidates.nodes = {candidates.table->find("b")};
    sched::PodRequest large;
    large.shares = {{2, 0, 0}};
    Answer refusal;
    refusal.of_objects[0].refused = sched::Reason::TooFewFree;
    wakes.refusals().refused(pod, large, candidates, refusal, c.now.mono);
    Caller caller = waits(1);
    caller.request.pod = std::make_shared<const model::Pod>(pod);
    c.answer(caller, Answer::Kind::Failed, "logged once");
    comes();
    review(name);
    EXPECT_EQ(chooser.inVain(), lives ? 1U : 0U) << name;
    EXPECT_EQ(writer.troubles().rejectionsOf(pod.uid), lives ? 1 : 0) << name;
    EXPECT_EQ(writer.troubles().showed(), lives ? 1U : 0U) << name;
    EXPECT_EQ(wakes.refusals().size(), lives ? 1U : 0U) << name;
    EXPECT_EQ(c.log.pods(), lives ? 1U : 0U) << name;
  }
}

// ---- Late Bindings

TEST_F(ReviewsTest, ABindingToAnotherNodeIsLateAndUsersAreToldWhereDevicesAreGivenTwice) {
  hasWritten("fits");
  isBound("fits", "b");
  review("fits");
  EXPECT_EQ(late(), 1);
  EXPECT_TRUE(reviews.takeNotes().empty()) << "nobody else has that device";

  engine.ledger().hold(model::NodeName{"b"}, 0, model::Uid{"runs"}, sched::Source::BoundPod,
                       {true, 800, 256});
  hasWritten("twice");
  isBound("twice", "b");
  review("twice");
  EXPECT_EQ(late(), 2);
  const auto notes = reviews.takeNotes();
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].object.name, "twice");
  EXPECT_EQ(notes[0].reason, "LateForeignBinding");
  EXPECT_TRUE(notes[0].warning);
  EXPECT_TRUE(reviews.takeNotes().empty()) << "once";
}

TEST_F(ReviewsTest, SoIsOneOfAPodWhoseAnnotationsWereTakenOffSince) {
  writer.remove(hasWritten("p"));
  run();
  ASSERT_FALSE(isThere("p"));
  ASSERT_TRUE(writer.hasTakenBack(model::Uid{"uid-p"}));
  isBound("p", "a");
  review("p");
  EXPECT_EQ(late(), 1);
  review("p");
  EXPECT_EQ(late(), 1) << "it is told once";
}

/// What nobody promised it may be bound by, wherever.
TEST_F(ReviewsTest, ButNotOfAPodThatWasPromisedNothing) {
  Grant& g = hasWritten("p");
  g.note = {};
  g.holds.clear();
  g.write.removeOrphan(c.now.mono + 10s, 0);
  isBound("p", "b");
  review("p");
  EXPECT_FALSE(isThere("p"));
  EXPECT_EQ(late(), 0);
}

// ---- What others write on it

TEST_F(ReviewsTest, WhatOthersChangedIsMendedAtOnceThenSlowlyAndAFightIsSaidAfterSome) {
  Grant& g = hasWritten("p");
  review("p");
  EXPECT_TRUE(sent().empty()) << "it says what it has";
  for (int i = 1; i <= 5; ++i) {
    changes("p", [](model::Pod& pod) { pod.annotations[model::kVcudaNodeKey] = "b"; });
    review("p");
    ASSERT_TRUE(g.write.isWriting());
    ASSERT_EQ(g.write.isUnderWay(), i == 1) << i;
    c.now.mono += 30s;
    writer.advance(g);
    run();
    EXPECT_EQ(*server.pods["p"].annotation(model::kVcudaNodeKey), "a");
    EXPECT_EQ(warnings, std::max(0, i - 3)) << i;
  }
}

TEST_F(ReviewsTest, WhatIsDisputedIsTakenOffWhereSomebodyChangesIt) {
  Grant& g = hasWritten("p");
  g.adopted = true;
  g.contested = c.now.mono + 10s;
  changes("p", [](model::Pod& pod) { pod.annotations[model::kVcudaNodeKey] = "b"; });
  review("p");
  EXPECT_TRUE(g.write.isRemoving());
}

/// Annotations that nobody promised: they went by themselves, or they are not gone yet.
TEST_F(ReviewsTest, AnOrphanEndsWithItsAnnotationsUnlessSomebodyWaits) {
  for (const bool somebody_waits : {false, true}) {
    const std::string name = somebody_waits ? "waits" : "ends";
    Grant& g = hasWritten(name);
    g.note = {};
    g.holds.clear();
    g.write.removeOrphan(c.now.mono + 10s, 0);
    if (somebody_waits) { g.callers.awaitDecision(waits(1)); }
    review(name);
    EXPECT_TRUE(isThere(name));
    changes(name, [](model::Pod& pod) { pod.annotations.clear(); });
    review(name);
    EXPECT_EQ(isThere(name), somebody_waits);
  }
}

/// Who asked in its name said other limits, or it is another scheduler's.
TEST_F(ReviewsTest, APodThatIsAnotherThanWasAskedForGetsNothing) {
  struct Row {
    const char* name;
    bool is_written;
    bool is_own;
    const char* text;
    bool ends_at_once;  // else its annotations are taken off first
  };
  constexpr const char* kLimits = "the request says other limits than the pod has; ask again";
  for (const Row& row : {Row{"unwritten", false, false, kLimits, true},
                         {"written", true, false, kLimits, false},
                         {"own", true, true, "pod default/own is scheduled by gpu-scheduler", true}}) {
    Grant& g = hasWritten(row.name);
    if (!row.is_written) {
      g.noted = {};
      g.write.begin();
    }
    g.callers.awaitDecision(waits(1));
    changes(row.name, [&](model::Pod& pod) {
      if (row.is_own) {
        pod.scheduler_name = "gpu-scheduler";
      } else {
        pod.share_limits = {{20, 1}};
      }
    });
    review(row.name);
    EXPECT_EQ(told(), (std::map<RequestId, std::string>{{1, row.text}})) << row.name;
    EXPECT_EQ(isThere(row.name), !row.ends_at_once) << row.name;
    if (!row.ends_at_once) { EXPECT_TRUE(g.write.isRemoving()) << row.name; }
    if (isThere(row.name)) { writer.end(g.uid); }
  }
}

// ---- Time

TEST_F(ReviewsTest, WhatItsSchedulerGaveUpIsTakenOffAWhileLaterIfItSaidSoSinceItWasWritten) {
  const model::ScheduledCondition before{"False", "Unschedulable", "0/1 nodes are available"};
  for (const bool said_before : {true, false}) {
    const std::string name = said_before ? "before" : "since";
    Grant& g = hasWritten(name);
    if (said_before) { g.told = before; }
    g.promises.made({}, c.now.mono);
    changes(name, [&](model::Pod& pod) { pod.scheduled = before; });
    review(name);
    EXPECT_EQ(g.given_up.has_value(), !said_before);
    c.now.mono += kGivenUpAfter - 1ns;
    reviews.tick(g);
    EXPECT_TRUE(g.write.isWritten());
    c.now.mono += 1ns;
    reviews.tick(g);
    EXPECT_EQ(g.write.isRemoving(), !said_before);
    EXPECT_EQ(chooser.inVain(), said_before ? 0U : 1U) << "another node is tried first";
  }
}

/// There the others of its gang may be what is waited for.
TEST_F(ReviewsTest, OfAGangNoNodeWasTriedInVain) {
  for (const char* gang : {"g", ""}) {
    Grant& g = hasWritten(std::string{"p"} + gang);
    model::Pod pod = server.pods[g.pod.name];
    pod.gang = gang;
    for (int i = 0; i < Promises::kInVain; ++i) {
      reviews.noteIfInVain(g, pod);
      EXPECT_EQ(chooser.inVain(), 0U);
      g.promises.made({}, c.now.mono + i * Promises::kOneMoment);
    }
    reviews.noteIfInVain(g, pod);
    EXPECT_EQ(chooser.inVain(), pod.gang.empty() ? 1U : 0U);
  }
}

TEST_F(ReviewsTest, WhatNobodyAskedForIsTakenOffWhenItIsForgottenOrItsDisputeIsOver) {
  struct Row {
    const char* name;
    Duration passes;
    bool somebody_waits;
    bool is_disputed;
    bool goes;
  };
  for (const Row& row : {Row{"not-yet", kForgottenAfter - 1ns, false, false, false},
                         {"forgotten", kForgottenAfter, false, false, true},
                         {"asked-for", kForgottenAfter, true, false, false},
                         {"disputed", kFoundNoteStays - 1ns, false, true, false},
                         {"dispute-over", kFoundNoteStays, false, true, true}}) {
    Grant& g = hasWritten(row.name);
    if (row.is_disputed) { g.contested = c.now.mono + kFoundNoteStays; }
    if (row.somebody_waits) { g.callers.awaitDecision(waits(1, 1h)); }
    c.now.mono += row.passes;
    reviews.tick(g);
    EXPECT_EQ(g.write.isRemoving(), row.goes) << row.name;
    run();
    EXPECT_EQ(isThere(row.name), !row.goes) << row.name;
    if (isThere(row.name)) { writer.end(g.uid); }
  }
}

TEST_F(ReviewsTest, WhoWaitedForTooLongIsToldAndOthersWaitOn) {
  Grant& g = hasWritten("p");
  g.write.begin();
  g.write.sent(7);
  g.callers.awaitWrite(waits(1, 1s));
  g.callers.awaitWrite(waits(2, 4s));
  g.callers.awaitDecision(waits(3, 1s));
  c.now.mono += 1s;
  reviews.tick(g);
  const std::string text = "the annotations of pod default/p are not written yet; ask again";
  EXPECT_EQ(told(), (std::map<RequestId, std::string>{{1, text}, {3, text}}));
  EXPECT_TRUE(g.callers.awaitWrite());
  EXPECT_FALSE(g.callers.awaitDecision());
}

/// Nobody else looks at a pod that asks for no shares, though its caller said that it does.
TEST_F(ReviewsTest, ATickEndsTheGrantOfAPodThatIsBound) {
  Grant& g = hasWritten("p");
  isBound("p", "a");
  reviews.tick(g);
  EXPECT_FALSE(isThere("p"));
}

}  // namespace
}  // namespace gs::extender
