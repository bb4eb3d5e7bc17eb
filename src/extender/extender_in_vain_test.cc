// A node that refuses a pod of shares is left out while another one may do (R61), whoever binds.
#include <gtest/gtest.h>

#include "extender/extender_hand_test.h"

namespace gs::extender {
namespace {

const std::vector<std::string> kAll{"a", "b", "c"};

class InVain : public ExtenderTest {
 protected:
  InVain() {
    for (const auto& node : kAll) { addNode(gpuNode(node, 1)); }
    lead();
    create("p", {{50, 1}});
  }
  std::string told(const std::vector<std::string>& nodes = kAll) {
    const RequestId request_id = ask(Verb::Filter, server.pods["p"], nodes);
    runUntilAnswered(request_id);
    return got(request_id, nodes);
  }
  /// Its scheduler binds through us, and the API server refuses.
  void bindingIsRefused(const std::string& node, int http = 403) {
    const RequestId request_id = ask(Verb::Bind, server.pods["p"], {node});
    kapi::Outcome outcome;
    outcome.token = sent().token;
    outcome.result = kapi::CallResult::Refused;
    outcome.http = http;
    outcome.message = "no pods here";
    give(outcome);
    EXPECT_EQ(answers[request_id].kind, AnswerKind::Failed);
  }
  void saysItIsNotScheduled(const std::string& message) {
    model::Pod& pod = server.pods.at("p");
    pod.scheduled = {"False", "SchedulerError", message};
    pod.revision = ++server.revision;
    watchBrings("p");
  }
};

TEST_F(InVain, WhereItsBindingIsRefusedItIsNotToldAgainWhileAnotherOneFits) {
  ASSERT_EQ(told(), "a");
  bindingIsRefused("a");
  EXPECT_EQ(told(), "b");
  EXPECT_EQ(note("p", kNode), "b");
  EXPECT_EQ(freeMilli("a"), 1000) << "nothing of the old place is left";
  bindingIsRefused("b");
  EXPECT_EQ(told(), "c");
  bindingIsRefused("c");
  EXPECT_EQ(told(), "c") << "no time of the others is over";
  pass(20s);
  EXPECT_EQ(told(), "c") << "nothing was tried there since";
  bindingIsRefused("c");
  EXPECT_EQ(told(), "a") << "each has its turn again";
}

TEST_F(InVain, AConflictOrABusyServerSaysNothingOfTheNode) {
  ASSERT_EQ(told(), "a");
  bindingIsRefused("a", 429);
  EXPECT_EQ(told(), "a");
}

TEST_F(InVain, WhereItsSchedulerCouldNotBindItEither) {
  ASSERT_EQ(told(), "a");
  saysItIsNotScheduled("binding rejected: node a");
  EXPECT_EQ(told(), "b");
  saysItIsNotScheduled("binding rejected: node b");
  EXPECT_EQ(told(), "c");
}

/// kube-scheduler does not write the same words again.
TEST_F(InVain, NorWhereItSaysNothingAndAsksAgainAndAgain) {
  ASSERT_EQ(told(), "a");
  std::string all;
  for (int i = 0; i < 12; ++i) {
    pass(5s);
    all += told();
  }
  EXPECT_EQ(all, "aabbbcccaaab");
}

TEST_F(InVain, WhatIsAskedTwiceAtOnceIsToldTheSame) {
  for (int i = 0; i < 10; ++i) { EXPECT_EQ(told(), "a"); }
  EXPECT_EQ(server.writes, 1);
}

TEST_F(InVain, WhereNothingElseFitsItKeepsWhatItHas) {
  ASSERT_EQ(told({"a"}), "a");
  for (int i = 0; i < 5; ++i) {
    bindingIsRefused("a");
    EXPECT_EQ(told({"a"}), "a");
  }
  EXPECT_EQ(server.writes, 1) << "its annotations stay";
}

/// Nobody was told the node yet: nothing came to nothing there.
TEST_F(InVain, AWriteThatTakesLongIsNoReasonForAnotherNode) {
  const RequestId first = ask(Verb::Filter, server.pods["p"], kAll);
  const kapi::Call write = sent();
  pass(5s);
  ASSERT_EQ(answers[first].kind, AnswerKind::Failed);
  give(server.carryOut(write));
  saysItIsNotScheduled("extender: ask again");
  EXPECT_EQ(told(), "a");
}

TEST_F(InVain, AMemberOfAGangKeepsItsNodeWhileOthersAreWaitedFor) {
  model::Pod pod = vcudaPod("m", {{50, 1}});
  pod.gang = "g";
  server.add(pod);
  watchBrings("m");
  for (int i = 0; i < 6; ++i) {
    const RequestId request_id = ask(Verb::Filter, server.pods["m"], kAll);
    runUntilAnswered(request_id);
    EXPECT_EQ(got(request_id, kAll), "a");
    pass(5s);
  }
}

TEST_F(InVain, WhoIsGoneOrBoundIsForgotten) {
  ASSERT_EQ(told(), "a");
  bindingIsRefused("a");
  ASSERT_EQ(told(), "b");
  bindTo("p", "b");
  create("q", {{50, 1}});
  EXPECT_EQ(filter(server.pods["q"], kAll).kind, AnswerKind::Chosen);
}

}  // namespace
}  // namespace gs::extender
