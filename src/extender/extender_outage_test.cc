// What an outage of a namespace's writes leaves behind, and how soon it is over: schedulers as they are ask
// all the time, and some pods' writes come to nothing for ever.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "extender/extender_hand_test.h"
#include "extender/grants/metrics.h"

namespace gs::extender {
namespace {

using kapi::CallResult;

/// How the server answers a write: a webhook that hangs, with all or with promises only, or fails; somebody
/// writes the pod all the time; too many requests; a policy refuses all.
enum class Mode : std::uint8_t { Fine, Hangs, HangsAndLands, PromisesHang, Fails, Conflicts, Busy, Refuses };

bool promises(const kapi::Call& call) { return !call.body["metadata"]["annotations"][kNode].str().empty(); }

class Outage : public ExtenderTest {
 protected:
  Outage() { lead(); }
  void answerAfter(const kapi::Call& call, Duration by, CallResult result, int http) {
    kapi::Outcome outcome;
    outcome.token = call.token;
    outcome.result = result;
    outcome.http = http;
    outcome.retry_after = http == 429 ? retry_after : Duration{};
    arriving.emplace_back(now.mono + by, outcome);
  }
  void send() {
    for (; !calls.empty(); calls.pop_front()) {
      const kapi::Call& call = calls.front();
      const bool is_sick = sick.contains(call.key.name);
      const Mode how = kapi::isRead(call.verb) ? Mode::Fine : is_sick ? of_sick : mode;
      if (how != Mode::Fine) { failed_at[call.key.name].push_back(now.mono); }
      switch (how) {
        case Mode::Fine: arriving.emplace_back(now.mono + 20ms, server.carryOut(call)); break;
        case Mode::HangsAndLands:
          (void)server.carryOut(call);
          answerAfter(call, 3s, CallResult::Unknown, 0);
          break;
        case Mode::PromisesHang:
          if (!promises(call)) {
            arriving.emplace_back(now.mono + 20ms, server.carryOut(call));
            break;
          }
          [[fallthrough]];
        case Mode::Hangs: answerAfter(call, 3s, CallResult::Unknown, 0); break;
        case Mode::Fails: answerAfter(call, 20ms, CallResult::Unknown, 500); break;
        case Mode::Conflicts: answerAfter(call, 20ms, CallResult::Refused, 409); break;
        case Mode::Busy: answerAfter(call, 20ms, CallResult::Refused, 429); break;
        case Mode::Refuses: answerAfter(call, 20ms, CallResult::Refused, 403); break;
      }
    }
  }
  void go(Duration how_long) {
    for (Duration t{}; t < how_long; t += 20ms) {
      send();
      pass(20ms);
      const auto late = std::stable_partition(arriving.begin(), arriving.end(),
                                              [&](const auto& one) { return one.first <= now.mono; });
      const std::vector<std::pair<Mono, kapi::Outcome>> due{arriving.begin(), late};
      arriving.erase(arriving.begin(), late);
      for (const auto& [at, outcome] : due) { give(outcome); }
    }
  }

  Mode mode = Mode::Fine;
  Mode of_sick = Mode::Hangs;
  std::set<std::string> sick;  // pods
  Duration retry_after{};
  std::map<std::string, std::vector<Mono>> failed_at;
  std::vector<std::pair<Mono, kapi::Outcome>> arriving;
};

/// A kube-scheduler: one pod after the other, each again after 1 s, then twice that, up to 10 s.
struct Asking {
  std::string pod;
  Mono next{};
  int tries = 0;
  bool is_told = false;
};

class Recovery : public Outage {
 protected:
  /// In the place of all others.
  void create(int n, int of_them_sick) {
    addNode(gpuNode("a", n));
    for (const Asking& pod : std::exchange(pods, {})) {
      const model::Pod gone = server.pods[pod.pod];
      server.pods.erase(pod.pod);
      watchRemoves(gone);
    }
    ++made;
    for (int i = 0; i < n; ++i) {
      pods.push_back({fmt::format("p-{}-{}", made, i)});
      ExtenderTest::create(pods.back().pod, {{100, 0}});
      if (i < of_them_sick) { sick.insert(pods.back().pod); }
    }
  }
  /// Whose turn it is.
  Asking* next() {
    const auto first = std::min_element(pods.begin(), pods.end(), [](const Asking& a, const Asking& b) {
      return std::pair{a.is_told, a.next} < std::pair{b.is_told, b.next};
    });
    return first->is_told || first->next > now.mono ? nullptr : &*first;
  }
  void scheduleFor(Duration how_long) {
    for (const Mono end = now.mono + how_long; now.mono < end;) {
      Asking* pod = next();
      if (pod == nullptr) {
        go(20ms);
        continue;
      }
      const RequestId request_id = ask(Verb::Filter, server.pods[pod->pod], {"a"});
      while (!answers.contains(request_id)) { go(20ms); }
      pod->is_told = answers[request_id].kind == AnswerKind::Chosen;
      pod->next = now.mono + std::min<Duration>(10s, 1s * (1 << std::min(pod->tries++, 4)));
    }
  }
  [[nodiscard]] std::ptrdiff_t waiting() const {
    return std::count_if(pods.begin(), pods.end(), [](const Asking& pod) { return !pod.is_told; });
  }
  std::vector<Asking> pods;
  int made = 0;
};

TEST_F(Recovery, AllPodsAreToldSoonAfterTheWebhookIsThereAgain) {
  for (const Mode how : {Mode::Hangs, Mode::Fails, Mode::Busy}) {
    create(100, 0);
    mode = how;
    retry_after = how == Mode::Busy ? 1s : 0s;
    scheduleFor(2min);
    ASSERT_EQ(waiting(), 100);
    ASSERT_EQ(freeMilli("a"), 100'000) << "nothing is held meanwhile";
    mode = Mode::Fine;
    scheduleFor(25s);
    EXPECT_EQ(waiting(), 0);
  }
}

/// Some that are asked for first each time, and for ever; of many no write of the namespace seems to go
/// through.
TEST_F(Recovery, SickPodsKeepNoOtherFromBeingTold) {
  for (const auto& [how, are_sick] :
       {std::pair{Mode::Hangs, 1}, {Mode::Fails, 1}, {Mode::Conflicts, 1}, {Mode::Fails, 60}}) {
    create(are_sick + 19, are_sick);
    of_sick = how;
    mode = Mode::Busy;
    retry_after = 1s;
    scheduleFor(1min);
    mode = Mode::Fine;
    scheduleFor(40s);
    EXPECT_EQ(waiting(), are_sick);
  }
}

/// A write whose answer is lost is found by a read.
TEST_F(Recovery, WhatLandedWithoutAnAnswerIsTold) {
  create(20, 0);
  mode = Mode::HangsAndLands;
  scheduleFor(3min);
  EXPECT_EQ(waiting(), 0);
  for (const Asking& pod : pods) { EXPECT_EQ(pod.tries, 1) << pod.pod; }
}

TEST_F(Outage, WhatLandsUnheardIsReadBeforeItIsLetGo) {
  addNode(gpuNode("a", 1));
  mode = Mode::Hangs;
  ask(Verb::Filter, create("p", {{100, 0}}), {"a"});
  go(2s);
  mode = Mode::HangsAndLands;  // the second one, for whose answer nobody waits any more
  go(7s);
  EXPECT_EQ(note("p", kNode), "a");
  EXPECT_EQ(freeMilli("a"), 0);
}

TEST_F(Outage, NothingIsHeldForWhoGaveItBackWhileItCouldNotBeWritten) {
  addNode(gpuNode("a", 1));
  mode = Mode::Hangs;
  ask(Verb::Allocate, create("p", {{100, 0}}), {"a"});
  go(4s);
  ask(Verb::Deallocate, server.pods["p"], {});
  go(10s);
  EXPECT_EQ(freeMilli("a"), 1000);
}

TEST_F(Outage, WhatMayStillLandIsTakenOffWithinAMinuteOfItsEnd) {
  addNode(gpuNode("a", 1));
  mode = Mode::Fails;
  ask(Verb::Filter, create("p", {{100, 0}}), {"a"});
  go(15min);
  ASSERT_EQ(extender.grants().removing, 1U);
  mode = Mode::Fine;
  go(61s);
  EXPECT_EQ(extender.grants().removing, 0U);
}

/// However often it was asked for meanwhile: each time its removal was tried again, and failed.
TEST_F(Outage, WhatNobodyPromisedIsSoonTakenOffWhoeverAsksForItsPodThoughItFitsNowhere) {
  addNode(gpuNode("a", 1));
  addNode(gpuNode("full", 1));
  ASSERT_EQ(filter(create("other", {{100, 0}}), {"full"}).kind, AnswerKind::Chosen);
  for (const Mode how : {Mode::Refuses, Mode::Conflicts, Mode::Busy}) {
    const std::string name = fmt::format("p-{}", static_cast<int>(how));
    create(name, {{100, 0}});
    server.pods[name].annotations = {{kNode, "a"}, {kIds0, "0"}};
    server.pods[name].revision = ++server.revision;
    watchBrings(name);
    const auto isAskedFor = [&](int seconds, const std::string& node) {
      for (int i = 0; i < seconds; ++i) {
        ask(Verb::Filter, server.pods[name], {node});
        go(1s);
      }
    };
    mode = how;
    isAskedFor(180, "a");
    ASSERT_EQ(note(name, kNode), "a");
    mode = Mode::Fine;
    isAskedFor(11, "full");
    EXPECT_EQ(note(name, kNode), "-") << name;
    EXPECT_EQ(extender.grants().removing, 0U);
  }
}

TEST_F(Outage, NorForWhoFindsNoNodeAnyMore) {
  addNode(gpuNode("a", 1));
  addNode(gpuNode("full", 1));
  ASSERT_EQ(filter(create("other", {{100, 0}}), {"full"}).kind, AnswerKind::Chosen);
  mode = Mode::Fails;
  ask(Verb::Filter, create("p", {{100, 0}}), {"a"});
  go(1s);
  ask(Verb::Filter, server.pods["p"], {"full"});
  go(10s);
  EXPECT_EQ(freeMilli("a"), 1000);
}

/// It was told a, and never b.
TEST_F(Outage, APodThatWasToMoveHasOnlyWhatItWasToldOf) {
  addNode(gpuNode("a", 4));
  addNode(gpuNode("b", 4));
  for (const char* pod : {"p", "q", "r", "s"}) {
    ASSERT_EQ(filter(create(pod, {{100, 0}}), {"a"}).kind, AnswerKind::Chosen);
  }
  mode = Mode::Hangs;
  for (const char* pod : {"p", "q", "r", "s"}) { ask(Verb::Filter, server.pods[pod], {"b"}); }
  go(15s);
  EXPECT_EQ(freeMilli("a"), 0) << "a Binding may come";
  EXPECT_EQ(freeMilli("b"), 4000);
  for (const char* pod : {"p", "q", "r", "s"}) { ask(Verb::Filter, server.pods[pod], {"b"}); }
  EXPECT_EQ(freeMilli("b"), 4000);
  mode = Mode::Fine;
  go(1min);
  EXPECT_EQ(freeMilli("a"), 4000);
  EXPECT_EQ(filter(server.pods["p"], {"b"}).kind, AnswerKind::Chosen);
}

/// Also where other pods of its namespace are written.
TEST_F(Outage, NorIsItMovedBeforeWhatItHasIsTakenOff) {
  addNode(gpuNode("a", 1));
  addNode(gpuNode("b", 2));
  ASSERT_EQ(filter(create("p", {{100, 0}}), {"a"}).kind, AnswerKind::Chosen);
  sick = {"p"};
  ask(Verb::Filter, server.pods["p"], {"b"});
  go(10s);
  ask(Verb::Filter, create("q", {{100, 0}}), {"b"});
  go(100ms);
  ASSERT_EQ(note("q", kNode), "b");
  for (int i = 0; i < 20; ++i) {
    ask(Verb::Filter, server.pods["p"], {"b"});
    EXPECT_EQ(freeMilli("b"), 1000);
    EXPECT_EQ(freeMilli("a"), 0);
    go(1500ms);
  }
}

/// Of a session that asks about one node after the other it is the last that says that there is none.
TEST_F(Outage, APodOfASessionKeepsItsNodeWhileOthersAreAskedAbout) {
  addNode(gpuNode("a", 1));
  addNode(gpuNode("b", 1));
  addNode(gpuNode("c", 8));
  const RequestId request_id = ask(Verb::Predicate, create("p", {{100, 0}}), {"a"});
  go(100ms);
  ASSERT_EQ(got(request_id, {"a"}), "a");
  mode = Mode::Fails;
  for (int i = 0; i < 5; ++i) { ask(Verb::Filter, create(fmt::format("q-{}", i), {{100, 0}}), {"c"}); }
  go(20s);  // longer than it is held for this session
  ask(Verb::Predicate, server.pods["p"], {"b"});
  mode = Mode::Fine;
  go(1s);
  EXPECT_EQ(note("p", kNode), "a");
  EXPECT_EQ(freeMilli("a"), 0);
}

/// A webhook may let all pass but promises.
TEST_F(Outage, WhoShowsThatItCanBeWrittenAndCannotIsTriedMoreSeldom) {
  addNode(gpuNode("a", 1));
  create("p", {{100, 0}});
  mode = Mode::PromisesHang;
  Duration held{};
  for (int i = 0; i < 600; ++i) {
    if (i % 5 == 0) { ask(Verb::Filter, server.pods["p"], {"a"}); }
    go(1s);
    held += freeMilli("a") == 0 ? 1s : 0s;
  }
  EXPECT_LE(held, 4min) << std::chrono::duration_cast<std::chrono::seconds>(held).count();
}

TEST_F(Outage, WhoShowedItOnceShowsItAgainInTheNextOutage) {
  addNode(gpuNode("a", 1));
  addNode(gpuNode("c", 8));
  create("p", {{100, 0}});
  const auto othersFail = [&](const std::string& names) {
    mode = Mode::Fails;
    for (int i = 0; i < 5; ++i) {
      ask(Verb::Filter, create(fmt::format("{}-{}", names, i), {{100, 0}}), {"c"});
    }
    go(10s);
  };
  othersFail("first");
  mode = Mode::Fine;
  ask(Verb::Filter, server.pods["p"], {"a"});
  EXPECT_EQ(freeMilli("a"), 1000);
  EXPECT_EQ(extender.grants().showed, 0U);
  go(1s);
  EXPECT_GE(extender.grants().showed, 1U);
  ask(Verb::Filter, server.pods["p"], {"a"});
  go(1s);
  ASSERT_EQ(note("p", kNode), "a");
  ask(Verb::Deallocate, server.pods["p"], {});
  go(1s);
  ASSERT_EQ(freeMilli("a"), 1000);
  othersFail("second");
  ask(Verb::Filter, server.pods["p"], {"a"});
  EXPECT_EQ(freeMilli("a"), 1000);
}

TEST_F(Outage, TheWordsOfARefusalAreTold) {
  addNode(gpuNode("a", 1));
  ask(Verb::Filter, create("p", {{100, 0}}), {"a"});
  kapi::Outcome outcome;
  outcome.token = sent().token;
  outcome.result = CallResult::Unknown;
  outcome.http = 500;
  give(outcome);
  pass(1s);
  give(server.carryOut(sent()));  // the read
  outcome.token = sent().token;
  outcome.result = CallResult::Refused;
  outcome.http = 403;
  outcome.message = "said by a policy";
  give(outcome);
  const RequestId again = ask(Verb::Filter, server.pods["p"], {"a"});
  EXPECT_NE(got(again, {"a"}).find("said by a policy"), std::string::npos) << got(again, {"a"});
}

/// Nor does anybody wait for a write that comes too late for him.
TEST_F(Outage, WhoAsksAgainAndAgainHoldsNothingThatCannotBeWritten) {
  addNode(gpuNode("a", 1));
  mode = Mode::Busy;
  retry_after = 60s;
  create("p", {{100, 0}});
  Duration held{};
  for (int i = 0; i < 600; ++i) {
    if (i % 3 == 0) { ask(Verb::Filter, server.pods["p"], {"a"}); }
    go(1s);
    held += freeMilli("a") == 0 ? 1s : 0s;
  }
  EXPECT_LE(held, 10s);
}

TEST_F(Outage, WhatTheServerAskedForIsWaited) {
  addNode(gpuNode("a", 1));
  mode = Mode::Busy;
  retry_after = 60s;
  create("p", {{100, 0}});
  for (int i = 0; i < 13; ++i) {
    ask(Verb::Filter, server.pods["p"], {"a"});
    go(5s);
  }
  EXPECT_EQ(failed_at["p"].size(), 2U) << "at once and after a minute";
}

/// Of a pod that no watch shows, too.
TEST_F(Outage, APodThatNobodyKnowsIsNotWrittenAgainAtOnce) {
  addNode(gpuNode("a", 1));
  mode = Mode::Busy;
  model::Pod unknown = server.add(vcudaPod("p", {{100, 0}}));
  for (int i = 0; i < 20; ++i) {
    ask(Verb::Filter, unknown, {"a"});
    go(4s);
  }
  EXPECT_LE(failed_at["p"].size(), 14U);
  EXPECT_EQ(freeMilli("a"), 1000);
}

TEST_F(Outage, ABindingToWhatWasGivenUpBeforeItIsCountedStill) {
  isReservedAndGivenUp("p", {100, 0}, gpuNode("a", 1));
  addNode(gpuNode("b", 1));
  mode = Mode::Fails;
  ask(Verb::Filter, server.pods["p"], {"b"});
  go(10s);
  counted.clear();
  bindTo("p", "a");
  EXPECT_EQ(counted[kLateForeignBinds], 1);
}

/// Annotations that nobody promised are being taken off a pod that showed that it can be written. So it is
/// given a node meanwhile, though no other write of its namespace goes through.
TEST_F(Outage, WhoAsksForAPodThatWasGivenANodeWhileNotesWereTakenOffItIsAnswered) {
  addNode(gpuNode("a", 1));
  addNode(gpuNode("c", 8));
  create("p", {{100, 0}});
  const auto isNoted = [&] {
    server.pods["p"].annotations = {{kNode, "a"}, {kIds0, "0"}};
    server.pods["p"].revision = ++server.revision;
    watchBrings("p");
  };
  isNoted();
  go(11s);
  ASSERT_EQ(note("p", kNode), "-");
  ASSERT_EQ(extender.grants().showed, 1U);
  isNoted();
  pass(10s);
  const kapi::Call removal = sent();
  mode = Mode::Fails;
  for (int i = 0; i < 5; ++i) { ask(Verb::Filter, create(fmt::format("q-{}", i), {{100, 0}}), {"c"}); }
  go(40ms);
  const RequestId first = ask(Verb::Filter, server.pods["p"], {"a"});
  ASSERT_EQ(answers[first].kind, AnswerKind::Failed) << "nobody is kept waiting";
  ASSERT_EQ(freeMilli("a"), 0) << "it has its node";
  mode = Mode::Fine;
  go(1s);
  const RequestId again = ask(Verb::Filter, server.pods["p"], {"a"});
  ASSERT_EQ(got(again, {"a"}), "") << "it waits, since others are written again";
  give(server.carryOut(removal));
  go(1s);
  EXPECT_EQ(got(again, {"a"}), "a");
  EXPECT_EQ(note("p", kNode), "a");
}

}  // namespace
}  // namespace gs::extender
