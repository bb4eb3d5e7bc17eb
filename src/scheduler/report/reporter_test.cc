#include "scheduler/report/reporter.h"

#include <gtest/gtest.h>

#include "kapi/kinds.h"
#include "testing/builders.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;
using kapi::CallResult;

/// Pods "p", "q", ... wait; what the reporter writes is answered by the test.
class ReporterTest : public ::testing::Test {
 protected:
  ReporterTest() { put("p", 1); }

  static model::Uid uid(const std::string& pod) { return model::Uid{"uid-" + pod}; }
  void put(const char* name, model::Revision revision, model::ScheduledCondition says = {},
           const char* ns = "default") {
    model::Pod pod = testing::PodBuilder(name).revision(revision).value();
    pod.scheduled = std::move(says);
    pod.key.ns = ns;
    cache.putPod(std::make_shared<const model::Pod>(std::move(pod)));
  }
  void waits(const char* pod, const char* kind, const char* text,
             sched::PodReason reason = sched::PodReason::Unschedulable) {
    reporter.waiting(uid(pod), kind, reason, std::make_shared<const std::string>(text));
  }
  /// Pumps. The conditions and events written, in order.
  std::vector<kapi::Call> sent() {
    kapi::Effects out;
    reporter.pump(
        now.mono, now, [this](const model::Uid& u) { return open.contains(u); }, out);
    std::vector<kapi::Call> calls;
    for (auto& effect : out) { calls.push_back(std::get<kapi::Call>(std::move(effect))); }
    return calls;
  }
  /// Pumps. What the conditions written say: "pod: text; ".
  std::string said() {
    std::string text;
    for (const auto& call : last = sent()) {
      if (call.kind != kapi::kPod) { continue; }
      text += call.key.name + ": " + std::string{condition(call)["message"].str()} + "; ";
    }
    return text;
  }
  static json::Value condition(const kapi::Call& call) { return call.body["status"]["conditions"].at(0); }
  /// The pod that was written to, as the answer says.
  std::optional<model::Uid> answer(const kapi::Call& call, CallResult result = CallResult::Applied,
                                   int http = 200, Duration retry_after = {}) {
    kapi::Outcome o;
    o.token = call.token;
    o.result = result;
    o.http = http;
    o.retry_after = retry_after;
    kapi::Effects out;
    reporter.handle(o, now, out);
    const auto written = reporter.takeWritten();
    EXPECT_LE(written.size(), 1U);
    return written.empty() ? std::nullopt : std::optional{written.at(0).first};
  }
  void answerAll409() {
    answer(last.at(0), CallResult::Refused, 409);
    for (std::size_t i = 1; i < last.size(); ++i) { answer(last.at(i)); }
  }
  void answerAll() {
    for (const auto& call : last) { answer(call); }
  }
  void pass(Duration by) {
    now.mono += by;
    now.wall += std::chrono::duration_cast<std::chrono::microseconds>(by);
  }

  static constexpr int kMost = 8;  // one namespace alone has half of it
  engine::Cache cache;
  controller::EventRecorder events{"gpu-scheduler", "gpu-scheduler-0", Rng{1}};
  controller::Parts parts;
  Reporter reporter{cache, events, kMost, parts};
  std::set<model::Uid> open;     // pods with a Binding or fence under way
  std::vector<kapi::Call> last;  // what said() saw written
  Now now{Mono{1h}, Wall{1'750'000'000s}};
};

TEST_F(ReporterTest, AReasonIsWrittenAsConditionAndEvent) {
  waits("p", "TooFewGpus", "0/1 nodes");
  const auto calls = sent();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].verb, kapi::Verb::StrategicPatch);
  EXPECT_EQ(calls[0].ordering_key, "pod/uid-p");
  EXPECT_EQ(condition(calls[0])["reason"].str(), "Unschedulable");
  EXPECT_EQ(condition(calls[0])["message"].str(), "0/1 nodes");
  EXPECT_EQ(calls[1].kind, kapi::kEvent);
  EXPECT_EQ(calls[1].body["reason"].str(), "FailedScheduling");
  EXPECT_EQ(calls[1].body["type"].str(), "Warning");
  EXPECT_EQ(calls[1].body["note"].str(), "0/1 nodes");
  EXPECT_EQ(calls[1].body["regarding"]["uid"].str(), "uid-p");
  for (const auto& call : calls) {
    EXPECT_TRUE(call.leader_only);
    EXPECT_EQ(kapi::tokenOwner(call.token), 1);
  }
}

TEST_F(ReporterTest, TheConditionHasThePodsReason) {
  waits("p", "ClaimMissing", "gpuclaim \"x\" not found", sched::PodReason::ClaimNotFound);
  const auto calls = sent();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(condition(calls[0])["reason"].str(), "ClaimNotFound");
  EXPECT_EQ(condition(calls[0])["status"].str(), "False");
  EXPECT_EQ(calls[1].body["reason"].str(), "FailedScheduling") << "the event's is the same for all";
}

/// Autoscalers go by it.
TEST_F(ReporterTest, AnotherReasonIsWrittenAtOnce) {
  waits("p", "UntoleratedTaint,ExceedsQuota", "0/2 nodes");
  EXPECT_EQ(said(), "p: 0/2 nodes; ");
  answerAll();
  put("p", 2, {"False", "Unschedulable", "0/2 nodes"});
  waits("p", "UntoleratedTaint,ExceedsQuota", "0/2 nodes", sched::PodReason::QuotaExceeded);
  EXPECT_EQ(said(), "p: 0/2 nodes; ");
  EXPECT_EQ(condition(last.at(0))["reason"].str(), "QuotaExceeded");
  answerAll();
  put("p", 3, {"False", "QuotaExceeded", "0/2 nodes"});
  waits("p", "UntoleratedTaint,ExceedsQuota", "0/2 nodes", sched::PodReason::QuotaExceeded);
  EXPECT_EQ(said(), "");
}

TEST_F(ReporterTest, NothingIsWrittenThatTheConditionSaysAlready) {
  struct Case {
    model::ScheduledCondition says;
    bool written;
  };
  model::Revision revision = 1;
  for (const Case& c :
       {Case{{"False", "Unschedulable", "text"}, false}, Case{{"False", "Unschedulable", "other"}, true},
        Case{{"False", "SchedulingGated", "text"}, true}, Case{{"False", "QuotaExceeded", "text"}, true},
        Case{{"True", "Unschedulable", "text"}, true}}) {
    put("p", ++revision, c.says);
    waits("p", "Kind", "text");
    EXPECT_EQ(!said().empty(), c.written) << c.says.status << " " << c.says.reason << " " << c.says.message;
    reporter.reset();
  }
}

// The condition was written by somebody else, or by a write of ours that had no answer.
TEST_F(ReporterTest, ThereIsNothingToWaitForWhenTheConditionSaysItByNow) {
  waits("p", "TooFewFree", "most free is 2");
  EXPECT_EQ(said(), "p: most free is 2; ");
  answerAll();
  pass(2min);
  put("p", 2, {"False", "Unschedulable", "most free is 1"});
  waits("p", "TooFewFree", "most free is 1");
  EXPECT_EQ(said(), "");
  EXPECT_EQ(reporter.nextDue(), std::nullopt);
}

TEST_F(ReporterTest, AReasonThatChangesAfterABusyAnswerIsLookedAtWhenTheServerSaid) {
  waits("p", "TooFewFree", "most free is 2");
  EXPECT_EQ(said(), "p: most free is 2; ");
  answer(last.at(0), CallResult::Refused, 429, 10min);
  waits("p", "TooFewFree", "most free is 1");
  pass(2min);
  EXPECT_EQ(said(), "");
  EXPECT_EQ(reporter.nextDue(), now.mono + 8min);
}

TEST_F(ReporterTest, AnotherKindOfReasonIsWrittenAtOnce) {
  waits("p", "TooFewGpus", "need 4");
  EXPECT_EQ(said(), "p: need 4; ");
  answerAll();
  waits("p", "Taint", "tainted");
  EXPECT_EQ(said(), "p: tainted; ");
}

TEST_F(ReporterTest, AnotherTextOfTheSameKindIsWrittenAfterAMinute) {
  waits("p", "TooFewGpus", "most is 2");
  (void)said();
  answerAll();
  pass(10s);
  waits("p", "TooFewGpus", "most is 3");
  EXPECT_EQ(said(), "");
  EXPECT_EQ(reporter.nextDue(), now.mono + 50s);
  pass(49s);
  waits("p", "TooFewGpus", "most is 1");
  EXPECT_EQ(said(), "");
  pass(1s);
  EXPECT_EQ(said(), "p: most is 1; ") << "the last wish, and once";
  answerAll();
  waits("p", "TooFewGpus", "most is 4");
  EXPECT_EQ(said(), "");
  pass(1min);
  EXPECT_EQ(said(), "p: most is 4; ") << "and so every minute, without another wish";
}

TEST_F(ReporterTest, ARetryComesBeforeAnotherTextThatIsPlanned) {
  waits("p", "A", "a");
  (void)said();
  answerAll();
  waits("p", "A", "aa");  // in a minute
  EXPECT_EQ(said(), "");
  waits("p", "B", "b");
  EXPECT_EQ(said(), "p: b; ");
  answer(last.at(0), CallResult::Refused, 409);
  EXPECT_EQ(reporter.nextDue(), now.mono + 200ms);
}

TEST_F(ReporterTest, APodThatIsPlacedBeforeTheRetryIsLeftAlone) {
  waits("p", "Kind", "text");
  (void)said();
  answer(last.at(0), CallResult::Refused, 409);
  reporter.silent(uid("p"), false);
  pass(200ms);
  EXPECT_EQ(said(), "");
}

TEST_F(ReporterTest, NothingIsWrittenWhileABindingOrFenceIsOpen) {
  open.insert(uid("p"));
  put("q", 1);
  waits("p", "Kind", "text");
  waits("q", "Kind", "text");
  EXPECT_EQ(said(), "q: text; ");
  open.clear();
  EXPECT_EQ(said(), "p: text; ");
}

TEST_F(ReporterTest, OneWritePerPodIsInFlight) {
  waits("p", "A", "a");
  (void)said();
  EXPECT_TRUE(reporter.writing(uid("p")));
  waits("p", "B", "b");
  const auto first = last;
  EXPECT_EQ(said(), "");
  EXPECT_EQ(answer(first.at(0)), uid("p"));
  EXPECT_FALSE(reporter.writing(uid("p")));
  EXPECT_EQ(said(), "p: b; ");
}

TEST_F(ReporterTest, AtMostSoManyAreInFlight) {
  for (const char* pod : {"q", "r", "s"}) { put(pod, 1); }
  for (const char* pod : {"p", "q", "r", "s"}) { waits(pod, "Kind", pod); }
  const auto calls = sent();
  EXPECT_EQ(calls.size(), std::size_t{kMost / 2});
  EXPECT_TRUE(sent().empty());
  answer(calls.at(1));
  EXPECT_EQ(sent().size(), 2U);
  answer(calls.at(0));
  EXPECT_TRUE(sent().empty()) << "there is room for a condition, but not for its event";
  answer(calls.at(2));
  EXPECT_EQ(sent().size(), 2U);
  EXPECT_TRUE(sent().empty());
}

TEST_F(ReporterTest, ANamespaceLeavesRoomForOthersAndTheyTakeTurns) {
  for (int i = 0; i < 9; ++i) {
    put(("a" + std::to_string(i)).c_str(), 1, {}, "a");
    waits(("a" + std::to_string(i)).c_str(), "Kind", "text");
  }
  EXPECT_EQ(said(), "a0: text; a1: text; ");
  const auto of_a = last;
  put("b0", 1, {}, "b");
  put("c0", 1, {}, "c");
  for (const char* pod : {"b0", "c0"}) { waits(pod, "Kind", "text"); }
  EXPECT_EQ(said(), "b0: text; c0: text; ");
  for (const auto& call : of_a) { answer(call); }
  put("d0", 1, {}, "d");
  waits("d0", "Kind", "text");
  EXPECT_EQ(said(), "d0: text; a2: text; ") << "those after the last one go first";
}

TEST_F(ReporterTest, EachFailureWaitsLongerThanTheOneBeforeUpToAMinute) {
  waits("p", "Kind", "text");
  for (const Duration wait :
       {200ms, 400ms, 800ms, 1600ms, 3200ms, 6400ms, 12800ms, 25600ms, 51200ms, 60000ms}) {
    EXPECT_EQ(said(), "p: text; ");
    answerAll409();
    EXPECT_EQ(reporter.nextDue(), now.mono + wait);
    pass(wait);
  }
  EXPECT_EQ(said(), "p: text; ");
  answerAll();
  waits("p", "Other", "text");
  EXPECT_EQ(said(), "p: text; ");
  answerAll409();
  EXPECT_EQ(reporter.nextDue(), now.mono + 200ms) << "one that went through begins anew";
}

TEST_F(ReporterTest, AWriteThatFailedIsMadeAgainLater) {
  struct Case {
    CallResult result;
    int http;
    Duration retry_after;
    Duration wait;
  };
  for (const Case& c : {Case{CallResult::Refused, 409, 0s, 200ms}, Case{CallResult::Unknown, 500, 0s, 5s},
                        Case{CallResult::NotSent, 0, 0s, 5s}, Case{CallResult::Refused, 403, 0s, 5s},
                        Case{CallResult::Refused, 429, 9s, 9s}, Case{CallResult::Refused, 409, 3s, 3s}}) {
    reporter.reset();
    waits("p", "Kind", "text");
    EXPECT_EQ(said(), "p: text; ");
    pass(2s);  // on its way
    answer(last.at(0), c.result, c.http, c.retry_after);
    EXPECT_EQ(reporter.nextDue(), now.mono + c.wait) << c.http;
    pass(c.wait - 1ms);
    for (const char* kind : {"Other", "Kind"}) {  // however often it is wished meanwhile
      waits("p", kind, "text");
      EXPECT_EQ(said(), "") << c.http;
    }
    pass(1ms);
    EXPECT_EQ(said(), "p: text; ") << c.http;
  }
}

TEST_F(ReporterTest, APodThatIsNotThereAnyMoreIsNotWrittenToAgain) {
  for (const int http : {404, 422}) {
    reporter.reset();
    waits("p", "Kind", "text");
    (void)said();
    answer(last.at(0), CallResult::Refused, http);
    EXPECT_EQ(reporter.nextDue(), std::nullopt);
    EXPECT_EQ(said(), "");
  }
}

TEST_F(ReporterTest, TheEventIsNotRepeatedWithEveryTryOfTheCondition) {
  waits("p", "Kind", "text");
  (void)said();
  answer(last.at(1), CallResult::Unknown, 500);  // an event that is lost is no reason to write again
  EXPECT_EQ(reporter.nextDue(), std::nullopt);
  answer(last.at(0), CallResult::Refused, 409);
  pass(200ms);
  EXPECT_EQ(sent().size(), 1U);
}

TEST_F(ReporterTest, OnlyPodsThatWaitAreWrittenTo) {
  put("q", 1);
  put("r", 1);
  put("s", 1);
  for (const char* pod : {"p", "q", "r", "s"}) { waits(pod, "Kind", "text"); }
  cache.removePod(uid("p"));
  cache.putPod(testing::PodBuilder("q").revision(2).on("node-a").make());
  model::Pod deleting = testing::PodBuilder("r").revision(2).value();
  deleting.deleting = true;
  cache.putPod(std::make_shared<const model::Pod>(deleting));
  reporter.silent(uid("s"), false);
  EXPECT_EQ(said(), "");
}

TEST_F(ReporterTest, APodThatWaitsAgainIsKnownUnlessItWasGone) {
  waits("p", "Kind", "a");
  (void)said();
  answerAll();
  reporter.silent(uid("p"), false);
  waits("p", "Kind", "b");
  EXPECT_EQ(said(), "");
  reporter.silent(uid("p"), true);
  waits("p", "Kind", "b");
  EXPECT_EQ(said(), "p: b; ");
}

TEST_F(ReporterTest, APodThatGoesWhileItsWriteIsInFlightIsNotForgottenBeforeTheAnswer) {
  waits("p", "Kind", "text");
  (void)said();
  reporter.silent(uid("p"), true);
  EXPECT_TRUE(reporter.writing(uid("p")));
  cache.removePod(uid("p"));
  EXPECT_EQ(answer(last.at(0), CallResult::Unknown, 0), uid("p"));
  EXPECT_FALSE(reporter.writing(uid("p")));
  pass(5s);
  EXPECT_EQ(said(), "");
  EXPECT_EQ(reporter.nextDue(), std::nullopt);
}

TEST_F(ReporterTest, OnlyItsOwnAnswersAreTakenAndAnEventNamesNoPod) {
  waits("p", "Kind", "text");
  (void)said();
  EXPECT_EQ(answer(kapi::Call{}), std::nullopt);
  EXPECT_EQ(answer(last.at(1)), std::nullopt);
  EXPECT_EQ(answer(last.at(0)), uid("p"));
  EXPECT_EQ(answer(last.at(0)), std::nullopt);
}

TEST_F(ReporterTest, AfterALossOfLeadershipEverythingIsForgotten) {
  for (const char* pod : {"q", "r", "s"}) { put(pod, 1); }
  for (const char* pod : {"p", "q", "r"}) { waits(pod, "Kind", "text"); }
  EXPECT_EQ(said(), "p: text; q: text; ");
  const auto earlier = last;
  answer(earlier.at(2), CallResult::Unknown, 0);
  reporter.reset();
  EXPECT_FALSE(reporter.writing(uid("p")));
  EXPECT_EQ(said(), "") << "r's wish went too";
  EXPECT_EQ(answer(earlier.at(0), CallResult::Unknown, 0), std::nullopt);
  EXPECT_EQ(reporter.nextDue(), std::nullopt);
  for (const char* pod : {"r", "s"}) { waits(pod, "Kind", "text"); }
  EXPECT_EQ(said(), "r: text; s: text; ") << "the room of what was in flight is free again";
}

}  // namespace
}  // namespace gs::scheduler
