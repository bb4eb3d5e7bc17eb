#include "extender/extender_hand_test.h"
#include "extender/grants/metrics.h"

namespace gs::extender {
namespace {

using namespace std::chrono_literals;
using kapi::CallResult;

// ---- Writes that fail

/// Nothing was written yet, so there is nothing to take off.
TEST_F(ExtenderTest, WhoGivesBackWhatWasNeverWrittenTakesNoOthersAnnotations) {
  addNode(gpuNode("a", 1));
  lead();
  create("p", {{50, 1}});
  server.pods["p"].annotations["example.com/of-its-user"] = "stays";
  server.pods["p"].revision = ++server.revision;
  watchBrings("p");
  ask(Verb::Filter, server.pods["p"], {"a"});
  kapi::Outcome busy;
  busy.token = sent().token;
  busy.result = CallResult::Refused;
  busy.http = 429;
  give(busy);
  ask(Verb::Deallocate, server.pods["p"], {});
  pass(1s);
  run();
  EXPECT_EQ(note("p", "example.com/of-its-user"), "stays");
  EXPECT_EQ(freeMilli("a"), 1000);
}

/// A uid is known by whoever made it; its name is what the request says.
TEST_F(ExtenderTest, APodIsNotGoneBecauseARequestCallsItOtherwise) {
  for (const bool seen : {false, true}) {
    const std::string name = seen ? "p" : "q";
    addNode(gpuNode(name, 1));
    lead();
    const model::Pod& pod = server.add(vcudaPod(name, {{50, 1}}));
    model::Pod forged = pod;
    forged.key.name = "nobody";
    forged.revision = 1'000'000;
    ask(Verb::Filter, forged, {name});
    if (seen) { watchBrings(name); }
    for (int i = 0; i < 10; ++i) {
      run();
      pass(500ms);
    }
    server.pods[name].annotations = {{kNode, name}, {kIds0, "0"}};
    bindTo(name, name);
    EXPECT_EQ(freeMilli(name), 500) << seen;
  }
}

/// Nobody reviews a pod that asks for no GPU, and nothing is written of one that is bound.
TEST_F(ExtenderTest, APodWithoutGpusThatIsBoundKeepsNobodyFromTheirTurns) {
  addNode(gpuNode("a", 2));
  lead();
  model::Pod forged = server.add(vcudaPod("p", {}));
  forged.share_limits = {{100, 0}};
  ask(Verb::Filter, forged, {"a"});
  kapi::Outcome busy;
  busy.token = sent().token;
  busy.result = CallResult::Refused;
  busy.http = 429;
  give(busy);
  bindTo("p", "a");
  pass(1s);
  EXPECT_EQ(extender.grants().timers, 0U);
  EXPECT_EQ(freeMilli("a"), 2000);
}

TEST_F(ExtenderTest, APodThatTurnsOutToAskForNoGpuGetsNone) {
  addNode(gpuNode("a", 1));
  lead();
  model::Pod forged = server.add(vcudaPod("p", {}));
  forged.share_limits = {{50, 1}};
  const RequestId request_id = ask(Verb::Filter, forged, {"a"});
  watchBrings("p");
  for (int i = 0; i < 10; ++i) {
    run();
    pass(500ms);
  }
  EXPECT_EQ(answers[request_id].kind, AnswerKind::Failed);
  EXPECT_EQ(freeMilli("a"), 1000);
  EXPECT_EQ(note("p", kNode), "-");
  EXPECT_EQ(extender.grants().timers, 0U);
}

TEST_F(ExtenderTest, AWriteOnAnOlderVersionIsMadeAgainOnTheNewOne) {
  addNode(gpuNode("a", 1));
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  server.pods["p"].revision = ++server.revision;  // a condition was written, say
  EXPECT_EQ(filter(pod, {"a"}).kind, AnswerKind::Chosen);
  EXPECT_EQ(note("p", kNode), "a");
}

/// No API server answers so: it was told the uid. What is sent again at once would be sent for ever.
TEST_F(ExtenderTest, AnAnswerThatShowsAnotherPodLeadsToNoWriteAtOnce) {
  for (const bool removal : {false, true}) {
    const std::string name = removal ? "q" : "p";
    addNode(gpuNode(name, 1));
    lead();
    const model::Pod pod = create(name, {{50, 1}});
    const RequestId request_id = ask(Verb::Filter, pod, {name});
    if (removal) {
      run();
      ask(Verb::Deallocate, pod, {});
    }
    kapi::Outcome odd = server.carryOut(sent());
    model::Pod another = server.pods[name];
    another.uid = model::Uid{"another-" + name};
    odd.object = std::make_shared<const model::Pod>(another);
    give(odd);
    EXPECT_TRUE(calls.empty()) << removal;
    pass(1s);
    ASSERT_EQ(calls.size(), 1U) << removal;
    EXPECT_EQ(calls.front().verb, kapi::Verb::Get) << "what there is decides";
    run();
    EXPECT_EQ(got(request_id, {name}), name);
    EXPECT_EQ(note(name, kNode), removal ? "-" : name);
  }
}

TEST_F(ExtenderTest, APodThatIsGoneGetsNothing) {
  addNode(gpuNode("a", 1));
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  server.pods.erase("p");
  EXPECT_EQ(filter(pod, {"a"}).kind, AnswerKind::Failed);
  EXPECT_EQ(freeMilli("a"), 1000);
}

TEST_F(ExtenderTest, APodThatNobodyHasHoldsNothing) {
  addNode(gpuNode("a", 1));
  lead();
  model::Pod forged = vcudaPod("forged", {{100, 0}});
  forged.revision = 7;
  EXPECT_EQ(filter(forged, {"a"}).kind, AnswerKind::Failed);
  EXPECT_EQ(freeMilli("a"), 1000);
}

TEST_F(ExtenderTest, AWriteWithoutAnAnswerIsReadBackBeforeAnybodyIsAnswered) {
  for (const bool applied : {false, true}) {
    const std::string name = applied ? "q" : "p";
    addNode(gpuNode(name, 1));
    lead();
    const RequestId request_id = ask(Verb::Filter, create(name, {{50, 1}}), {name});
    const kapi::Call write = sent();
    if (applied) { (void)server.carryOut(write); }
    kapi::Outcome lost;
    lost.token = write.token;
    lost.result = CallResult::Unknown;
    give(lost);
    EXPECT_EQ(got(request_id, {name}), "");
    pass(1s);
    run();
    EXPECT_EQ(got(request_id, {name}), name) << applied;
    EXPECT_EQ(note(name, kNode), name);
  }
}

TEST_F(ExtenderTest, WhoWaitsForANodeIsNotToldItWhenThePodMovesBeforeItIsWritten) {
  addNode(gpuNode("a", 1));
  addNode(gpuNode("b", 1));
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  const RequestId first = ask(Verb::Filter, pod, {"a"});
  kapi::Outcome busy;
  busy.token = sent().token;
  busy.result = CallResult::Refused;
  busy.http = 429;
  give(busy);  // it is tried again in a while; meanwhile:
  const RequestId second = ask(Verb::Filter, pod, {"b"});
  pass(1s);
  run();
  EXPECT_EQ(got(second, {"b"}), "b");
  EXPECT_EQ(note("p", kNode), "b");
  EXPECT_EQ(answers[first].kind, AnswerKind::Failed) << got(first, {"a"});
}

TEST_F(ExtenderTest, AWriteThatLandsLateChangesNothingAnyMore) {
  addNode(gpuNode("a", 1));
  addNode(gpuNode("b", 1));
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  ask(Verb::Filter, pod, {"a"});
  const kapi::Call late = sent();
  kapi::Outcome lost;
  lost.token = late.token;
  lost.result = CallResult::Unknown;
  give(lost);
  pass(1s);
  EXPECT_EQ(filter(pod, {"b"}).kind, AnswerKind::Chosen);
  EXPECT_EQ(note("p", kNode), "b");
  EXPECT_EQ(server.carryOut(late).http, 409);
  EXPECT_EQ(note("p", kNode), "b");
}

TEST_F(ExtenderTest, WithoutTheRightToPatchItSaysSoAndKeepsNothing) {
  addNode(gpuNode("a", 1));
  lead();
  const RequestId request_id = ask(Verb::Filter, create("p", {{50, 1}}), {"a"});
  kapi::Outcome forbidden;
  forbidden.token = sent().token;
  forbidden.result = CallResult::Refused;
  forbidden.http = 403;
  forbidden.message = "pods/status is forbidden";
  give(forbidden);
  EXPECT_NE(got(request_id, {"a"}).find("needs patch on pods/status"), std::string::npos)
      << got(request_id, {"a"});
  EXPECT_EQ(freeMilli("a"), 1000);
}

/// A kube-scheduler asks about one pod after the other: while it waits, nobody of any namespace is placed.
TEST_F(ExtenderTest, NobodyWaitsForANamespaceInWhichNoWriteGoesThrough) {
  addNode(gpuNode("a", 32));
  lead();
  const auto createIn = [&](const char* ns, const std::string& name) {
    model::Pod pod = vcudaPod(name, {{100, 0}});
    pod.key.ns = ns;
    server.add(pod);
    watchBrings(name);
    return server.pods[name];
  };
  const auto writesFail = [&] {  // its webhook is down
    while (!calls.empty()) {
      kapi::Outcome outcome;
      if (kapi::isRead(calls.front().verb)) {
        outcome = server.carryOut(calls.front());
      } else {
        outcome.token = calls.front().token;
        outcome.http = 500;
        outcome.message = "failed calling webhook";
      }
      calls.pop_front();
      give(outcome);
    }
  };
  Duration waited{};
  for (int i = 0; i < 20; ++i) {
    const RequestId request_id = ask(Verb::Filter, createIn("bad", "bad-" + std::to_string(i)), {"a"});
    for (; !answers.contains(request_id); waited += 100ms) {
      writesFail();
      pass(100ms);
    }
    EXPECT_EQ(answers[request_id].kind, AnswerKind::Failed);
  }
  EXPECT_LE(waited, 8s);
  EXPECT_NE(answers[last].text.find("failed calling webhook"), std::string::npos) << answers[last].text;
  EXPECT_LE(calls.size(), 4U) << "nor do their writes take others' connections";
  writesFail();
  EXPECT_EQ(filter(createIn("good", "good"), {"a"}).kind, AnswerKind::Chosen);
  pass(10s);
  run();  // the webhook is there again
  const RequestId again = ask(Verb::Filter, server.pods["bad-19"], {"a"});
  run();
  EXPECT_EQ(got(again, {"a"}), "a");
}

TEST_F(ExtenderTest, ASchedulerIsAnsweredBeforeItGivesUp) {
  addNode(gpuNode("a", 1));
  lead();
  const RequestId request_id = ask(Verb::Filter, create("p", {{50, 1}}), {"a"});
  const kapi::Call slow = sent();
  EXPECT_EQ(extender.nextDue(), now.mono + 4s);
  pass(4s);
  EXPECT_EQ(answers[request_id].kind, AnswerKind::Failed);
  EXPECT_NE(answers[request_id].text.find("not written yet"), std::string::npos);
  give(server.carryOut(slow));
  const RequestId again = ask(Verb::Filter, server.pods["p"], {"a"});
  EXPECT_EQ(got(again, {"a"}), "a") << "and finds it done";
}

TEST_F(ExtenderTest, AfterAWriteThatIsKnownToHaveLandedNothingIsFenced) {
  addNode(gpuNode("a", 1));
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  ask(Verb::Filter, pod, {"a"});
  kapi::Outcome lost;
  lost.token = sent().token;
  lost.result = CallResult::Unknown;
  give(lost);
  pass(1s);
  run();
  ASSERT_EQ(note("p", kNode), "a") << "the second one";
  ask(Verb::Deallocate, pod, {});
  run();
  EXPECT_EQ(note("p", kNode), "-");
  EXPECT_EQ(note("p", model::kFenceKey), "-");
}

/// A write of a reservation is lost on its way, and the reservation given back.
class ALostWrite : public ExtenderTest {
 protected:
  void loseOne() {
    addNode(gpuNode("a", 1));
    lead();
    const model::Pod pod = create("p", {{100, 0}});
    ask(Verb::Filter, pod, {"a"});
    late = sent();
    kapi::Outcome lost;
    lost.token = late.token;
    lost.result = CallResult::Unknown;
    give(lost);
    ask(Verb::Deallocate, pod, {});
  }
  kapi::Call late;
};

/// It is applied long after everybody has given it up; by then nothing would say that the pod has those
/// devices.
TEST_F(ALostWrite, CannotLandAfterItsReservationEnded) {
  loseOne();
  runUntilAnswered(last + 1);  // nobody's: for as long as it takes
  ASSERT_EQ(extender.grants().removing, 0U);
  ASSERT_EQ(freeMilli("a"), 1000);
  EXPECT_EQ(server.carryOut(late).http, 409) << "the pod had nothing to be taken off, and yet it changed";
  EXPECT_EQ(note("p", kNode), "-");
}

TEST_F(ALostWrite, NorWhenItLandsAsItsReservationEnds) {
  loseOne();
  (void)server.carryOut(late);
  runUntilAnswered(last + 1);
  EXPECT_EQ(note("p", kNode), "-");
  EXPECT_EQ(freeMilli("a"), 1000);
}

// ---- The end of a reservation

TEST_F(ExtenderTest, WhatItsSchedulerSaidBeforeItWasGivenANodeDoesNotEndIt) {
  addNode(gpuNode("a", 1));
  lead();
  create("p", {{50, 1}});
  isGivenUp("p");  // some earlier session of it
  ASSERT_EQ(filter(server.pods["p"], {"a"}).kind, AnswerKind::Chosen);
  watchBrings("p");
  pass(30s);
  run();
  EXPECT_EQ(note("p", kNode), "a");
  EXPECT_EQ(freeMilli("a"), 500);
}

/// For pods that nobody knows, in a namespace whose pods may not be read, or not any more be written.
class AForbiddenEnd : public ExtenderTest {
 protected:
  AForbiddenEnd() {
    addNode(gpuNode("a", 1));
    lead();
  }
  void give(const kapi::Call& call, int http, const char* reason = "") {
    kapi::Outcome refused;
    refused.token = call.token;
    refused.result = CallResult::Refused;
    refused.http = http;
    refused.reason = reason;
    ExtenderTest::give(refused);
  }
  /// Somebody asks about a pod that no watch shows, and its write gets no answer.
  model::Pod isUnknownAndLost() {
    model::Pod unknown = vcudaPod("p", {{50, 1}});
    unknown.revision = 7;
    ask(Verb::Filter, unknown, {"a"});
    kapi::Outcome lost;
    lost.token = sent().token;
    lost.result = CallResult::Unknown;
    ExtenderTest::give(lost);
    return unknown;
  }
  void isForbiddenFor(Duration how_long) {
    for (Duration t{}; t < how_long; t += 1s) {
      while (!calls.empty()) {
        const kapi::Call call = calls.front();
        calls.pop_front();
        give(call, 403);
      }
      pass(1s);
    }
  }
  [[nodiscard]] std::size_t known() const {
    const auto sizes = extender.grants();
    return sizes.writing + sizes.written + sizes.removing;
  }
};

TEST_F(AForbiddenEnd, OfAPodThatNobodyKnowsComesWhenNobodyAsksForItAnyMore) {
  isUnknownAndLost();
  isForbiddenFor(14min);
  EXPECT_EQ(known(), 1U) << "it may be that the watch is late";
  isForbiddenFor(6min);
  EXPECT_EQ(freeMilli("a"), 1000);
  EXPECT_EQ(known(), 0U);
  EXPECT_EQ(extender.grants().timers, 0U);
}

TEST_F(AForbiddenEnd, ComesWhenItsRemovalIsForbiddenToo) {
  model::Pod gone = vcudaPod("p", {{50, 1}});
  gone.revision = 7;
  ask(Verb::Filter, gone, {"a"});
  give(sent(), 429);
  ask(Verb::Deallocate, gone, {});
  isForbiddenFor(17min);
  EXPECT_EQ(freeMilli("a"), 1000);
  EXPECT_EQ(known(), 0U);
}

TEST_F(AForbiddenEnd, IsNoneWhileSomebodyAsks) {
  const model::Pod unknown = isUnknownAndLost();
  for (int i = 0; i < 4; ++i) {
    isForbiddenFor(10min);
    EXPECT_EQ(known(), 1U);
    ask(Verb::Filter, unknown, {"a"});
  }
}

/// Its annotations may land yet, and are to be taken off.
TEST_F(AForbiddenEnd, IsNoneForAPodThatIsThere) {
  ask(Verb::Filter, create("p", {{50, 1}}), {"a"});
  kapi::Outcome lost;
  lost.token = sent().token;
  lost.result = CallResult::Unknown;
  ExtenderTest::give(lost);
  isForbiddenFor(20min);
  EXPECT_EQ(freeMilli("a"), 1000);
  EXPECT_EQ(known(), 1U);
  watchRemoves(server.pods["p"]);
  EXPECT_EQ(known(), 0U);
}

/// Nor does it end because the API server says nothing.
TEST_F(AForbiddenEnd, IsNoneWhereNobodyAnswers) {
  model::Pod unknown = vcudaPod("p", {{50, 1}});
  unknown.revision = 7;
  ask(Verb::Filter, unknown, {"a"});
  for (Duration t{}; t < 20min; t += 1s) {
    while (!calls.empty()) {
      kapi::Outcome lost;
      lost.token = calls.front().token;
      lost.result = CallResult::Unknown;
      calls.pop_front();
      ExtenderTest::give(lost);
    }
    pass(1s);
  }
  EXPECT_EQ(freeMilli("a"), 1000);
  EXPECT_EQ(known(), 1U);
}

TEST_F(ExtenderTest, WhoIsRefusedAndAsksAgainAtOnceIsAnsweredWithoutAWrite) {
  addNode(gpuNode("a", 1));
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  int written = 0;
  for (int i = 0; i < 600; ++i) {
    const RequestId request_id = ask(Verb::Filter, pod, {"a"});
    for (; !calls.empty(); calls.pop_front()) {
      ++written;
      kapi::Outcome forbidden;
      forbidden.token = calls.front().token;
      forbidden.result = CallResult::Refused;
      forbidden.http = 403;
      give(forbidden);
    }
    EXPECT_NE(got(request_id, {"a"}).find("cannot annotate"), std::string::npos);
    pass(100ms);
  }
  EXPECT_GE(written, 6);
  EXPECT_LE(written, 12) << "in a minute";
}

TEST_F(ExtenderTest, ItEndsTenSecondsAfterItsSchedulerGaveUp) {
  addNode(gpuNode("a", 1));
  lead();
  ASSERT_EQ(filter(create("p", {{50, 1}}), {"a"}).kind, AnswerKind::Chosen);
  isGivenUp("p");
  pass(9s);
  EXPECT_EQ(note("p", kNode), "a");
  pass(1s);
  run();
  EXPECT_EQ(note("p", kNode), "-");
  EXPECT_EQ(freeMilli("a"), 1000);
}

TEST_F(ExtenderTest, AskingAgainKeepsIt) {
  addNode(gpuNode("a", 1));
  lead();
  ASSERT_EQ(filter(create("p", {{50, 1}}), {"a"}).kind, AnswerKind::Chosen);
  isGivenUp("p");
  pass(9s);
  ASSERT_EQ(filter(server.pods["p"], {"a"}).kind, AnswerKind::Chosen);
  pass(10s);
  run();
  EXPECT_EQ(note("p", kNode), "a");
}

TEST_F(ExtenderTest, ItEndsAfterAQuarterOfAnHourWithoutAWord) {
  addNode(gpuNode("a", 1));
  lead();
  ASSERT_EQ(filter(create("p", {{50, 1}}), {"a"}).kind, AnswerKind::Chosen);
  pass(15min);
  run();
  EXPECT_EQ(note("p", kNode), "-");
}

TEST_F(ExtenderTest, APodThatIsBoundWhileItIsGivenUpKeepsItsDevices) {
  addNode(gpuNode("a", 1));
  lead();
  ASSERT_EQ(filter(create("p", {{100, 0}}), {"a"}).kind, AnswerKind::Chosen);
  pass(15min);
  const kapi::Call removal = sent();
  server.pods["p"].node = model::NodeName{"a"};
  server.pods["p"].revision = ++server.revision;
  give(server.carryOut(removal));
  run();
  EXPECT_EQ(note("p", kNode), "a");
  EXPECT_EQ(freeMilli("a"), 0);
}

// ---- Other schedulers' Bindings

TEST_F(ExtenderTest, ABindingAfterItsReservationWasGivenUpIsCountedAndReportedWhenThereIsNoRoom) {
  for (const std::string node : {"roomy", "full"}) {
    const std::string late = "late-" + node;
    isReservedAndGivenUp(late, {60, 1}, gpuNode(node, 1));
    if (node == "full") { EXPECT_EQ(filter(create("next", {{60, 1}}), {node}).kind, AnswerKind::Chosen); }
    counted.clear();
    bindTo(late, node);
    EXPECT_EQ(counted[kLateForeignBinds], 1);
    const auto notes = extender.takeNotes();
    ASSERT_EQ(notes.size(), node == "full" ? 1U : 0U) << node;
    if (!notes.empty()) { EXPECT_EQ(notes[0].reason, "LateForeignBinding"); }
  }
}

/// gpu-manager gives whole GPUs that nobody has, whatever the annotations name: only when there are none left
/// is any given twice.
TEST_F(ExtenderTest, ALateBindingForWholeGpusIsReportedWhenNoneIsLeft) {
  for (const int devices : {2, 1}) {
    const std::string node = fmt::format("with-{}", devices);
    const std::string late = "late-" + node;
    isReservedAndGivenUp(late, {100, 0}, gpuNode(node, devices));
    EXPECT_EQ(filter(create("next-" + node, {{100, 0}}), {node}).kind, AnswerKind::Chosen);
    server.pods[late].annotations = {{"tencent.com/predicate-gpu-idx-0", "0"},
                                     {"tencent.com/predicate-node", node}};
    bindTo(late, node);
    const auto notes = extender.takeNotes();
    EXPECT_EQ(notes.size(), devices == 1 ? 1U : 0U) << node;
  }
}

TEST_F(ExtenderTest, ABindingToTheNodeThatThePodHadBeforeItMovedIsCounted) {
  addNode(gpuNode("a", 1));
  addNode(gpuNode("b", 1));
  lead();
  const model::Pod pod = create("p", {{60, 1}});
  EXPECT_EQ(filter(pod, {"a"}).kind, AnswerKind::Chosen);
  EXPECT_EQ(filter(pod, {"b"}).kind, AnswerKind::Chosen);
  bindTo("p", "a");
  EXPECT_EQ(counted[kLateForeignBinds], 1);
}

}  // namespace
}  // namespace gs::extender
