// Writes that get no answer, as where a webhook hangs: what they were to say nobody was told, so it holds
// nothing, and keeps nobody waiting.
#include <gtest/gtest.h>

#include <algorithm>

#include "extender/extender_hand_test.h"

namespace gs::extender {
namespace {

using kapi::CallResult;

class NoAnswers : public ExtenderTest {
 protected:
  NoAnswers() {
    addNode(gpuNode("a", 1));
    lead();
  }
  /// All calls but reads; each is unknown three seconds later. How many left.
  int hangFor(Duration how_long, bool reads_too = false) {
    int left = 0;
    for (Duration t{}; t < how_long; t += 500ms) {
      for (; !calls.empty(); calls.pop_front()) {
        const bool is_answered =
            (kapi::isRead(calls.front().verb) && !reads_too) || calls.front().key.name.starts_with("well-");
        if (is_answered) {
          arriving.emplace_back(now.mono, server.carryOut(calls.front()));
          continue;
        }
        ++left;
        sent_last = calls.front();
        kapi::Outcome lost;
        lost.token = calls.front().token;
        lost.result = CallResult::Unknown;
        arriving.emplace_back(now.mono + 3s, lost);
      }
      pass(500ms);
      for (std::size_t i = 0; i < arriving.size();) {
        if (arriving[i].first > now.mono) {
          ++i;
          continue;
        }
        const kapi::Outcome outcome = arriving[i].second;
        arriving.erase(arriving.begin() + static_cast<std::ptrdiff_t>(i));
        give(outcome);
      }
    }
    return left;
  }
  /// Its scheduler asks every few seconds. How long its devices were nobody else's.
  Duration heldWhileAskedFor(Duration how_long, const std::vector<std::string>& pods) {
    Duration held{};
    for (Duration t{}; t < how_long; t += 500ms) {
      if (t % 5s == 0s) {
        for (const auto& pod : pods) { ask(Verb::Filter, server.pods[pod], {"a"}); }
      }
      hangFor(500ms);
      if (freeMilli("a") < 1000) { held += 500ms; }
    }
    return held;
  }
  void nothingIsUnderWay() {
    while (!arriving.empty() || !calls.empty()) { hangFor(500ms); }
  }
  void isRefusedAtOnce(const std::string& pod) {
    const std::size_t before = calls.size();
    const RequestId request_id = ask(Verb::Filter, server.pods[pod], {"a"});
    EXPECT_EQ(answers[request_id].kind, AnswerKind::Failed);
    EXPECT_EQ(freeMilli("a"), 1000);
    EXPECT_EQ(calls.size(), before);
  }
  std::vector<std::pair<Mono, kapi::Outcome>> arriving;
  kapi::Call sent_last;
};

TEST_F(NoAnswers, HoldNothingOnceItsSchedulerWasToldThatItIsNotWritten) {
  const RequestId request_id = ask(Verb::Filter, create("p", {{50, 1}}), {"a"});
  hangFor(8s);
  EXPECT_NE(answers[request_id].text.find("not written yet"), std::string::npos);
  EXPECT_EQ(freeMilli("a"), 1000);
  nothingIsUnderWay();
  isGivenUp("p");  // its scheduler says that it waits
  EXPECT_EQ(extender.grants().removing, 1U) << "what may still land is taken off once a write goes through";
  nothingIsUnderWay();
  const kapi::Call late = sent_last;
  for (int i = 0; i < 2; ++i) {  // the pod changed since the first of them was sent
    pass(5min);
    run();
  }
  EXPECT_EQ(extender.grants().removing, 0U);
  EXPECT_EQ(server.carryOut(late).http, 409);
}

TEST_F(NoAnswers, WhoAskedMeanwhileForAnotherNodeIsAnsweredToo) {
  addNode(gpuNode("b", 1));
  ask(Verb::Filter, create("p", {{50, 1}}), {"a"});
  hangFor(3500ms, true);
  const RequestId other = ask(Verb::Filter, server.pods["p"], {"b"});
  ASSERT_FALSE(answers.contains(other)) << "a read is under way";
  hangFor(3s, true);
  ASSERT_TRUE(answers.contains(other));
  EXPECT_EQ(answers[other].kind, AnswerKind::Failed);
  EXPECT_EQ(freeMilli("a"), 1000);
}

TEST_F(NoAnswers, WhatWasLetGoIsNotReservedAgainWithTheNextNode) {
  for (const auto* node : {"b", "c"}) { addNode(gpuNode(node, 1)); }
  ask(Verb::Filter, create("p", {{50, 1}}), {"a"});
  hangFor(3s);
  ask(Verb::Filter, server.pods["p"], {"b"});
  hangFor(12s);
  ASSERT_EQ(freeMilli("a") + freeMilli("b"), 2000);
  ask(Verb::Look, server.pods["p"], {"a", "b", "c"});
  EXPECT_EQ(freeMilli("a") + freeMilli("b") + freeMilli("c"), 3000) << "nor by who only looks";
  nothingIsUnderWay();
  pass(10s);
  run();
  EXPECT_EQ(filter(server.pods["p"], {"c"}).kind, AnswerKind::Chosen);
  EXPECT_EQ(freeMilli("a") + freeMilli("b"), 2000);
  EXPECT_EQ(note("p", kNode), "c");
}

TEST_F(NoAnswers, NothingIsHeldWhileTheServerWantsUsToWait) {
  ask(Verb::Filter, create("p", {{50, 1}}), {"a"});
  kapi::Outcome busy;
  busy.token = sent().token;
  busy.result = CallResult::Refused;
  busy.http = 429;
  busy.retry_after = 60s;
  give(busy);
  pass(3s);
  EXPECT_EQ(freeMilli("a"), 500) << "its scheduler waits for it";
  pass(1s);
  EXPECT_EQ(freeMilli("a"), 1000);
}

TEST_F(NoAnswers, WhatLandsAfterItWasLetGoIsNobodysPromise) {
  ask(Verb::Filter, create("p", {{100, 0}}), {"a"});
  hangFor(8s);
  const RequestId other = ask(Verb::Filter, create("q", {{100, 0}}), {"a"});
  run();
  ASSERT_EQ(got(other, {"a"}), "a");
  model::Pod& late = server.pods["p"];
  late.annotations = {{kNode, "a"}, {kIds0, "0"}};
  late.revision = ++server.revision;
  watchBrings("p");
  EXPECT_EQ(freeMilli("a"), 0);
  pass(5min);
  run();
  EXPECT_EQ(note("p", kNode), "-");
  EXPECT_EQ(note("q", kNode), "a");
}

/// As long as the webhook hangs, and however often they are asked for.
TEST_F(NoAnswers, OfManyPodsHoldNothingAfterTheFirstFewSeconds) {
  std::vector<std::string> pods;
  for (int i = 0; i < 20; ++i) { create(pods.emplace_back(fmt::format("p-{}", i)), {{100, 0}}); }
  (void)heldWhileAskedFor(60s, pods);
  EXPECT_EQ(heldWhileAskedFor(10min, pods), 0s);
  EXPECT_NE(answers[last].text.find("no write in its namespace goes through"), std::string::npos)
      << answers[last].text;
  hangFor(10s);
  model::Pod other = vcudaPod("q", {{100, 0}});
  other.key.ns = "other";
  server.add(other);
  watchBrings("q");
  EXPECT_EQ(filter(server.pods["q"], {"a"}).kind, AnswerKind::Chosen);
}

/// A kube-scheduler asks about one pod after the other, and a removal may hang as the write did.
TEST_F(NoAnswers, KeepNoSchedulerWaitingWhoAsksAgain) {
  ask(Verb::Filter, create("p", {{100, 0}}), {"a"});
  hangFor(3min);
  for (int i = 0; i < 20; ++i) {
    while (arriving.empty()) { hangFor(500ms); }
    isRefusedAtOnce("p");
    nothingIsUnderWay();
    pass(1s);
    isRefusedAtOnce("p");  // nothing is tried again at once
    pass(9s);
  }
}

/// Those whose writes go through say nothing of those whose writes do not, and do not wait for them.
TEST_F(NoAnswers, OfSomePodsKeepNoOthersOfTheNamespaceWaiting) {
  addNode(gpuNode("b", 1));
  std::vector<std::string> sick;
  for (int i = 0; i < 20; ++i) { create(sick.emplace_back(fmt::format("p-{}", i)), {{100, 0}}); }
  (void)heldWhileAskedFor(60s, sick);
  for (int i = 0; i < 20; ++i) {
    const std::string well = fmt::format("well-{}", i);
    create(well, {{100, 0}});
    Duration waited{};
    for (; note(well, kNode) != "b"; waited += 5s) {
      ASSERT_LE(waited, 40s) << well;
      ask(Verb::Filter, server.pods[well], {"b"});
      const bool is_under_way = std::any_of(calls.begin(), calls.end(),
                                            [&](const kapi::Call& call) { return call.key.name == well; });
      EXPECT_TRUE(is_under_way || freeMilli("b") == 1000) << "what is held is written at once";
      EXPECT_EQ(heldWhileAskedFor(5s, sick), 0s);
    }
    const model::Pod gone = server.pods[well];
    server.pods.erase(well);
    watchRemoves(gone);
  }
}

TEST_F(NoAnswers, APodThatHasItsNodeIsNotMovedUntilAWriteGoesThrough) {
  addNode(gpuNode("b", 1));
  ASSERT_EQ(filter(create("told", {{100, 0}}), {"a"}).kind, AnswerKind::Chosen);
  for (int i = 0; i < 6; ++i) {
    ask(Verb::Filter, create(fmt::format("p-{}", i), {{100, 0}}), {"b"});
    hangFor(8s);
  }
  const RequestId request_id = ask(Verb::Filter, server.pods["told"], {"b"});
  EXPECT_EQ(answers[request_id].kind, AnswerKind::Failed);
  EXPECT_EQ(freeMilli("a"), 0) << "a Binding may come";
  EXPECT_EQ(freeMilli("b"), 1000);
  for (int i = 0; i < 30; ++i) {
    hangFor(4s);
    ask(Verb::Filter, server.pods["told"], {"b"});
    EXPECT_EQ(freeMilli("a"), 0);
    EXPECT_EQ(freeMilli("b"), 1000);
  }
  hangFor(1min);
  pass(1min);
  run();
  const RequestId again = ask(Verb::Filter, server.pods["told"], {"b"});
  run();
  EXPECT_EQ(got(again, {"b"}), "b");
  EXPECT_EQ(freeMilli("a"), 1000);
}

}  // namespace
}  // namespace gs::extender
