// The protocol of a binding cycle, as tables: which answer comes in which stage, and what follows from it
// (scheduler/pending/binding_cycle.h has the stages).
#include "scheduler/placing/binder.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/annotations.h"
#include "scheduler/parts_test.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;
using kapi::CallResult;

/// How the API server answers, or nobody does.
enum class Answer {
  Applied,     // 2xx
  NotSent,     // no connection
  NoAnswer,    // sent, and the connection was lost
  Error500,    // which says as little
  Forbidden,   // 403
  NotFound,    // 404 of the API server itself
  Proxy404,    // 404 of somebody on the way
  Conflict,    // 409
  Invalid,     // 422
  TooMany429,  // "try again later"
};

/// What a GET or a fence that was Applied shows of the pod.
enum class Shows {
  Waiting,    // as it was
  Bound,      // as it was decided
  Elsewhere,  // bound to another node
  Deleting,
  Fenced,   // by somebody else, since it was decided
  Another,  // of the same name, with another uid
};

const char* textOf(std::optional<Stage> stage) {
  if (!stage) { return "gone"; }
  switch (*stage) {
    case Stage::Leasing: return "Leasing";
    case Stage::Volumes: return "Volumes";
    case Stage::Allocating: return "Allocating";
    case Stage::Binding: return "Binding";
    case Stage::Reading: return "Reading";
    case Stage::Fencing: return "Fencing";
    case Stage::Releasing: return "Releasing";
    case Stage::Bound: return "Bound";
  }
  return "?";
}

std::string textOf(const kapi::Call& call) {
  if (call.subresource == "binding") { return "bind"; }
  if (call.kind == kapi::kPod && call.subresource == "status") { return "fence"; }
  const std::string what = call.kind == kapi::kPod ? " pod" : call.kind == kapi::kLease ? " lease" : " ?";
  switch (call.verb) {
    case kapi::Verb::Get: return "get" + what;
    case kapi::Verb::Create: return "create" + what;
    case kapi::Verb::Update: return "update" + what;
    case kapi::Verb::Delete: return "delete" + what;
    default: return "?" + what;
  }
}

std::string textOf(Answer answer, Shows shows) {
  switch (answer) {
    case Answer::Applied: break;
    case Answer::NotSent: return "NotSent";
    case Answer::NoAnswer: return "NoAnswer";
    case Answer::Error500: return "500";
    case Answer::Forbidden: return "403";
    case Answer::NotFound: return "404";
    case Answer::Proxy404: return "404OfAProxy";
    case Answer::Conflict: return "409";
    case Answer::Invalid: return "422";
    case Answer::TooMany429: return "429";
  }
  switch (shows) {
    case Shows::Waiting: return "Applied";
    case Shows::Bound: return "AppliedShowsItBound";
    case Shows::Elsewhere: return "AppliedShowsItBoundElsewhere";
    case Shows::Deleting: return "AppliedShowsItDeleting";
    case Shows::Fenced: return "AppliedShowsAnotherFence";
    case Shows::Another: return "AppliedShowsAnotherPod";
  }
  return "?";
}

kapi::Outcome outcomeOf(Answer answer) {
  kapi::Outcome o;
  const auto refused = [&](int http, const char* reason) {
    o.result = CallResult::Refused;
    o.http = http;
    o.reason = reason;
  };
  switch (answer) {
    case Answer::Applied:
      o.result = CallResult::Applied;
      o.http = 200;
      break;
    case Answer::NotSent: o.result = CallResult::NotSent; break;
    case Answer::NoAnswer: o.result = CallResult::Unknown; break;
    case Answer::Error500:
      o.result = CallResult::Unknown;
      o.http = 500;
      break;
    case Answer::Forbidden: refused(403, "Forbidden"); break;
    case Answer::NotFound: refused(404, "NotFound"); break;
    case Answer::Proxy404: refused(404, ""); break;
    case Answer::Conflict: refused(409, "Conflict"); break;
    case Answer::Invalid: refused(422, "Invalid"); break;
    case Answer::TooMany429: refused(429, "TooManyRequests"); break;
  }
  return o;
}

struct Row {
  Stage stage{};
  Answer answer{};
  const char* next = "";         // stage, or "gone"
  const char* now = "";          // the call that leaves at once, "" none
  const char* later = "";        // and when a first wait (200 ms) is over
  Shows shows = Shows::Waiting;  // where the answer has the pod
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << textOf(row.stage) << " -> " << row.next << " (" << row.now << ", " << row.later << ")";
}

/// A pod that was given GPU 0 of node a.
class BindingCycles : public ::testing::Test {
 protected:
  BindingCycles() {
    t.claim("one", 1);
    t.node("a", 4);
  }
  /// Decides, and takes the binding cycle to that stage; its call is open then.
  void reach(Stage stage) {
    const model::Pod& pod = t.pod("p");
    t.binder.begin(pod, t.requestOf(pod), {model::NodeName{"a"}, {0}});
    settle();
    if (stage == Stage::Leasing) { return; }
    apply();
    if (stage == Stage::Reading) { answer(Answer::Conflict); }
    if (stage == Stage::Fencing) { answer(Answer::NoAnswer); }
    if (stage == Stage::Releasing) { answer(Answer::Forbidden); }
    if (stage != Stage::Bound) { return; }
    apply();
    t.pass(11s);  // its event is overdue
    t.binder.readOverdue(uid());
    settle();
  }
  /// As Scheduler does: the pod is reconciled, and calls that can leave do.
  void settle() {
    const model::Pod* pod = t.c.cache().pod(uid());
    if (pod == nullptr) {
      t.c.parts.podEnded(uid());
    } else if (pod->bound()) {
      (void)t.binder.bound(*pod);
    }
    t.work();
    for (auto& call : t.calls()) {
      for (const auto& [key, value] : call.body["metadata"]["annotations"].members()) {
        if (call.subresource == "binding") { told_[key] = value.str(); }
      }
      open_.push_back(std::move(call));
    }
  }
  /// The open call is answered.
  void answer(Answer how, Shows shows = Shows::Waiting) {
    ASSERT_EQ(open_.size(), 1U);
    const kapi::Call call = std::exchange(open_, {}).front();
    kapi::Outcome o = outcomeOf(how);
    o.token = call.token;
    if (how == Answer::Applied && call.kind == kapi::kPod && call.subresource != "binding") {
      o.object = podAs(shows, call);
    }
    ASSERT_TRUE(t.c.parts.handle(o, t.c.now, t.c.out));
    settle();
  }
  /// The open call is carried out as the API server does it.
  void apply() {
    ASSERT_EQ(open_.size(), 1U);
    t.apply(std::exchange(open_, {}).front());
    settle();
  }
  model::Object podAs(Shows shows, const kapi::Call& call) {
    model::Pod pod = *t.known("p");
    pod.revision += 1'000;
    for (const auto& [key, value] : call.body["metadata"]["annotations"].members()) {
      pod.annotations[key] = value.str();  // a fence
    }
    switch (shows) {
      case Shows::Waiting: break;
      case Shows::Bound:
        pod.node = model::NodeName{"a"};
        for (const auto& [key, value] : told_) { pod.annotations[key] = value; }
        break;
      case Shows::Elsewhere: pod.node = model::NodeName{"b"}; break;
      case Shows::Deleting: pod.deleting = true; break;
      case Shows::Fenced: pod.annotations[model::kFenceKey] = "of another leader"; break;
      case Shows::Another: pod.uid = model::Uid{"uid-another"}; break;
    }
    return std::make_shared<const model::Pod>(pod);
  }
  /// What leaves; several at once would be "a, b".
  [[nodiscard]] std::string leaving() const {
    std::string out;
    for (const auto& call : open_) { out += (out.empty() ? "" : ", ") + textOf(call); }
    return out;
  }
  [[nodiscard]] std::string stage() const { return textOf(t.binder.stageOf(uid())); }
  static model::Uid uid() { return TestParts::uid("p"); }

  TestParts t;
  std::vector<kapi::Call> open_;
  std::map<std::string, std::string> told_;  // what its last Binding says to the pod
};

class BinderTest : public BindingCycles, public ::testing::WithParamInterface<Row> {};

std::vector<Row> ofALease() {
  using enum Answer;
  return {
      {Stage::Leasing, Applied, "Binding", "bind", ""},
      {Stage::Leasing, NotSent, "Leasing", "", "create lease"},
      {Stage::Leasing, NoAnswer, "Leasing", "", "get lease"},
      {Stage::Leasing, Error500, "Leasing", "", "get lease"},
      {Stage::Leasing, Forbidden, "gone", "", ""},
      {Stage::Leasing, NotFound, "gone", "", ""},
      {Stage::Leasing, Proxy404, "gone", "", ""},
      {Stage::Leasing, Conflict, "Leasing", "get lease", ""},
      {Stage::Leasing, Invalid, "gone", "", ""},
      {Stage::Leasing, TooMany429, "Leasing", "", "create lease"},
  };
}
std::vector<Row> ofABinding() {
  using enum Answer;
  return {
      {Stage::Binding, Applied, "Bound", "", ""},
      {Stage::Binding, NotSent, "Binding", "", "bind"},
      {Stage::Binding, NoAnswer, "Fencing", "fence", ""},
      {Stage::Binding, Error500, "Fencing", "fence", ""},
      {Stage::Binding, Forbidden, "Releasing", "delete lease", ""},
      {Stage::Binding, NotFound, "Releasing", "delete lease", ""},
      {Stage::Binding, Proxy404, "Releasing", "delete lease", ""},
      {Stage::Binding, Conflict, "Reading", "get pod", ""},
      {Stage::Binding, Invalid, "Releasing", "delete lease", ""},
      {Stage::Binding, TooMany429, "Binding", "", "bind"},
  };
}
std::vector<Row> ofALiveRead() {
  using enum Answer;
  using enum Shows;
  return {
      {Stage::Reading, Applied, "Binding", "bind", "", Waiting},
      {Stage::Reading, Applied, "gone", "", "", Shows::Bound},
      {Stage::Reading, Applied, "gone", "delete lease", "", Elsewhere},
      {Stage::Reading, Applied, "Releasing", "delete lease", "", Deleting},
      {Stage::Reading, Applied, "Releasing", "delete lease", "", Fenced},
      {Stage::Reading, Applied, "gone", "", "", Another},
      {Stage::Reading, NotSent, "Reading", "", "get pod"},
      {Stage::Reading, NoAnswer, "Reading", "", "get pod"},
      {Stage::Reading, Error500, "Reading", "", "get pod"},
      {Stage::Reading, Forbidden, "Reading", "", "get pod"},
      {Stage::Reading, NotFound, "gone", "", ""},
      {Stage::Reading, Proxy404, "Reading", "", "get pod"},
      {Stage::Reading, Conflict, "Reading", "", "get pod"},
      {Stage::Reading, Invalid, "Reading", "", "get pod"},
      {Stage::Reading, TooMany429, "Reading", "", "get pod"},
  };
}
std::vector<Row> ofAFence() {
  using enum Answer;
  using enum Shows;
  return {
      {Stage::Fencing, Applied, "Releasing", "delete lease", "", Waiting},
      {Stage::Fencing, Applied, "gone", "", "", Shows::Bound},
      {Stage::Fencing, Applied, "gone", "", "", Elsewhere},
      {Stage::Fencing, Applied, "Releasing", "delete lease", "", Deleting},
      {Stage::Fencing, Applied, "Fencing", "", "fence", Fenced},
      {Stage::Fencing, Applied, "Fencing", "", "fence", Another},
      {Stage::Fencing, NotSent, "Fencing", "", "fence"},
      {Stage::Fencing, NoAnswer, "Fencing", "", "fence"},
      {Stage::Fencing, Error500, "Fencing", "", "fence"},
      {Stage::Fencing, Forbidden, "Fencing", "", "fence"},
      {Stage::Fencing, NotFound, "Fencing", "get pod", "fence"},
      {Stage::Fencing, Proxy404, "Fencing", "get pod", "fence"},
      {Stage::Fencing, Conflict, "Fencing", "", "fence"},
      {Stage::Fencing, Invalid, "Fencing", "get pod", "fence"},
      {Stage::Fencing, TooMany429, "Fencing", "", "fence"},
  };
}
std::vector<Row> ofGivingBack() {
  using enum Answer;
  return {
      {Stage::Releasing, Applied, "gone", "", ""},
      {Stage::Releasing, NotSent, "Releasing", "", "delete lease"},
      {Stage::Releasing, NoAnswer, "Releasing", "", "get lease"},
      {Stage::Releasing, Error500, "Releasing", "", "get lease"},
      {Stage::Releasing, Forbidden, "Releasing", "", "delete lease"},
      {Stage::Releasing, NotFound, "gone", "", ""},
      {Stage::Releasing, Proxy404, "Releasing", "", "delete lease"},
      {Stage::Releasing, Conflict, "Releasing", "get lease", ""},
      {Stage::Releasing, Invalid, "Releasing", "", "delete lease"},
      {Stage::Releasing, TooMany429, "Releasing", "", "delete lease"},
  };
}
std::vector<Row> ofAnOverdueEvent() {
  using enum Answer;
  using enum Shows;
  return {
      {Stage::Bound, Applied, "Bound", "", "", Waiting},
      {Stage::Bound, Applied, "gone", "", "", Shows::Bound},
      {Stage::Bound, Applied, "gone", "", "", Elsewhere},
      {Stage::Bound, NotSent, "Bound", "", ""},
      {Stage::Bound, NoAnswer, "Bound", "", ""},
      {Stage::Bound, NotFound, "Bound", "", ""},
      {Stage::Bound, Forbidden, "Bound", "", ""},
  };
}

/// "Binding_409" and the like.
std::string nameOf(const ::testing::TestParamInfo<Row>& info) {
  return std::string{textOf(info.param.stage)} + "_" + textOf(info.param.answer, info.param.shows);
}

INSTANTIATE_TEST_SUITE_P(OfALease, BinderTest, ::testing::ValuesIn(ofALease()), nameOf);
INSTANTIATE_TEST_SUITE_P(OfABinding, BinderTest, ::testing::ValuesIn(ofABinding()), nameOf);
INSTANTIATE_TEST_SUITE_P(OfALiveRead, BinderTest, ::testing::ValuesIn(ofALiveRead()), nameOf);
INSTANTIATE_TEST_SUITE_P(OfAFence, BinderTest, ::testing::ValuesIn(ofAFence()), nameOf);
INSTANTIATE_TEST_SUITE_P(OfGivingBack, BinderTest, ::testing::ValuesIn(ofGivingBack()), nameOf);
INSTANTIATE_TEST_SUITE_P(OfAnOverdueEvent, BinderTest, ::testing::ValuesIn(ofAnOverdueEvent()), nameOf);

TEST_P(BinderTest, AnswerLeadsTo) {
  const Row& row = GetParam();
  reach(row.stage);
  ASSERT_EQ(stage(), textOf(row.stage));
  if (row.stage == Stage::Leasing && row.answer == Answer::Applied) {
    apply();
  } else {
    answer(row.answer, row.shows);
  }
  EXPECT_EQ(stage(), row.next);
  EXPECT_EQ(leaving(), row.now);
  const auto at_once = open_.size();
  t.pass(200ms);
  settle();
  open_.erase(open_.begin(), open_.begin() + static_cast<std::ptrdiff_t>(at_once));
  EXPECT_EQ(leaving(), row.later);
}

TEST_F(BindingCycles, AfterThreeConflictsThePodIsFenced) {
  reach(Stage::Reading);
  for (const char* again : {"bind", "bind"}) {
    answer(Answer::Applied);
    EXPECT_EQ(leaving(), again);
    answer(Answer::Conflict);
  }
  answer(Answer::Applied);
  EXPECT_EQ(stage(), "Fencing");
  EXPECT_EQ(leaving(), "fence");
}

/// Its GPUs are others' then.
TEST_F(BindingCycles, WhatTheApiServerTakesNoBindingForIsGivenBackAfterTenSeconds) {
  reach(Stage::Binding);
  const Mono since = t.c.now.mono;
  while (stage() == "Binding") {
    answer(Answer::TooMany429);
    for (int i = 0; stage() == "Binding" && open_.empty() && i < 100; ++i) {
      t.pass(200ms);
      settle();
    }
  }
  EXPECT_EQ(stage(), "Releasing");
  EXPECT_EQ(leaving(), "delete lease");
  EXPECT_LE(t.c.now.mono - since, 10s);
}

/// It may have been bound, so nothing is given back before a fence.
TEST_F(BindingCycles, AConflictThatCannotBeReadIsFencedAfterTenSeconds) {
  reach(Stage::Reading);
  while (stage() == "Reading") {
    answer(Answer::NoAnswer);
    for (int i = 0; stage() == "Reading" && open_.empty() && i < 100; ++i) {
      t.pass(200ms);
      settle();
    }
  }
  EXPECT_EQ(stage(), "Fencing");
  EXPECT_EQ(leaving(), "fence");
}

/// A device that may be used is nobody else's, however long the fence is not answered.
TEST_F(BindingCycles, WhatIsFencedKeepsItsGpus) {
  reach(Stage::Fencing);
  for (int i = 0; i < 20; ++i) {
    answer(Answer::NoAnswer);
    t.pass(10s);
    settle();
    ASSERT_EQ(stage(), "Fencing");
    ASSERT_EQ(leaving(), "fence");
    EXPECT_EQ(t.freeOn("a"), 3);
  }
  answer(Answer::Applied);
  EXPECT_EQ(t.freeOn("a"), 3) << "its lease names it yet";
  answer(Answer::Applied);
  EXPECT_EQ(stage(), "gone");
  EXPECT_EQ(t.freeOn("a"), 4);
}

/// Whoever shares a claim with it would wait for ever, for a pod that is gone perhaps.
TEST(BinderReset, NothingThatWasBegunIsWaitedForInTheNextTerm) {
  TestParts t{Config{}};
  t.node("a", 4);
  t.deviceClass();
  t.resourceClaim("c");
  t.learn(testing::PodBuilder{"p"}.resourceClaim("c"));
  t.learn(testing::PodBuilder{"q"}.resourceClaim("c"));
  const auto of_q = [&] { return t.pending.readDoor(*t.known("q")); };
  const auto first = t.known("p");
  t.binder.begin(*first, t.requestOf(*first), {model::NodeName{"a"}, {0}});
  auto door = of_q();
  ASSERT_TRUE(std::holds_alternative<sched::Blocked>(door));
  EXPECT_EQ(std::get<sched::Blocked>(door).kind, "ResourceClaimBegun");
  t.binder.reset();
  EXPECT_TRUE(std::holds_alternative<sched::PodRequest>(of_q()));
}

}  // namespace
}  // namespace gs::scheduler
