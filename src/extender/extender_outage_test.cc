// What an outage of a namespace's writes leaves behind, and how soon it is over: schedulers as they are ask all
// the time, and some pods' writes come to nothing for ever.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "extender/extender_hand_test.h"
#include "extender/grants/metrics.h"

namespace gs::extender {
namespace {

using kapi::CallResult;

/// How the server answers a write: a webhook that hangs, one that fails; somebody writes the pod all the time;
/// too many requests.
enum class Mode : std::uint8_t { Fine, Hangs, HangsAndLands, Fails, Conflicts, Busy };

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
        case Mode::Hangs: answerAfter(call, 3s, CallResult::Unknown, 0); break;
        case Mode::Fails: answerAfter(call, 20ms, CallResult::Unknown, 500); break;
        case Mode::Conflicts: answerAfter(call, 20ms, CallResult::Refused, 409); break;
        case Mode::Busy: answerAfter(call, 20ms, CallResult::Refused, 429); break;
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

/// One that is asked for first each time, and for ever.
TEST_F(Recovery, ASickPodKeepsNoOtherFromBeingTold) {
  for (const Mode how : {Mode::Hangs, Mode::Fails, Mode::Conflicts}) {
    create(20, 1);
    of_sick = how;
    mode = Mode::Busy;
    retry_after = 1s;
    scheduleFor(1min);
    mode = Mode::Fine;
    scheduleFor(40s);
    EXPECT_EQ(waiting(), 1);
  }
}

/// A write whose answer is lost is found by a read.
TEST_F(Recovery, WhatLandedWithoutAnAnswerIsTold) {
  create(20, 0);
  mode = Mode::HangsAndLands;
  scheduleFor(3min);
  EXPECT_EQ(waiting(), 0);
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

}  // namespace
}  // namespace gs::extender
