#include "extender/extender_hand_test.h"
#include "kapi/kinds.h"
#include "kapi/write.h"

namespace gs::extender {
namespace {

using namespace std::chrono_literals;
using model::VcudaLimits;

// The ancestor's own table: each pod is bound and runs before the next one comes.
TEST_F(ExtenderTest, TheAncestorsTableOfPlacements) {
  for (const char* name : {"testnode0", "testnode1", "testnode2"}) { addNode(gpuNode(name, 2)); }
  lead();
  const std::vector<std::string> nodes{"testnode0", "testnode1", "testnode2"};
  struct Row {
    const char* pod;
    std::vector<VcudaLimits> limits;
    const char* node;
    const char* first;
    const char* second;
  };
  for (const Row& row : {Row{"pod-0", {{10, 1}, {10, 1}}, "testnode0", "0", "0"},
                         Row{"pod-1", {{100, 3}, {80, 3}}, "testnode1", "0", "1"},
                         Row{"pod-2", {{200, 10}, {0, 0}}, "testnode2", "0,1", "-"},
                         Row{"pod-3", {{10, 2}, {0, 0}}, "testnode0", "0", "-"}}) {
    const Answer a = filter(create(row.pod, row.limits), nodes);
    ASSERT_EQ(a.kind, AnswerKind::Chosen) << row.pod;
    EXPECT_EQ(nodes[a.chosen], row.node) << row.pod;
    EXPECT_EQ(note(row.pod, kNode), row.node);
    EXPECT_EQ(note(row.pod, kIds0), row.first) << row.pod;
    EXPECT_EQ(note(row.pod, kIds1), row.second) << row.pod;
    EXPECT_EQ(note(row.pod, "tencent.com/gpu-assigned"), "false");
    bindTo(row.pod, row.node);
  }
}

TEST_F(ExtenderTest, APodThatAsksForNoGpuIsLeftAlone) {
  addNode(gpuNode("a", 1));
  lead();
  EXPECT_EQ(filter(create("p", {{0, 0}}), {"a"}).kind, AnswerKind::Untouched);
  EXPECT_EQ(server.writes, 0);
}

TEST_F(ExtenderTest, NowhereSaysHowEachNodeStands) {
  addNode(gpuNode("a", 1));
  addNode(gpuNode("cpu", 0));
  lead();
  const Answer a = filter(create("p", {{300, 0}}), {"a", "cpu", "unknown"});
  EXPECT_EQ(a.kind, AnswerKind::Nowhere);
  const auto& table = *extender.table();
  EXPECT_EQ((*a.standings)[table.find("a")].refused, sched::Reason::TooFewFree);
  EXPECT_EQ((*a.standings)[table.find("cpu")].refused, sched::Reason::NoGpu);
}

TEST_F(ExtenderTest, PartsOfSeveralGpusAreRefusedNamingTheField) {
  addNode(gpuNode("a", 2));
  lead();
  const Answer a = filter(create("p", {{150, 0}}), {"a"});
  EXPECT_EQ(a.kind, AnswerKind::Nowhere);
  EXPECT_NE(a.text.find("spec.containers[0].resources.limits[\"tencent.com/vcuda-core\"]=150"),
            std::string::npos)
      << a.text;
}

/// Each container costs a look at each device of each node.
TEST_F(ExtenderTest, APodOfVeryManyContainersIsRefusedNamingTheField) {
  addNode(gpuNode("a", 2, 400));
  lead();
  EXPECT_EQ(filter(create("p", std::vector<VcudaLimits>(64, {1, 1})), {"a"}).kind, AnswerKind::Chosen);
  const Answer a = filter(create("q", std::vector<VcudaLimits>(65, {1, 1})), {"a"});
  EXPECT_EQ(a.kind, AnswerKind::Nowhere);
  EXPECT_NE(a.text.find("spec.containers: 65"), std::string::npos) << a.text;
}

// ---- The same pod again

TEST_F(ExtenderTest, TheSameRequestGetsTheSameAnswerAndWritesOnce) {
  addNode(gpuNode("a", 1));
  addNode(gpuNode("b", 1));
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  const Answer first = filter(pod, {"a", "b"});
  const Answer again = filter(pod, {"b", "a"});
  EXPECT_EQ(first.chosen, 0U);
  EXPECT_EQ(again.chosen, 1U);
  EXPECT_EQ(server.writes, 1);
}

TEST_F(ExtenderTest, RequestsSideBySideWaitForOneWrite) {
  addNode(gpuNode("a", 1));
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  const RequestId one = ask(Verb::Filter, pod, {"a"});
  const RequestId two = ask(Verb::Filter, pod, {"a"});
  EXPECT_TRUE(answers.empty());
  run();
  EXPECT_EQ(got(one, {"a"}), "a");
  EXPECT_EQ(got(two, {"a"}), "a");
  EXPECT_EQ(server.writes, 1);
}

TEST_F(ExtenderTest, WithoutItsNodeAmongTheCandidatesItMovesAndLeavesNothingBehind) {
  addNode(gpuNode("a", 2));
  addNode(gpuNode("b", 2));
  lead();
  const model::Pod pod = create("p", {{50, 1}, {50, 1}});
  server.pods["p"].annotations["tencent.com/predicate-gpu-idx-7"] = "1";
  server.pods["p"].revision = ++server.revision;
  watchBrings("p");
  ASSERT_EQ(filter(pod, {"a"}).kind, AnswerKind::Chosen);
  EXPECT_EQ(note("p", "tencent.com/predicate-gpu-idx-7"), "-") << "left by another placement";
  ASSERT_EQ(filter(pod, {"b"}).kind, AnswerKind::Chosen);
  EXPECT_EQ(note("p", kNode), "b");
  EXPECT_EQ(freeMilli("a"), 2000);
  EXPECT_EQ(freeMilli("b"), 1000);
}

TEST_F(ExtenderTest, AMoveWaitsForTheWriteUnderWay) {
  addNode(gpuNode("a", 1));
  addNode(gpuNode("b", 1));
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  const RequestId one = ask(Verb::Filter, pod, {"a"});
  const RequestId two = ask(Verb::Filter, pod, {"b"});
  EXPECT_EQ(calls.size(), 1U);
  run();
  EXPECT_EQ(got(one, {"a"}), "a");
  EXPECT_EQ(got(two, {"b"}), "b");
  EXPECT_EQ(note("p", kNode), "b");
}

TEST_F(ExtenderTest, MovedToNowhereItGivesBackWhatItHad) {
  addNode(gpuNode("a", 1));
  addNode(gpuNode("b", 0));
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  ASSERT_EQ(filter(pod, {"a"}).kind, AnswerKind::Chosen);
  EXPECT_EQ(filter(pod, {"b"}).kind, AnswerKind::Nowhere);
  EXPECT_EQ(note("p", kNode), "-");
  EXPECT_EQ(freeMilli("a"), 1000);
}

// ---- What others see of it

TEST_F(ExtenderTest, WhatIsReservedIsNotGivenToAnother) {
  addNode(gpuNode("a", 1));
  lead();
  ASSERT_EQ(filter(create("p", {{100, 0}}), {"a"}).kind, AnswerKind::Chosen);
  EXPECT_EQ(filter(create("q", {{10, 1}}), {"a"}).kind, AnswerKind::Nowhere);
  bindTo("p", "a");
  EXPECT_EQ(filter(create("r", {{10, 1}}), {"a"}).kind, AnswerKind::Nowhere);
  watchRemoves(server.pods["p"]);
  EXPECT_EQ(filter(server.pods["q"], {"a"}).kind, AnswerKind::Chosen);
}

TEST_F(ExtenderTest, AnnotationsOfAnEarlierProcessAreKept) {
  addNode(gpuNode("a", 2));
  addNode(gpuNode("b", 1));
  server.add(vcudaPod("p", {{50, 1}}));
  server.pods["p"].annotations = {{kNode, "a"},
                                  {kIds0, "0"},
                                  {"tencent.com/predicate-time", "17"},
                                  {"tencent.com/gpu-assigned", "false"}};
  watchBrings("p");
  lead();
  EXPECT_EQ(freeMilli("a"), 1500);
  const std::vector<std::string> nodes{"b", "a"};
  EXPECT_EQ(nodes[filter(server.pods["p"], nodes).chosen], "a");
  EXPECT_EQ(note("p", kIds0), "0");
}

// Another pod may have had device 0 when they were written. gpu-manager fails a pod whose annotations name
// another device than it picks.
TEST_F(ExtenderTest, AnnotationsOfAnEarlierProcessThatNameAnotherDeviceThanGpuManagerPicksAreWrittenAnew) {
  addNode(gpuNode("a", 2));
  server.add(vcudaPod("p", {{50, 1}}));
  server.pods["p"].annotations = {{kNode, "a"}, {kIds0, "1"}, {"tencent.com/predicate-time", "17"}};
  watchBrings("p");
  lead();
  ASSERT_EQ(filter(server.pods["p"], {"a"}).kind, AnswerKind::Chosen);
  EXPECT_EQ(note("p", kIds0), "0");
}

TEST_F(ExtenderTest, AnnotationsOfAnEarlierProcessOfWholeGpusNameAnyOfThem) {
  addNode(gpuNode("a", 2));
  server.add(vcudaPod("p", {{100, 0}}));
  server.pods["p"].annotations = {{kNode, "a"}, {kIds0, "1"}, {"tencent.com/predicate-time", "17"}};
  watchBrings("p");
  lead();
  ASSERT_EQ(filter(server.pods["p"], {"a"}).kind, AnswerKind::Chosen);
  EXPECT_EQ(note("p", kIds0), "1");
}

TEST_F(ExtenderTest, AWriteThatAnEarlierProcessLeftUnderWayIsToNoEffect) {
  addNode(gpuNode("a", 1));
  addNode(gpuNode("b", 1));
  server.add(vcudaPod("p", {{50, 1}}));
  server.pods["p"].annotations = {{kNode, "a"}, {kIds0, "0"}};
  watchBrings("p");
  const kapi::Call late = kapi::annotatePod(server.pods["p"], {{kNode, "b"}}, {});
  lead();
  ASSERT_EQ(filter(server.pods["p"], {"a"}).kind, AnswerKind::Chosen);
  EXPECT_EQ(server.carryOut(late).http, 409);
}

TEST_F(ExtenderTest, AnnotationsThatCannotBeTrueAreReplaced) {
  addNode(gpuNode("a", 2));
  lead();
  for (const char* ids : {"7", "0,1", "x"}) {
    const std::string name = std::string{"p"} + ids;
    server.add(vcudaPod(name, {{50, 1}}));
    server.pods[name].annotations = {{kNode, "a"}, {kIds0, ids}};
    watchBrings(name);
    ASSERT_EQ(filter(server.pods[name], {"a"}).kind, AnswerKind::Chosen) << ids;
    EXPECT_EQ(note(name, kIds0), "0") << ids;
    watchRemoves(server.pods[name]);
  }
}

TEST_F(ExtenderTest, TheAgentsWordCountsOnceItHasAssigned) {
  addNode(gpuNode("a", 2));
  lead();
  ASSERT_EQ(filter(create("p", {{100, 0}}), {"a"}).kind, AnswerKind::Chosen);
  EXPECT_EQ(note("p", kIds0), "0");
  model::Pod& pod = server.pods["p"];
  pod.annotations[kIds0] = "1";
  pod.annotations["tencent.com/gpu-assigned"] = "true";
  bindTo("p", "a");
  EXPECT_EQ(sched::freeShares(*engine.ledger().find(model::NodeName{"a"}))[0].milli, 1000);
}

// ---- Volcano before 1.13: one node at a time, several at once

TEST_F(ExtenderTest, OfSeveralNodesAskedAtOnceOneIsGiven) {
  std::vector<std::string> nodes;
  for (int i = 0; i < 16; ++i) {
    nodes.push_back("n" + std::to_string(i));
    addNode(gpuNode(nodes.back(), 1));
  }
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  std::map<std::string, RequestId> request_ids;
  for (const auto& node : nodes) { request_ids[node] = ask(Verb::Predicate, pod, {node}); }
  run();
  EXPECT_EQ(got(request_ids["n0"], {"n0"}), "n0");
  for (int i = 1; i < 16; ++i) {
    EXPECT_EQ(got(request_ids[nodes[static_cast<std::size_t>(i)]], {""}),
              "(pod uid-p has already been matched to another node)");
  }
  EXPECT_EQ(server.writes, 1);
  pass(5s);
  const RequestId later = ask(Verb::Predicate, pod, {"n3"});
  run();
  EXPECT_EQ(got(later, {"n3"}), "n3") << "it was not bound in time";
}

TEST_F(ExtenderTest, LookingGivesNothing) {
  addNode(gpuNode("a", 1));
  lead();
  const model::Pod pod = create("p", {{100, 0}});
  const RequestId looked = ask(Verb::Look, pod, {"a"});
  run();
  EXPECT_EQ(got(looked, {"a"}), "a");
  EXPECT_EQ(server.writes, 0);
  const RequestId allocated = ask(Verb::Allocate, pod, {"a"});
  run();
  EXPECT_EQ(got(allocated, {"a"}), "a");
  EXPECT_EQ(note("p", kNode), "a");
  const RequestId again = ask(Verb::Look, pod, {"a"});
  run();
  EXPECT_EQ(got(again, {"a"}), "a") << "what it has there is not in its way";
  ask(Verb::Deallocate, pod, {});
  run();
  EXPECT_EQ(note("p", kNode), "-");
  EXPECT_EQ(extender.grants().written, 0U);
}

// ---- Bindings

TEST_F(ExtenderTest, BindsWithTheAnnotations) {
  addNode(gpuNode("a", 1));
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  const RequestId request_id = ask(Verb::Bind, pod, {"a"});
  run();
  EXPECT_EQ(answers[request_id].kind, AnswerKind::Done) << answers[request_id].text;
  EXPECT_EQ(server.pods["p"].node.text, "a");
  EXPECT_EQ(note("p", kIds0), "0");
}

TEST_F(ExtenderTest, APodThatIsBoundThereMeanwhileIsBound) {
  addNode(gpuNode("a", 1));
  lead();
  const RequestId request_id = ask(Verb::Bind, create("p", {{50, 1}}), {"a"});
  bindTo("p", "a");
  EXPECT_EQ(answers[request_id].kind, AnswerKind::Done);
}

TEST_F(ExtenderTest, ABindingThatIsAskedForAgainBeforeItIsSeenIsDone) {
  addNode(gpuNode("a", 1));
  addNode(gpuNode("b", 1));
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  (void)ask(Verb::Bind, pod, {"a"});
  run();
  const RequestId again = ask(Verb::Bind, pod, {"a"});
  runUntilAnswered(again);
  EXPECT_EQ(answers[again].kind, AnswerKind::Done) << answers[again].text;
  const RequestId elsewhere = ask(Verb::Bind, pod, {"b"});
  runUntilAnswered(elsewhere);
  EXPECT_EQ(answers[elsewhere].kind, AnswerKind::Failed);
}

TEST_F(ExtenderTest, ABindingOfAVersionThatHasChangedIsSentAgain) {
  addNode(gpuNode("a", 1));
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  ASSERT_EQ(filter(pod, {"a"}).kind, AnswerKind::Chosen);
  server.pods["p"].labels = {{"changed", "yes"}};
  server.pods["p"].revision = ++server.revision;
  const RequestId request_id = ask(Verb::Bind, pod, {"a"});
  runUntilAnswered(request_id);
  EXPECT_EQ(answers[request_id].kind, AnswerKind::Done) << answers[request_id].text;
  EXPECT_EQ(server.pods["p"].node.text, "a");
}

TEST_F(ExtenderTest, BindsWhatAsksForNoGpu) {
  addNode(gpuNode("a", 1));
  lead();
  const RequestId request_id = ask(Verb::Bind, create("p", {}), {"a"});
  run();
  EXPECT_EQ(answers[request_id].kind, AnswerKind::Done);
  EXPECT_EQ(server.pods["p"].node.text, "a");
}

// ---- Nodes that the caller knows better

TEST_F(ExtenderTest, ANodeThatIsNewerInTheBodyIsAskedForAndCounts) {
  addNode(gpuNode("a", 0));
  lead();
  Request q = request(Verb::Filter, create("p", {{50, 1}}), {"a", "new"});
  q.candidates.revisions = {5, 1};
  desk.ask(extender, ++last, q, now);
  settle();
  ASSERT_EQ(answers[last].kind, AnswerKind::SendObjects);
  EXPECT_EQ(answers[last].kept, (std::vector<std::size_t>{0, 1}));
  model::Node newer = gpuNode("a", 1);
  newer.revision = 5;
  q.candidates.objects = {{0, std::make_shared<const model::Node>(newer)},
                          {1, std::make_shared<const model::Node>(gpuNode("new", 0))}};
  desk.ask(extender, ++last, q, now);
  run();
  EXPECT_EQ(got(last, {"a", "new"}), "a");
}

TEST_F(ExtenderTest, OnlyObjectsThatTheBodyHasAreAskedFor) {
  addNode(gpuNode("a", 1));
  lead();
  Request q = request(Verb::Filter, create("p", {{50, 1}}), {"nobody", "a", "new"});
  q.candidates.revisions = {Candidates::kNoObject, Candidates::kNoObject, 1};
  desk.ask(extender, ++last, q, now);
  settle();
  ASSERT_EQ(answers[last].kind, AnswerKind::SendObjects);
  EXPECT_EQ(answers[last].kept, std::vector<std::size_t>{2});
}

/// Each costs the deciding thread a look of its own.
TEST_F(ExtenderTest, OfVeryManyNewerNodesWhatIsKnownCounts) {
  std::vector<std::string> nodes;
  for (int i = 0; i < 1'500; ++i) {
    nodes.push_back("n" + std::to_string(i));
    addNode(gpuNode(nodes.back(), 1));
  }
  lead();
  Request q = request(Verb::Filter, create("p", {{50, 1}}), nodes);
  q.candidates.revisions.assign(nodes.size(), 5);
  desk.ask(extender, ++last, q, now);
  settle();
  ASSERT_EQ(answers[last].kind, AnswerKind::SendObjects);
  EXPECT_EQ(answers[last].kept.size(), 1'000U);
  for (const std::size_t i : answers[last].kept) {
    model::Node newer = gpuNode(nodes[i], 0);
    newer.revision = 5;
    q.candidates.objects[i] = std::make_shared<const model::Node>(newer);
  }
  desk.ask(extender, ++last, q, now);
  run();
  EXPECT_EQ(got(last, nodes), "n1000") << "the first whose object it did not want";
}

TEST_F(ExtenderTest, NamesOfAnOlderTableAreLookedUpAgain) {
  addNode(gpuNode("a", 1));
  lead();
  const Request q = request(Verb::Filter, create("p", {{50, 1}}), {"a"});
  addNode(gpuNode("b", 1));
  desk.ask(extender, ++last, q, now);
  settle();
  EXPECT_EQ(answers[last].kind, AnswerKind::NewTable);
  EXPECT_EQ(answers[last].table->find("b"), 1U);
}

/// By then their number may mean another node.
TEST_F(ExtenderTest, WhoWaitedWhileANodeCameInAnothersPlaceIsGivenTheNewTable) {
  for (const char* name : {"a", "b", "c"}) { addNode(gpuNode(name, 1)); }
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  const RequestId first = ask(Verb::Filter, pod, {"a"});
  const kapi::Call write = sent();
  const RequestId waits = ask(Verb::Filter, pod, {"b", "c"});
  ASSERT_FALSE(answers.contains(waits));
  removeNode("b");
  addNode(gpuNode("d", 1));
  ASSERT_EQ(extender.table()->find("d"), 1U) << "where b was";
  give(server.carryOut(write));
  run();
  EXPECT_EQ(got(first, {"a"}), "a");
  ASSERT_EQ(answers[waits].kind, AnswerKind::NewTable);
  EXPECT_EQ(answers[waits].table, extender.table());
  EXPECT_EQ(note("p", kNode), "a");
}

TEST_F(ExtenderTest, APodOfANodeThatThereIsNotMakesNoOtherTable) {
  addNode(gpuNode("a", 1));
  lead();
  const NodeTablePtr before = extender.table();
  create("p", {{50, 1}});
  bindTo("p", "made-up");
  ASSERT_NE(engine.ledger().find(model::NodeName{"made-up"}), nullptr);
  EXPECT_EQ(extender.table(), before);
  addNode(gpuNode("made-up", 1));
  EXPECT_NE(extender.table(), before);
  EXPECT_NE(extender.table()->find("made-up"), NodeTable::kUnknown) << "it came after all";
}

// ---- Leadership

TEST_F(ExtenderTest, AStandbyAnswersThatItDoesNotDecide) {
  addNode(gpuNode("a", 1));
  EXPECT_EQ(filter(create("p", {{50, 1}}), {"a"}).kind, AnswerKind::Unavailable);
  lead();
  const RequestId waiting = ask(Verb::Filter, server.pods["p"], {"a"});
  extender.standBy("another replica leads");
  run();
  EXPECT_EQ(got(waiting, {}), "(another replica leads)");
  EXPECT_EQ(freeMilli("a"), 1000);
}

// ---- Strict

class StrictExtenderTest : public ExtenderTest {
 protected:
  StrictExtenderTest()
      : ExtenderTest{[] {
          Config c;
          c.strict = true;
          return c;
        }()} {}
};

TEST_F(StrictExtenderTest, APodWithCoresAndNoMemoryIsLeftAlone) {
  addNode(gpuNode("a", 1));
  lead();
  EXPECT_EQ(filter(create("p", {{99, 0}}), {"a"}).kind, AnswerKind::Untouched);
  EXPECT_EQ(server.writes, 0);
}

TEST_F(StrictExtenderTest, TwoContainersThatTogetherWantAGpuGetANodeAndNoDevice) {
  addNode(gpuNode("a", 1));
  lead();
  EXPECT_EQ(filter(create("p", {{60, 0}, {60, 0}}), {"a"}).kind, AnswerKind::Chosen);
  EXPECT_EQ(note("p", kNode), "a");
  EXPECT_EQ(note("p", kIds0), "-");
}

TEST_F(StrictExtenderTest, APodThatHasAnnotationsHadBeenPredicated) {
  addNode(gpuNode("a", 2));
  lead();
  ASSERT_EQ(filter(create("p", {{150, 0}}), {"a"}).kind, AnswerKind::Chosen) << "for one GPU";
  const Answer again = filter(server.pods["p"], {"a"});
  EXPECT_EQ(again.kind, AnswerKind::Failed);
  EXPECT_EQ(again.text, "pod p had been predicated!");
}

}  // namespace
}  // namespace gs::extender
