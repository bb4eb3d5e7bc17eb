// What an unbound pod says of itself, and this process did not write: what a new leader believes of it,
// and what becomes of the rest.
#include "base/cpu_time_test.h"
#include "extender/extender_hand_test.h"
#include "extender/grants/metrics.h"
#include "kapi/kinds.h"
#include "kapi/write.h"

namespace gs::extender {
namespace {

using namespace std::chrono_literals;

constexpr const char* kTime = "tencent.com/predicate-time";

class FoundNotesTest : public ExtenderTest {
 protected:
  FoundNotesTest() { addNode(gpuNode("a", 2)); }

  /// A pod whose annotations say that it has these devices of node a since `at`; the watch has brought it.
  model::Pod& found(const std::string& name, std::vector<model::VcudaLimits> limits, const std::string& ids,
                    Wall at) {
    model::Pod pod = vcudaPod(name, std::move(limits));
    pod.created = now.wall - 1h;
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count();
    pod.annotations = {{kNode, "a"}, {kIds0, ids}, {kTime, std::to_string(ns)}};
    server.add(pod);
    watchBrings(name);
    return server.pods[name];
  }
  void changed(const std::string& name) {
    server.pods[name].revision = ++server.revision;
    watchBrings(name);
  }
  /// Time passes in small steps, and calls are answered.
  void runFor(Duration time) {
    for (Duration t{}; t < time; t += 500ms) {
      pass(500ms);
      run();
    }
  }
  [[nodiscard]] bool hasNotes(const std::string& name) { return note(name, kNode) != "-"; }
};

// ---- Who cannot be under way

TEST_F(FoundNotesTest, GatedPodsHoldNothing) {
  for (int i = 0; i < 40; ++i) {
    found("forged" + std::to_string(i), {{100, 0}}, i % 2 == 0 ? "0" : "1", now.wall).scheduling_gates = {
        "wait"};
    changed("forged" + std::to_string(i));
  }
  lead();
  EXPECT_EQ(freeMilli("a"), 2000);
  EXPECT_EQ(filter(create("honest", {{200, 0}}), {"a"}).kind, AnswerKind::Chosen);
}

TEST_F(FoundNotesTest, WhatTurnsUpWhileWeLeadIsNobodysPromise) {
  lead();
  for (int i = 0; i < 40; ++i) {
    found("forged" + std::to_string(i), {{100, 0}}, i % 2 == 0 ? "0" : "1", now.wall);
  }
  EXPECT_EQ(freeMilli("a"), 2000);
  EXPECT_EQ(filter(create("honest", {{200, 0}}), {"a"}).kind, AnswerKind::Chosen);
}

TEST_F(FoundNotesTest, NotWhoIsBeingDeletedNorSaysThatItHasItAlready) {
  found("leaves", {{50, 1}}, "0", now.wall).deleting = true;
  changed("leaves");
  found("assigned", {{50, 1}}, "0", now.wall).annotations["tencent.com/gpu-assigned"] = "true";
  changed("assigned");
  lead();
  EXPECT_EQ(freeMilli("a"), 2000);
}

/// A predecessor's clock may have been wrong, or this one's may be: what it promised was promised.
TEST_F(FoundNotesTest, WhateverTimeTheySay) {
  found("before-it-was-made", {{50, 1}}, "0", now.wall - 48h);
  found("in-the-future", {{50, 1}}, "1", now.wall + 48h);
  lead();
  EXPECT_EQ(freeMilli("a"), 1000);
  addNode(gpuNode("b", 1));
  ASSERT_EQ(filter(create("next", {{30, 1}}), {"b"}).kind, AnswerKind::Chosen);
  EXPECT_GT(std::stoull(note("next", kTime)), std::stoull(note("in-the-future", kTime)))
      << "kubelets serve pods in this order";
}

TEST_F(FoundNotesTest, NotDevicesThatAreNotThereOrGivenByOthers) {
  found("too-high", {{50, 1}}, "2", now.wall);
  found("two-of-one", {{50, 1}}, "0,1", now.wall);
  model::Node hami = gpuNode("b", 2);
  hami.labels["gpu.scheduling/enforcer"] = "hami";
  addNode(hami);
  found("on-b", {{50, 1}}, "0", now.wall).annotations[kNode] = "b";
  changed("on-b");
  found("nowhere", {{50, 1}}, "0", now.wall).annotations[kNode] = "gone";
  changed("nowhere");
  lead();
  EXPECT_EQ(freeMilli("a"), 2000);
  EXPECT_EQ(freeMilli("b"), 2000);
}

TEST_F(FoundNotesTest, NotBeyondTheQuotaOfTheNamespace) {
  model::QuotaConfig quota;
  quota.map = {"kube-system", "gpuquota"};
  quota.labels = {"model", "pool"};
  engine.configureQuota(quota);
  model::Node node = gpuNode("a", 2);
  node.labels["model"] = "V100";
  node.revision = 2;
  addNode(node);
  found("p", {{100, 0}}, "0", now.wall);
  lead();
  EXPECT_EQ(freeMilli("a"), 1000) << "what a predecessor promised counts before the quotas are read";
  const model::Quotas quotas{{"default", {{{"V100", 0}}, {}}}};
  engine.apply({kapi::kQuotaMap,
                quota.map,
                {},
                std::make_shared<const model::QuotaMap>(model::QuotaMap{quota.map, {}, 1, quotas, {}}),
                ++server.revision},
               now.mono);
  run();
  EXPECT_EQ(freeMilli("a"), 2000);
  EXPECT_FALSE(hasNotes("p"));
}

/// However long their annotations are: a leader that takes too long to begin leads no more.
TEST_F(FoundNotesTest, OnlyWhatIsSaidOfTheirContainersIsRead) {
  addNode(gpuNode("a", 500));
  model::Annotations long_ones;
  for (int i = 100; i < 2'100; ++i) { long_ones["tencent.com/predicate-gpu-idx-" + std::to_string(i)] = "0"; }
  for (int i = 0; i < 100; ++i) {
    const std::string name = "p" + std::to_string(i);
    found(name, {{1, 1}}, std::to_string(i), now.wall - 1min * i)
        .annotations.merge(model::Annotations{long_ones});
    changed(name);
  }
  const double once = cpuSecondsOf([&] {
    for (const auto& [name, pod] : server.pods) { (void)model::readVcudaNote(pod.annotations); }
  });
  const double began = cpuSeconds();
  lead();
  EXPECT_LT(cpuSeconds() - began, once);
  EXPECT_EQ(extender.grants().written, 100U);
}

// ---- Who may be

TEST_F(FoundNotesTest, BoundPodsComeFirst) {
  create("runs", {{60, 1}});
  server.pods["runs"].annotations = {{kNode, "a"}, {kIds0, "0"}, {kTime, "5"}};
  bindTo("runs", "a");
  found("forged", {{60, 1}}, "0", now.wall - 30min);
  lead();
  EXPECT_EQ(freeMilli("a"), 1400);
  EXPECT_EQ(filter(server.pods["forged"], {"a"}).kind, AnswerKind::Chosen);
  EXPECT_EQ(note("forged", kIds0), "1") << "decided anew";
}

TEST_F(FoundNotesTest, OfTwoThatCannotBothBeTrueBothCountForAMomentAndNeitherIsBelieved) {
  addNode(gpuNode("a", 3));
  found("forged", {{100, 0}}, "0", now.wall - 30min);  // says that it was there first
  found("promised", {{100, 0}}, "0", now.wall - 1s);
  lead();
  EXPECT_EQ(filter(create("third", {{100, 0}}), {"a"}).kind, AnswerKind::Chosen);
  EXPECT_EQ(note("third", kIds0), "1");
  bindTo("promised", "a");  // its Binding was under way
  runFor(11s);
  EXPECT_FALSE(hasNotes("forged"));
  EXPECT_TRUE(hasNotes("promised"));
  EXPECT_EQ(freeMilli("a"), 1000);
  EXPECT_TRUE(extender.takeNotes().empty()) << "nobody was late";
}

TEST_F(FoundNotesTest, WhoSaysThatItHasWhatAnotherSaysToHaveIsNotToldThatItHasIt) {
  addNode(gpuNode("a", 3));
  found("forged", {{100, 0}}, "0", now.wall - 30min);
  found("promised", {{100, 0}}, "0", now.wall - 1s);
  lead();
  EXPECT_EQ(filter(server.pods["forged"], {"a"}).kind, AnswerKind::Chosen);
  EXPECT_EQ(note("forged", kIds0), "1") << "it was decided anew";
  bindTo("promised", "a");
  EXPECT_EQ(freeMilli("a"), 1000);
}

TEST_F(FoundNotesTest, HoweverManyNameADeviceItIsFreeSoon) {
  for (int i = 0; i < 40; ++i) {
    found("forged" + std::to_string(i), {{100, 0}}, i % 2 == 0 ? "0" : "1", now.wall - 1min);
  }
  lead();
  EXPECT_EQ(filter(create("honest", {{100, 0}}), {"a"}).kind, AnswerKind::Nowhere);
  runFor(15s);
  EXPECT_EQ(freeMilli("a"), 2000);
  EXPECT_EQ(filter(server.pods["honest"], {"a"}).kind, AnswerKind::Chosen);
}

TEST_F(FoundNotesTest, WhatAPredecessorPromisedStands) {
  found("p", {{60, 1}}, "1", now.wall - 1s);
  found("q", {{40, 1}}, "1", now.wall - 500ms);
  lead();
  EXPECT_EQ(freeMilli("a"), 1000);
  EXPECT_EQ(filter(server.pods["p"], {"a"}).kind, AnswerKind::Chosen);
  EXPECT_EQ(note("p", kIds0), "1");
  bindTo("q", "a");
  EXPECT_EQ(freeMilli("a"), 1000);
  EXPECT_EQ(counted[kLateForeignBinds], 0);
}

/// It gives whole GPUs as it likes: how many are left is what counts.
TEST_F(FoundNotesTest, AWholeGpuIsPromisedStillWhenGpuManagerGaveTheNamedOneToAnother) {
  addNode(gpuNode("a", 3));
  create("runs", {{100, 0}});
  server.pods["runs"].annotations = {
      {kNode, "a"}, {kIds0, "0"}, {kTime, "5"}, {"tencent.com/gpu-assigned", "true"}};
  bindTo("runs", "a");
  found("overtaken", {{100, 0}}, "0", now.wall - 10s);
  found("named", {{100, 0}}, "1", now.wall - 1s);
  found("one-too-many", {{100, 0}}, "0", now.wall);
  lead();
  EXPECT_EQ(freeMilli("a"), 0);
  EXPECT_EQ(filter(create("share", {{50, 1}}), {"a"}).kind, AnswerKind::Nowhere);
  run();
  EXPECT_EQ(note("overtaken", kIds0), "2") << "who leads next is to know";
  bindTo("overtaken", "a");
  bindTo("named", "a");
  runFor(11s);
  EXPECT_FALSE(hasNotes("one-too-many"));
}

/// Two promises, one GPU: which one is true nobody can say, whatever GPU they name.
TEST_F(FoundNotesTest, WholeGpusThatTooManyArePromisedAreConfirmedToNobody) {
  addNode(gpuNode("a", 2));
  create("runs", {{100, 0}});
  server.pods["runs"].annotations = {
      {kNode, "a"}, {kIds0, "0"}, {kTime, "5"}, {"tencent.com/gpu-assigned", "true"}};
  bindTo("runs", "a");
  found("promised", {{100, 0}}, "0", now.wall - 10s);
  found("forged", {{100, 0}}, "1", now.wall);
  lead();
  EXPECT_NE(filter(server.pods["forged"], {"a"}).kind, AnswerKind::Chosen);
}

TEST_F(FoundNotesTest, APromiseThatCannotMoveKeepsItsAnnotationsForAWhileTooWhateverItsPodIsTold) {
  addNode(gpuNode("a", 4));
  create("runs", {{200, 0}});
  server.pods["runs"].annotations = {
      {kNode, "a"}, {kIds0, "0,1"}, {kTime, "5"}, {"tencent.com/gpu-assigned", "true"}};
  bindTo("runs", "a");
  found("overtaken", {{200, 0}}, "0,1", now.wall - 10s);
  found("named", {{100, 0}}, "3", now.wall - 1s);
  lead();
  server.pods["overtaken"].labels = {{"touched", "yes"}};
  server.pods["overtaken"].revision = ++server.revision;
  watchBrings("overtaken");
  run();
  EXPECT_TRUE(hasNotes("overtaken")) << "its Binding may be on its way";
}

// ---- What becomes of the others' annotations

TEST_F(FoundNotesTest, TheyAreTakenOffAfterAWhile) {
  lead();
  found("p", {{50, 1}}, "0", now.wall);
  pass(9s);
  EXPECT_TRUE(calls.empty()) << "a pod that somebody else is about to bind is left alone";
  runFor(2s);
  EXPECT_FALSE(hasNotes("p"));
  EXPECT_EQ(extender.grants().removing, 0U);
  EXPECT_EQ(extender.grants().timers, 0U);
}

TEST_F(FoundNotesTest, APodThatIsBoundWithThemIsNotCalledLate) {
  lead();
  found("p", {{50, 1}}, "0", now.wall);
  bindTo("p", "a");
  runFor(15s);
  EXPECT_EQ(counted[kLateForeignBinds], 0);
  EXPECT_EQ(freeMilli("a"), 1500);
  EXPECT_TRUE(hasNotes("p"));
}

TEST_F(FoundNotesTest, ARequestDoesNotWaitForTheirRemoval) {
  lead();
  found("p", {{50, 1}}, "1", now.wall);
  EXPECT_EQ(filter(server.pods["p"], {"a"}).kind, AnswerKind::Chosen);
  EXPECT_EQ(note("p", kIds0), "0");
}

TEST_F(FoundNotesTest, WhereTheyCannotBeTakenOffOthersAreAnsweredAllTheSame) {
  lead();
  for (int i = 0; i < 300; ++i) { found("forged" + std::to_string(i), {{50, 1}}, "0", now.wall); }
  pass(10s);
  EXPECT_LE(calls.size(), 4U) << "of one namespace so many at a time, whatever becomes of them";
  calls.clear();  // they hang
  EXPECT_EQ(filter(create("honest", {{50, 1}}), {"a"}).kind, AnswerKind::Chosen);
}

TEST_F(FoundNotesTest, WhoWritesThemAgainAndAgainIsAnsweredSlowly) {
  lead();
  found("p", {{50, 1}}, "0", now.wall);
  const int before = server.writes;
  for (int i = 0; i < 600; ++i) {
    pass(500ms);
    run();
    server.pods["p"].annotations[kNode] = "a";
    changed("p");
    run();
  }
  EXPECT_GT(server.writes - before, 2);
  EXPECT_LE(server.writes - before, 30) << "in five minutes";
}

// ---- Pods of the scheduler in the same process

class OwnSchedulersTest : public ExtenderTest {
 protected:
  OwnSchedulersTest()
      : ExtenderTest{[] {
          Config c;
          c.own_scheduler = "gpu-scheduler";
          return c;
        }()} {
    addNode(gpuNode("a", 1));
  }
  model::Pod createOwn(const std::string& name) {
    model::Pod pod = vcudaPod(name, {{50, 1}});
    pod.scheduler_name = "gpu-scheduler";
    server.add(pod);
    watchBrings(name);
    return server.pods[name];
  }
  /// The same uid, said to be another scheduler's, and newer than all that is known.
  static model::Pod forgedFrom(model::Pod pod) {
    pod.scheduler_name = "volcano";
    pod.share_limits = {{100, 0}};
    pod.revision = 1'000'000;
    return pod;
  }
};

TEST_F(OwnSchedulersTest, AreNotGivenShares) {
  lead();
  const model::Pod pod = createOwn("p");
  for (const model::Pod& asked : {pod, forgedFrom(pod)}) {
    for (const Verb verb : {Verb::Filter, Verb::Predicate, Verb::Look, Verb::Allocate, Verb::Bind}) {
      const RequestId request_id = ask(verb, asked, {"a"});
      run();
      EXPECT_EQ(answers[request_id].kind, AnswerKind::Failed);
      EXPECT_EQ(answers[request_id].text, "pod default/p is scheduled by gpu-scheduler");
    }
  }
  EXPECT_EQ(freeMilli("a"), 1000);
  EXPECT_EQ(server.writes, 0);
  EXPECT_FALSE(server.pods["p"].bound());
}

TEST_F(OwnSchedulersTest, NorWhereTheRequestCameBeforeThePod) {
  lead();
  model::Pod pod = vcudaPod("p", {{50, 1}});
  pod.scheduler_name = "gpu-scheduler";
  server.add(pod);
  const RequestId request_id = ask(Verb::Filter, forgedFrom(server.pods["p"]), {"a"});
  watchBrings("p");
  EXPECT_EQ(answers[request_id].text, "pod default/p is scheduled by gpu-scheduler");
  EXPECT_EQ(freeMilli("a"), 1000);
  EXPECT_EQ(extender.grants().timers, 0U);
}

TEST_F(OwnSchedulersTest, NorByTheirAnnotations) {
  createOwn("p");
  server.pods["p"].annotations = {{kNode, "a"}, {kIds0, "0"}, {kTime, "5"}};
  server.pods["p"].revision = ++server.revision;
  watchBrings("p");
  lead();
  EXPECT_EQ(freeMilli("a"), 1000);
  pass(30s);
  run();
  EXPECT_EQ(server.writes, 0) << "the scheduler's writes alone";
}

TEST_F(ExtenderTest, ARequestThatSaysOtherThanThePodIsOfNoEffect) {
  addNode(gpuNode("a", 2));
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  model::Pod forged = pod;
  forged.share_limits = {{200, 0}};
  forged.revision = 1'000'000;
  EXPECT_EQ(filter(forged, {"a"}).kind, AnswerKind::Chosen);
  EXPECT_EQ(note("p", kIds0), "0");
  EXPECT_EQ(freeMilli("a"), 1500) << "what the pod asks for";
}

/// It is not: what is known of it counts, and nobody's time stands still.
TEST_F(ExtenderTest, ARequestThatSaysThatAnUnboundPodIsBoundIsOfNoEffect) {
  addNode(gpuNode("a", 2));
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  model::Pod forged = pod;
  forged.share_limits = {{200, 0}};
  forged.node = model::NodeName{"a"};
  forged.revision = 1'000'000;
  const RequestId request_id = ask(Verb::Filter, forged, {"a"});
  run();
  EXPECT_EQ(got(request_id, {"a"}), "a");
  EXPECT_EQ(note("p", kNode), "a");
  EXPECT_GT(extender.nextDue(), now.mono) << "somebody is looked at again and again, and nobody else is";
}

TEST_F(ExtenderTest, APodThatIsReadAndAsksForOtherThanItsRequestGetsNothingByIt) {
  addNode(gpuNode("a", 2));
  lead();
  const model::Pod& pod = server.add(vcudaPod("p", {{50, 1}}));
  model::Pod forged = pod;
  forged.share_limits = {{200, 0}};
  forged.revision = 1'000'000;
  const RequestId request_id = ask(Verb::Filter, forged, {"a"});
  EXPECT_EQ(freeMilli("a"), 0);
  watchBrings("p");
  run();
  pass(2s);
  run();
  EXPECT_EQ(answers[request_id].kind, AnswerKind::Failed);
  EXPECT_EQ(freeMilli("a"), 2000);
  EXPECT_EQ(note("p", kNode), "-");
}

}  // namespace
}  // namespace gs::extender
