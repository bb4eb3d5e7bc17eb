// A node that refuses a pod of shares is left out while another one may do (R61), whoever binds.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/random.h"
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
    pod.scheduled = model::ScheduledCondition{"False", "SchedulerError", message};
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
  EXPECT_EQ(extender.grants().in_vain, 1U);
  bindTo("p", "b");
  EXPECT_EQ(extender.grants().in_vain, 0U);
}

TEST_F(InVain, WhoWentBeforeItsBindingWasAnsweredIsNotKept) {
  ASSERT_EQ(told(), "a");
  const RequestId request_id = ask(Verb::Bind, server.pods["p"], {"a"});
  kapi::Outcome outcome;
  outcome.token = sent().token;
  outcome.result = kapi::CallResult::Unknown;
  const model::Pod gone = server.pods.at("p");
  server.pods.erase("p");
  watchRemoves(gone);
  give(outcome);
  EXPECT_EQ(answers[request_id].kind, AnswerKind::Failed);
  EXPECT_EQ(extender.grants().in_vain, 0U);
}

/// A kube-scheduler that binds through us or by itself, and nodes of which some refuse every Binding, in any
/// way: whoever fits on one that does not is bound after few tries.
class RefusingNodes : public ExtenderTest {
 public:
  explicit RefusingNodes(std::uint64_t seed) : rng_{seed} {
    const std::size_t nodes = 2 + rng_.below(5);
    refusing_ = 1 + rng_.below(nodes - 1);
    for (std::size_t i = 0; i < nodes; ++i) {
      names_.push_back("n" + std::to_string(i));
      addNode(gpuNode(names_.back(), 1 + static_cast<int>(rng_.below(2)), 8));
    }
    lead();
    binds_through_us_ = rng_.chance(50);
    says_why_ = rng_.chance(50);
  }
  void TestBody() override {}
  /// In so many tries; 0: it never was.
  int tries(const std::string& name) {
    create(name, {{10, 1}});
    constexpr int kMost = 60;
    for (int i = 1; i <= kMost; ++i) {
      const RequestId request_id = ask(Verb::Filter, server.pods[name], names_);
      runUntilAnswered(request_id);
      const std::string node = got(request_id, names_);
      if (isBound(name, node)) { return i; }
      pass(std::chrono::seconds{1 + rng_.below(10)});
      run();
    }
    return 0;
  }
  [[nodiscard]] int most() const { return static_cast<int>(refusing_) * Promises::kInVain + 1; }

 private:
  bool isBound(const std::string& name, const std::string& node) {
    const bool refuses = std::find(names_.begin(), names_.begin() + static_cast<std::ptrdiff_t>(refusing_),
                                   node) != names_.begin() + static_cast<std::ptrdiff_t>(refusing_);
    if (!binds_through_us_ && refuses) {
      model::Pod& pod = server.pods.at(name);
      const std::string message = says_why_ ? "binding rejected by " + node : "binding rejected";
      if (pod.scheduled->message == message) { return false; }  // kube-scheduler writes no words twice
      pod.scheduled = model::ScheduledCondition{"False", "SchedulerError", message};
      pod.revision = ++server.revision;
      watchBrings(name);
      return false;
    }
    if (!binds_through_us_) {
      bindTo(name, node);
      return true;
    }
    const RequestId request_id = ask(Verb::Bind, server.pods[name], {node});
    if (!refuses) {
      run();
      watchBrings(name);
      return answers[request_id].kind == AnswerKind::Done;
    }
    static constexpr std::array kHttp{400, 403, 422, 500, 503};
    kapi::Outcome outcome;
    outcome.token = sent().token;
    outcome.result = rng_.chance(30) ? kapi::CallResult::Unknown : kapi::CallResult::Refused;
    outcome.http = outcome.result == kapi::CallResult::Unknown ? 0 : kHttp[rng_.below(kHttp.size())];
    give(outcome);
    return false;
  }

  Rng rng_;
  std::vector<std::string> names_;
  std::size_t refusing_ = 0;  // the first so many
  bool binds_through_us_ = false;
  bool says_why_ = false;
};

TEST(ExtenderProperty, NodesThatRefuseBindingsKeepNobodyWaiting) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    RefusingNodes play{seed};
    for (const char* name : {"p", "q", "r"}) {
      const int tries = play.tries(name);
      EXPECT_GE(tries, 1) << "seed " << seed << ": " << name << " was never bound";
      EXPECT_LE(tries, play.most()) << "seed " << seed << ": " << name;
    }
  }
}

}  // namespace
}  // namespace gs::extender
