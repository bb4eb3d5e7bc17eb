// Volcano's sessions, what others wrote on pods, leading and ending.
#include "extender/extender_hand_test.h"
#include "kapi/kinds.h"

namespace gs::extender {
namespace {

using namespace std::chrono_literals;

class SessionTest : public ExtenderTest {
 protected:
  SessionTest() {
    addNode(gpuNode("a", 1));
    addNode(gpuNode("b", 1));
  }
  /// One session of a Volcano without allocateFunc: the nodes that it was told fit.
  std::string session(const model::Pod& pod, const std::vector<std::string>& nodes) {
    std::map<RequestId, std::string> request_ids;
    for (const auto& node : nodes) { request_ids[ask(Verb::Predicate, pod, {node})] = node; }
    run();
    std::string fit;
    for (const auto& [request_id, node] : request_ids) {
      if (answers[request_id].kind == AnswerKind::Chosen) { fit += node; }
    }
    return fit;
  }
  /// It was carried out, and nobody hears of it.
  void giveLost(const kapi::Outcome& carried_out) {
    kapi::Outcome lost;
    lost.token = carried_out.token;
    lost.result = kapi::CallResult::Unknown;
    give(lost);
  }
  void limit(const std::string& ns, std::int64_t gpus) {
    model::QuotaConfig quota;
    quota.map = {"kube-system", "gpuquota"};
    quota.labels = {"model", "pool"};
    engine.configureQuota(quota);
    const model::Quotas quotas{{ns, {{{"V100", gpus}}, {}}}};
    engine.apply({kapi::kQuotaMap,
                  quota.map,
                  {},
                  std::make_shared<const model::QuotaMap>(model::QuotaMap{quota.map, {}, 1, quotas, {}}),
                  ++server.revision},
                 now.mono);
  }
  void addV100(const std::string& name) {
    model::Node node = gpuNode(name, 1);
    node.labels["model"] = "V100";
    addNode(node);
  }
};

// ---- Volcano

TEST_F(SessionTest, OfASessionOneNodeFitsHoweverLateItIs) {
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  EXPECT_EQ(session(pod, {"a", "b"}), "a");
  for (int i = 0; i < 10; ++i) {
    pass(7s);
    const auto order = i % 2 == 0 ? std::vector<std::string>{"a", "b"} : std::vector<std::string>{"b", "a"};
    const std::string fit = session(pod, order);
    EXPECT_LE(fit.size(), 1U) << i;
    if (!fit.empty()) { EXPECT_EQ(note("p", kNode), fit) << i; }
  }
}

TEST_F(SessionTest, OfASessionAfterARestartOneNodeFits) {
  const model::Pod pod = create("p", {{50, 1}});
  model::Pod& noted = server.pods["p"];
  noted.annotations = {{kNode, "a"}, {kIds0, "0"}, {"tencent.com/predicate-time", "5"}};
  noted.revision = ++server.revision;
  watchBrings("p");
  lead();
  EXPECT_EQ(session(pod, {"a", "b"}), "a");
  EXPECT_EQ(note("p", kNode), "a");
}

TEST_F(SessionTest, NoOtherNodeFitsForSomeTimeAfterItsOwnWasLastToldTo) {
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  EXPECT_EQ(session(pod, {"a"}), "a");
  pass(4900ms);
  EXPECT_EQ(session(pod, {"a"}), "a");
  pass(200ms);
  EXPECT_EQ(session(pod, {"b"}), "") << "of the same session";
  pass(4800ms);
  EXPECT_EQ(session(pod, {"b"}), "b");
}

TEST_F(SessionTest, NorAfterAChangeOfTheLeader) {
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  EXPECT_EQ(session(pod, {"a"}), "a");
  watchBrings("p");
  extender.standBy("it stops");
  pass(500ms);
  lead();
  EXPECT_EQ(session(pod, {"b"}), "");
}

/// A gang that waits is asked about again and again, one node some time after the other.
TEST_F(SessionTest, OfEverySessionOfAGangOneNodeFitsAtMost) {
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  for (int i = 0; i < 200; ++i) {
    const bool a_first = i % 3 != 0;
    std::string fit = session(pod, {a_first ? "a" : "b"});
    pass(300ms);
    fit += session(pod, {a_first ? "b" : "a"});
    EXPECT_LE(fit.size(), 1U) << i;
    pass(900ms);
  }
}

TEST_F(SessionTest, ANodeThatItIsNotBoundToMakesWayForAnother) {
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  std::string fit;
  for (int i = 0; i < 30 && fit != "b"; ++i) {
    fit = session(pod, {"a", "b"});  // each time a first
    pass(1s);
  }
  EXPECT_EQ(fit, "b") << "some other plugin may refuse the first";
  EXPECT_EQ(note("p", kNode), "b");
}

TEST_F(SessionTest, HoweverOftenSessionsAre) {
  lead();
  for (const Duration period :
       {Duration{500ms}, Duration{2500ms}, Duration{4s}, Duration{4900ms}, Duration{7s}}) {
    const model::Pod pod = create(std::to_string(period / 1ms), {{50, 1}});
    std::string fit;
    for (Duration waited{}; waited < 60s && fit != "b"; waited += period) {
      fit = session(pod, {"a", "b"});
      pass(period);
    }
    EXPECT_EQ(fit, "b") << period / 1ms << " ms";
    watchRemoves(pod);
    server.pods.erase(pod.key.name);
  }
}

TEST_F(SessionTest, WhenTwoNodesAreRefusedByOthersAThirdHasItsTurn) {
  addNode(gpuNode("c", 1));
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  std::string fit;
  for (int i = 0; i < 120 && fit != "c"; ++i) {
    fit = session(pod, {"a", "b", "c"});
    pass(1s);
  }
  EXPECT_EQ(fit, "c");
}

/// Named without its object, so nothing is known of it.
TEST_F(SessionTest, ANodeThatNobodyKnowsIsAskedAboutInVain) {
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  for (int i = 0; i < 40; ++i) {
    EXPECT_NE(session(pod, {"a", "nobody-knows"}), "nobody-knows");
    pass(1s);
  }
}

TEST_F(SessionTest, WhereNothingElseFitsItsNodeDoesAgain) {
  addNode(gpuNode("b", 0));
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  int fits = 0;
  for (int i = 0; i < 60; ++i) {
    fits += session(pod, {"a", "b"}) == "a" ? 1 : 0;
    pass(1s);
  }
  EXPECT_GT(fits, 40);
}

// ---- Time

TEST_F(SessionTest, WhatNobodyWaitsForAnyMoreMovesNothing) {
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  Request early = request(Verb::Filter, pod, {"a"});
  early.asked = now.mono;
  pass(4s);
  EXPECT_EQ(filter(pod, {"b"}).kind, AnswerKind::Chosen);
  desk.ask(extender, ++last, early, now);
  run();
  EXPECT_EQ(answers[last].kind, AnswerKind::Unavailable);
  EXPECT_EQ(note("p", kNode), "b");
}

TEST_F(SessionTest, ABindingThatNobodyWaitsForAnyMoreIsNotSent) {
  lead();
  const model::Pod pod = server.add(vcudaPod("p", {}));  // the watch has not brought it
  const RequestId request_id = ask(Verb::Bind, pod, {"a"});
  const kapi::Call read = sent();
  pass(4s);
  give(server.carryOut(read));
  EXPECT_TRUE(calls.empty());
  EXPECT_EQ(answers[request_id].kind, AnswerKind::Failed);
}

/// Its answer was lost: it may have been carried out, or will be, until a PATCH on a newer version is.
TEST_F(SessionTest, APodThatIsMovedKeepsWhereABindingMayLandUntilItsAnnotationsAreWritten) {
  lead();
  const model::Pod pod = create("p", {{60, 1}});
  ASSERT_EQ(filter(pod, {"a"}).kind, AnswerKind::Chosen);
  watchBrings("p");
  const model::Pod unbound = server.pods["p"];
  ask(Verb::Bind, unbound, {"a"});
  giveLost(server.carryOut(sent()));
  ask(Verb::Filter, unbound, {"b"});
  const kapi::Call moves = sent();
  EXPECT_NE(filter(create("q", {{60, 1}}), {"a"}).kind, AnswerKind::Chosen);
  give(server.carryOut(moves));
  run();
  watchBrings("p");
  EXPECT_EQ(freeMilli("a"), 400) << "it was bound there";
  EXPECT_EQ(freeMilli("b"), 1000);
}

TEST_F(SessionTest, WhatItLeftIsFreeOnceItsAnnotationsSayOther) {
  lead();
  const model::Pod pod = create("p", {{60, 1}});
  ASSERT_EQ(filter(pod, {"a"}).kind, AnswerKind::Chosen);
  ask(Verb::Filter, pod, {"b"});
  EXPECT_EQ(freeMilli("a"), 400);
  EXPECT_EQ(freeMilli("b"), 400);
  run();
  EXPECT_EQ(freeMilli("a"), 1000);
  EXPECT_EQ(freeMilli("b"), 400);
}

TEST_F(SessionTest, APodThatIsMovedToAndFroHasWhatItHadOnce) {
  lead();
  const model::Pod pod = create("p", {{20, 1}, {20, 1}});
  ASSERT_EQ(filter(pod, {"a"}).kind, AnswerKind::Chosen);
  kapi::Outcome busy;
  busy.result = kapi::CallResult::Refused;
  busy.http = 429;
  for (const char* node : {"b", "a", "b", "a"}) {
    ask(Verb::Filter, pod, {node});
    pass(3500ms);  // longer than the write rests, shorter than its scheduler waits
    busy.token = sent().token;
    give(busy);
  }
  EXPECT_EQ(freeMilli("a"), 600);
  EXPECT_EQ(freeMilli("b"), 600);
  pass(500ms);
  EXPECT_EQ(freeMilli("b"), 1000) << "of which it was never told";
  EXPECT_EQ(freeMilli("a"), 600);
}

TEST_F(SessionTest, NoTimeOfThePastIsWaitedFor) {
  lead();
  const model::Pod pod = create("p", {{60, 1}});
  ASSERT_EQ(filter(pod, {"a"}).kind, AnswerKind::Chosen);
  isGivenUp("p");
  pass(9900ms);
  ask(Verb::Bind, server.pods["p"], {"a"});
  const kapi::Call binding = sent();
  pass(200ms);
  EXPECT_GT(extender.nextDue().value_or(Mono::max()), now.mono);
  give(server.carryOut(binding));
}

/// The answer of its PATCH was lost, and its scheduler gave it up before it was read.
TEST_F(SessionTest, WhatWasGivenUpBeforeItWasKnownToBeWrittenEndsToo) {
  lead();
  ask(Verb::Filter, create("p", {{60, 1}}), {"a"});
  giveLost(server.carryOut(sent()));
  pass(5s);
  isGivenUp("p");
  run();
  pass(10s);
  run();
  EXPECT_EQ(note("p", kNode), "-");
  EXPECT_EQ(freeMilli("a"), 1000);
}

TEST_F(SessionTest, WhatHasEndedLeavesNoTimer) {
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  ASSERT_EQ(filter(pod, {"a"}).kind, AnswerKind::Chosen);
  watchBrings("p");
  ask(Verb::Deallocate, server.pods["p"], {});
  run();
  EXPECT_EQ(extender.grants().timers, 0U);
}

TEST_F(SessionTest, WhoGivesBackIsAnsweredAtOnceWhetherItHadSomethingOrNot) {
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  EXPECT_EQ(answers[ask(Verb::Deallocate, pod, {})].kind, AnswerKind::Done);
  ASSERT_EQ(filter(pod, {"a"}).kind, AnswerKind::Chosen);
  EXPECT_EQ(answers[ask(Verb::Deallocate, pod, {})].kind, AnswerKind::Done);
}

TEST_F(SessionTest, WhoDidNotRenewItsLeadPromisesNothing) {
  lead();
  extender.leadUntil(now.mono + 3s);
  const model::Pod pod = create("p", {{50, 1}});
  EXPECT_EQ(filter(pod, {"a"}).good_until, now.mono + 3s);
  pass(3s);
  const Answer late = filter(pod, {"a"});
  EXPECT_EQ(late.kind, AnswerKind::Unavailable);
  extender.leadUntil(now.mono + 3s);
  EXPECT_EQ(filter(pod, {"a"}).kind, AnswerKind::Chosen);
}

TEST_F(SessionTest, ItsTimeIsThatOfTheRequestWhenNothingElseHappened) {
  lead();
  extender.leadUntil(now.mono + 3s);
  const model::Pod pod = create("p", {{50, 1}});
  ASSERT_EQ(filter(pod, {"a"}).kind, AnswerKind::Chosen);
  now.mono += 3s;
  EXPECT_EQ(filter(pod, {"a"}).kind, AnswerKind::Unavailable);
}

TEST_F(SessionTest, ANewLeaderEndsWhatNobodyAsksForEither) {
  create("p", {{50, 1}});
  model::Pod& noted = server.pods["p"];
  noted.annotations = {{kNode, "a"}, {kIds0, "0"}, {"tencent.com/predicate-time", "5"}};
  noted.revision = ++server.revision;
  watchBrings("p");  // settles while it does not lead
  lead();
  EXPECT_EQ(freeMilli("a"), 500);
  pass(15min);
  run();
  EXPECT_EQ(note("p", kNode), "-");
  EXPECT_EQ(freeMilli("a"), 1000);
}

TEST_F(SessionTest, TimesGoOnWhereAnotherReplicasClockWas) {
  const model::Pod first = create("p", {{50, 1}});
  const auto ahead = now.wall + 1min;
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(ahead.time_since_epoch()).count();
  server.pods["p"].annotations = {
      {kNode, "a"}, {kIds0, "0"}, {"tencent.com/predicate-time", std::to_string(ns)}};
  server.pods["p"].revision = ++server.revision;
  watchBrings("p");
  lead();
  EXPECT_EQ(filter(create("q", {{50, 1}}), {"b"}).kind, AnswerKind::Chosen);
  EXPECT_GT(std::stoll(note("q", "tencent.com/predicate-time")), ns);
}

TEST_F(SessionTest, WhoStopsEndsWhatIsUnderWayAndBeginsNothing) {
  lead();
  const RequestId first = ask(Verb::Filter, create("p", {{50, 1}}), {"a"});
  extender.stopTaking();
  EXPECT_TRUE(extender.underWay());
  const RequestId second = ask(Verb::Filter, create("q", {{50, 1}}), {"b"});
  EXPECT_EQ(answers[second].kind, AnswerKind::Unavailable);
  run();
  EXPECT_EQ(answers[first].kind, AnswerKind::Chosen);
  EXPECT_FALSE(extender.underWay());
}

// ---- What others wrote

TEST_F(SessionTest, AnnotationsThatSomebodyForgedAreNoWayAroundAQuota) {
  addV100("v");
  limit("default", 0);
  const model::Pod pod = create("p", {{50, 1}});
  ASSERT_EQ(pod.key.ns, "default");
  server.pods["p"].annotations = {{kNode, "v"}, {kIds0, "0"}, {"tencent.com/predicate-time", "5"}};
  server.pods["p"].revision = ++server.revision;
  watchBrings("p");
  lead();
  EXPECT_EQ(filter(server.pods["p"], {"v"}).kind, AnswerKind::Nowhere);
}

TEST_F(SessionTest, CopiedAnnotationsOfARunningPodAreWrittenAnewOnce) {
  create("p", {{50, 1}});
  server.pods["p"].annotations = {
      {kNode, "a"}, {kIds0, "0"}, {"tencent.com/predicate-time", "5"}, {"tencent.com/gpu-assigned", "true"}};
  server.pods["p"].revision = ++server.revision;
  watchBrings("p");
  lead();
  ASSERT_EQ(filter(server.pods["p"], {"a"}).kind, AnswerKind::Chosen);
  EXPECT_EQ(note("p", "tencent.com/gpu-assigned"), "false");
  for (int i = 0; i < 5; ++i) {
    server.pods["p"].revision = ++server.revision;
    watchBrings("p");
    EXPECT_TRUE(calls.empty()) << i;
    run();
  }
}

TEST_F(SessionTest, ABindingTakesNoAnnotationsThatSomebodyForged) {
  create("q", {{100, 0}});
  server.pods["q"].annotations = {{kNode, "a"}, {kIds0, "0"}, {"tencent.com/predicate-time", "4"}};
  bindTo("q", "a");
  create("p", {{50, 1}});
  server.pods["p"].annotations = {{kNode, "a"}, {kIds0, "0"}, {"tencent.com/predicate-time", "5"}};
  server.pods["p"].revision = ++server.revision;
  watchBrings("p");
  lead();
  const RequestId request_id = ask(Verb::Bind, server.pods["p"], {"a"});
  run();
  EXPECT_NE(answers[request_id].kind, AnswerKind::Done);
  EXPECT_FALSE(server.pods["p"].bound());
}

TEST_F(SessionTest, NobodyIsPreemptedBeforeQuotasAreRead) {
  model::QuotaConfig quota;
  quota.map = {"kube-system", "gpuquota"};
  quota.labels = {"model", "pool"};
  engine.configureQuota(quota);
  lead();
  Request q = request(Verb::Preempt, create("p", {{50, 1}}), {"a"});
  desk.ask(extender, ++last, q, now);
  settle();
  EXPECT_EQ(answers[last].kind, AnswerKind::Unavailable);
  EXPECT_TRUE(answers[last].kept.empty());
}

TEST_F(SessionTest, OneDeviceIsNotTwo) {
  addNode(gpuNode("c", 2));
  lead();
  create("p", {{200, 0}});
  server.pods["p"].annotations = {{kNode, "c"}, {kIds0, "0,0"}, {"tencent.com/predicate-time", "5"}};
  server.pods["p"].revision = ++server.revision;
  watchBrings("p");
  EXPECT_EQ(filter(server.pods["p"], {"c"}).kind, AnswerKind::Chosen);
  EXPECT_EQ(note("p", kIds0), "0,1");
}

TEST_F(SessionTest, WhatAPodHasOfItsQuotaIsFreeForIt) {
  addV100("v");
  addV100("w");
  limit("default", 1);
  lead();
  const model::Pod pod = create("p", {{100, 0}});
  ASSERT_EQ(filter(pod, {"v"}).kind, AnswerKind::Chosen);
  EXPECT_EQ(got(ask(Verb::Look, pod, {"w"}), {"w"}), "w");
  Request q = request(Verb::Preempt, pod, {"w"});
  desk.ask(extender, ++last, q, now);
  settle();
  EXPECT_EQ(answers[last].kept, (std::vector<std::size_t>{0}));
  EXPECT_EQ(freeMilli("v"), 0) << "it still has it";
}

TEST_F(SessionTest, APodThatCannotBeMovedKeepsWhatItsAnnotationsSay) {
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  ASSERT_EQ(filter(pod, {"a"}).kind, AnswerKind::Chosen);
  watchBrings("p");
  const RequestId moved = ask(Verb::Filter, server.pods["p"], {"b"});
  kapi::Outcome forbidden;
  forbidden.token = sent().token;
  forbidden.result = kapi::CallResult::Refused;
  forbidden.http = 403;
  give(forbidden);
  EXPECT_EQ(answers[moved].kind, AnswerKind::Failed);
  EXPECT_EQ(freeMilli("a"), 500);
  EXPECT_EQ(freeMilli("b"), 1000);
}

TEST_F(SessionTest, APodOfOurOwnSchedulerIsNotGivenSharesBesides) {
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  const auto held = engine.ledger().reserveShares(model::NodeName{"a"}, pod.uid, {}, {});
  const Answer answer = filter(pod, {"a"});
  EXPECT_EQ(answer.kind, AnswerKind::Failed);
  EXPECT_EQ(answer.text, "pod default/p is being placed by gpu-scheduler");
}

TEST_F(SessionTest, AgainstAnotherExtenderItWritesSlowly) {
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  ASSERT_EQ(filter(pod, {"a"}).kind, AnswerKind::Chosen);
  for (int i = 0; i < 20; ++i) {
    server.pods["p"].annotations[kIds0] = "7";
    server.pods["p"].revision = ++server.revision;
    watchBrings("p");
    run();
  }
  EXPECT_LE(server.writes, 5);
  pass(5s);
  run();
  EXPECT_EQ(note("p", kIds0), "0") << "but it does";
}

// ---- Bindings

TEST_F(SessionTest, BindsToANodeThatItDoesNotKnowYetWhatNeedsNoGpu) {
  lead();
  const RequestId plain = ask(Verb::Bind, create("p", {}), {"new"});
  const RequestId shares = ask(Verb::Bind, create("q", {{50, 1}}), {"new"});
  run();
  EXPECT_EQ(answers[plain].kind, AnswerKind::Done);
  EXPECT_EQ(server.pods["p"].node.text, "new");
  EXPECT_EQ(answers[shares].kind, AnswerKind::Nowhere);
  EXPECT_FALSE(server.pods["q"].bound());
}

TEST_F(SessionTest, WhoWantsItOnAnotherNodeIsNotToldThatItIsBound) {
  lead();
  const model::Pod pod = create("p", {});
  const RequestId to_b = ask(Verb::Bind, pod, {"b"});
  kapi::Outcome conflict;
  conflict.token = sent().token;
  conflict.result = kapi::CallResult::Refused;
  conflict.http = 409;
  give(conflict);  // it is tried again in a while; meanwhile:
  const RequestId to_a = ask(Verb::Bind, pod, {"a"});
  const kapi::Call binding = sent();
  pass(1s);
  give(server.carryOut(binding));
  run();
  EXPECT_EQ(server.pods["p"].node.text, "a");
  EXPECT_EQ(answers[to_a].kind, AnswerKind::Done);
  EXPECT_EQ(answers[to_b].kind, AnswerKind::Failed);
}

TEST_F(SessionTest, WhoWaitedForABindingIsAnsweredWhenItFailed) {
  lead();
  const model::Pod pod = create("p", {{50, 1}});
  ASSERT_EQ(filter(pod, {"a"}).kind, AnswerKind::Chosen);
  watchBrings("p");
  ask(Verb::Bind, server.pods["p"], {"a"});
  const kapi::Token binding = sent().token;
  const RequestId waits = ask(Verb::Filter, server.pods["p"], {"b"});
  EXPECT_EQ(got(waits, {"b"}), "");
  kapi::Outcome refused;
  refused.token = binding;
  refused.result = kapi::CallResult::Refused;
  refused.http = 403;
  give(refused);
  run();
  EXPECT_EQ(got(waits, {"b"}), "b");
}

/// A Binding of a pod that no watch knows: it is read first.
TEST_F(ExtenderTest, WhyAPodCannotBeReadForItsBindingIsSaid) {
  addNode(gpuNode("a", 1));
  lead();
  const auto told = [&](kapi::Outcome outcome) {
    const RequestId request_id = ask(Verb::Bind, vcudaPod("p", {}), {"a"});
    outcome.token = sent().token;
    give(outcome);
    return answers[request_id].text;
  };
  kapi::Outcome no_pod;
  no_pod.http = 200;
  no_pod.message = "no JSON near byte 0";
  EXPECT_EQ(
      told(no_pod),
      "pod default/p: it cannot be read: the API server answered 200 with a body that is no pod: no JSON "
      "near byte 0; ask again");
  model::Pod other = vcudaPod("p", {});
  other.uid = model::Uid{"another"};
  other.revision = 7;
  kapi::Outcome renewed;
  renewed.result = kapi::CallResult::Applied;
  renewed.http = 200;
  renewed.object = std::make_shared<const model::Pod>(other);
  EXPECT_EQ(told(renewed),
            "pod default/p: it is gone; the pod of that name has the uid another and not uid-p");
  kapi::Outcome forbidden;
  forbidden.result = kapi::CallResult::Refused;
  forbidden.http = 403;
  forbidden.message = "forbidden";
  EXPECT_EQ(told(forbidden), "pod default/p: it cannot be read: 403 forbidden");
}

}  // namespace
}  // namespace gs::extender
