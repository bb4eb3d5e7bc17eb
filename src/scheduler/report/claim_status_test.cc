#include "scheduler/report/claim_status.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include "testing/builders.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;
using kapi::CallResult;

/// The claim default/c and the pods that name it.
class ClaimStatusTest : public ::testing::Test {
 protected:
  ClaimStatusTest() { putClaim("c", 1); }

  static model::ObjectKey key(const char* claim) { return {"default", claim}; }
  void putClaim(const char* name, model::Revision revision, const char* uid = "claim-c",
                const char* invalid = "") {
    cache.putClaim(claim(name, revision, uid, invalid));
  }
  static model::Ptr<model::GpuClaim> claim(const char* name, model::Revision revision, const char* uid,
                                           const char* invalid = "") {
    model::GpuClaim c = testing::makeClaim(name);
    c.revision = revision;
    c.uid = model::Uid{uid};
    c.invalid = invalid;
    return std::make_shared<const model::GpuClaim>(c);
  }
  static testing::PodBuilder pod(const std::string& name) { return testing::PodBuilder(name).claim("c"); }
  void bound(const std::string& name, const char* allocated, std::uint64_t at, model::Revision revision = 2) {
    model::Pod p = pod(name).revision(revision).on("node-a").allocated(allocated).value();
    p.bound_at = Wall{std::chrono::seconds{at}};
    cache.putPod(std::make_shared<const model::Pod>(p));
  }
  kapi::ClaimStatus status() { return writer.compute(*cache.claim(key("c"))); }

  std::vector<kapi::Call> pump() {
    kapi::Effects out;
    writer.pump(now, out);
    std::vector<kapi::Call> calls;
    for (auto& effect : out) { calls.push_back(std::get<kapi::Call>(std::move(effect))); }
    return calls;
  }
  /// Touches the claim; the write of its status, or a call without token.
  kapi::Call sent(const char* name = "c") {
    writer.touched(key(name));
    const auto calls = pump();
    return calls.empty() ? kapi::Call{} : calls.at(0);
  }
  bool quiet() { return sent().token == 0; }
  void answer(const kapi::Call& call, CallResult result, int http, model::Object object = {},
              Duration retry_after = {}) {
    kapi::Outcome o;
    o.token = call.token;
    o.result = result;
    o.http = http;
    o.object = std::move(object);
    o.retry_after = retry_after;
    kapi::Effects out;
    writer.handle(o, Now{now, {}}, out);
  }
  /// Written, and everybody knows it: the answer and the watch bring the claim at `revision`.
  void written(const kapi::Call& call, model::Revision revision) {
    EXPECT_NE(call.token, 0U);
    answer(call, CallResult::Applied, 200, claim("c", revision, "claim-c"));
    putClaim("c", revision);
  }

  engine::Cache cache;
  std::map<std::string, std::string> why;  // what a pod is told
  int computed = 0;                        // how often somebody wanted to know that
  std::set<std::string> reserved;          // pods whose Binding is long unresolved
  controller::Parts parts;
  ClaimStatusWriter writer{cache,
                           {[this](const model::Uid& u) { return ++computed, why[u.text]; },
                            [this](const model::Uid& u) { return reserved.contains(u.text); }},
                           parts};
  Mono now{1h};
};

constexpr const char* kUnused = "no pod that waits or runs names this claim";

TEST_F(ClaimStatusTest, WithoutPodsItIsPendingAndSaysThatNobodyUsesIt) {
  EXPECT_EQ(status(), (kapi::ClaimStatus{"Pending", kUnused, {}, 0}));
}

TEST_F(ClaimStatusTest, WhilePodsWaitItSaysWhyTheFirstThatKnowsDoes) {
  for (const char* name : {"p", "q", "r"}) { cache.putPod(pod(name).make()); }
  why["uid-q"] = "too few GPUs";
  why["uid-r"] = "no node";
  EXPECT_EQ(status(), (kapi::ClaimStatus{"Pending", "too few GPUs", {}, 0}));
}

TEST_F(ClaimStatusTest, ABindingThatIsLongUnresolvedMakesItReserved) {
  cache.putPod(pod("p").make());
  cache.putPod(pod("q").make());
  reserved.insert("uid-p");
  EXPECT_EQ(status().phase, "Reserved");
}

TEST_F(ClaimStatusTest, OneBoundPodMakesItBound) {
  bound("p", "node-a:2,3", 7);
  cache.putPod(pod("q").make());
  why["uid-q"] = "too few GPUs";
  reserved.insert("uid-q");
  const kapi::ClaimAllocation p{"p", model::Uid{"uid-p"}, model::NodeName{"node-a"}, {2, 3}, Wall{7s}};
  EXPECT_EQ(status(), (kapi::ClaimStatus{"Bound", "1 more pod waits: too few GPUs", {p}, 1}));
}

TEST_F(ClaimStatusTest, ABoundOneSaysHowManyMoreWaitAndWhyTheFirstDoes) {
  bound("p", "node-a:2", 7);
  EXPECT_EQ(status().message, "");
  for (const char* name : {"q", "r"}) { cache.putPod(pod(name).make()); }
  EXPECT_EQ(status().message, "2 more pods wait");
  why["uid-r"] = "no node";
  EXPECT_EQ(status().message, "2 more pods wait: no node");
}

TEST_F(ClaimStatusTest, WhenAllPodsEndedItIsPendingAgain) {
  cache.putPod(pod("p").on("node-a").allocated("node-a:2").phase(model::PodPhase::Succeeded).make());
  cache.putPod(pod("q").phase(model::PodPhase::Failed).make());
  why["uid-q"] = "it ended";
  EXPECT_EQ(status(), (kapi::ClaimStatus{"Pending", kUnused, {}, 0}));
}

TEST_F(ClaimStatusTest, AnInvalidSpecIsFailedAndItsPodsKeepWhatTheyHave) {
  putClaim("c", 2, "claim-c", "spec.count is 0; write 1 or more");
  bound("p", "node-a:2", 7);
  EXPECT_EQ(status().phase, "Failed");
  EXPECT_EQ(status().message, "spec.count is 0; write 1 or more");
  EXPECT_EQ(status().allocations.size(), 1U);
}

TEST_F(ClaimStatusTest, PodsOfOtherClaimsAndThoseWithoutDevicesAreNotListed) {
  cache.putPod(testing::PodBuilder("p").claim("other").on("node-a").allocated("node-a:1").make());
  cache.putPod(testing::PodBuilder("q", "elsewhere").claim("c").on("node-a").allocated("node-a:1").make());
  cache.putPod(pod("r").on("node-a").make());
  cache.putPod(pod("s").on("node-a").allocated("node-b:1").make());
  EXPECT_EQ(status(), (kapi::ClaimStatus{"Pending", "", {}, 0}));
}

TEST_F(ClaimStatusTest, TheEarliestBoundComesFirst) {
  bound("a", "node-a:1", 9);
  bound("c", "node-a:3", 8);
  bound("b", "node-a:2", 8);
  const auto body = sent().body["status"];
  EXPECT_EQ(body["allocated"].str(), "node-a:2; node-a:3; node-a:1");
  EXPECT_EQ(body["nodeName"].str(), "node-a");
  EXPECT_EQ(json::print(body["gpuIds"]), "[2]");
  EXPECT_EQ(body["allocations"].at(2)["pod"].str(), "a");
}

TEST_F(ClaimStatusTest, NamesEightAndListsAtMost256) {
  for (int i = 0; i < 258; ++i) { bound(fmt::format("p{:03}", i), "node-a:1", i == 257 ? 6 : 7); }
  const auto body = sent().body["status"];
  EXPECT_EQ(body["allocations"].at(0)["pod"].str(), "p257") << "it was the first";
  EXPECT_EQ(body["allocations"].at(255)["pod"].str(), "p254");
  EXPECT_TRUE(body["allocated"].str().ends_with("node-a:1 (+250 more)"));
  EXPECT_EQ(body["allocations"].items().size(), 256U);
  EXPECT_EQ(body["allocationsTotal"].integer(), 258);
}

TEST_F(ClaimStatusTest, OneMoreThatIsNotListedIsCounted) {
  for (int i = 0; i < 256; ++i) { bound(fmt::format("p{:03}", i), "node-a:1", 7); }
  written(sent(), 2);
  now += 1s;
  bound("q", "node-a:1", 8);
  EXPECT_EQ(sent().body["status"]["allocationsTotal"].integer(), 257);
}

TEST_F(ClaimStatusTest, AWriteIsAnApplyWithUidAndTheNewestRevision) {
  const auto first = sent();
  EXPECT_EQ(first.verb, kapi::Verb::Apply);
  EXPECT_EQ(first.key, key("c"));
  EXPECT_TRUE(first.leader_only);
  EXPECT_EQ(kapi::tokenOwner(first.token), 1);
  EXPECT_EQ(first.body["metadata"]["uid"].str(), "claim-c");
  EXPECT_EQ(first.body["metadata"]["resourceVersion"].str(), "1");
  answer(first, CallResult::Applied, 200, claim("c", 4, "claim-c"));  // the watch is late
  bound("p", "node-a:1", 7);
  now += 1s;
  EXPECT_EQ(sent().body["metadata"]["resourceVersion"].str(), "4");
}

TEST_F(ClaimStatusTest, WhatTheApiSaysAlreadyIsNotWritten) {
  written(sent(), 2);
  now += 1min;
  EXPECT_TRUE(quiet());
}

TEST_F(ClaimStatusTest, AtMostOneWriteASecondAndThenOfTheLastState) {
  written(sent(), 2);
  now += 300ms;
  bound("p", "node-a:1", 7);
  EXPECT_TRUE(quiet());
  EXPECT_EQ(writer.nextDue(), now + 700ms);
  now += 300ms;
  bound("q", "node-a:2", 8);
  EXPECT_TRUE(quiet());
  now += 400ms;
  const auto calls = pump();
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].body["status"]["allocated"].str(), "node-a:1; node-a:2");
  EXPECT_EQ(writer.nextDue(), std::nullopt);
  written(calls[0], 3);
  bound("r", "node-a:3", 9);
  EXPECT_TRUE(quiet());
  EXPECT_EQ(writer.nextDue(), now + 1s) << "and so every second";
}

/// That it is unchanged is found by a look at all its pods.
TEST_F(ClaimStatusTest, AnUnchangedOneThatIsTouchedAllTheTimeIsComputedOnceASecond) {
  cache.putPod(pod("p").make());
  written(sent(), 2);
  now += 1s;
  const int before = computed;
  for (int i = 0; i < 5'000; ++i) {
    EXPECT_TRUE(quiet());
    now += 1ms;
  }
  EXPECT_EQ(computed - before, 5);
  why["uid-p"] = "too few GPUs";
  EXPECT_EQ(writer.nextDue(), now) << "and a change is not missed";
  EXPECT_EQ(pump().size(), 1U);
}

TEST_F(ClaimStatusTest, AChangeWhileAWriteIsInFlightIsWrittenAfterIt) {
  const auto first = sent();
  bound("p", "node-a:1", 7);
  now += 2s;
  EXPECT_TRUE(quiet());
  answer(first, CallResult::Applied, 200, claim("c", 2, "claim-c"));
  EXPECT_EQ(pump().size(), 1U) << "without another touch";
}

TEST_F(ClaimStatusTest, WhatSomebodyOverwroteIsWrittenAgain) {
  written(sent(), 2);
  now += 5s;
  putClaim("c", 3);
  const auto again = sent();
  EXPECT_EQ(again.body["metadata"]["resourceVersion"].str(), "3");
  written(again, 3);  // it was as we write it: the revision stays
  now += 5s;
  EXPECT_TRUE(quiet());
}

TEST_F(ClaimStatusTest, AWriteThatFailedIsMadeAgainLater) {
  struct Case {
    CallResult result;
    int http;
    Duration retry_after;
    Duration wait;
  };
  written(sent(), 2);
  now += 1s;
  model::Revision n = 0;
  for (const Case& c : {Case{CallResult::Refused, 409, 0s, 1s}, Case{CallResult::Unknown, 0, 0s, 5s},
                        Case{CallResult::NotSent, 0, 0s, 5s}, Case{CallResult::Refused, 429, 9s, 9s}}) {
    ++n;
    bound("p", "node-a:1", n, 2 + n);  // a change
    const auto call = sent();
    EXPECT_NE(call.token, 0U);
    now += 2s;  // on its way
    answer(call, c.result, c.http, {}, c.retry_after);
    EXPECT_EQ(writer.nextDue(), now + c.wait) << c.http;
    now += c.wait - 1ms;
    EXPECT_TRUE(quiet()) << "however often it is touched meanwhile: " << c.http;
    now += 1ms;
    const auto again = pump();
    ASSERT_EQ(again.size(), 1U) << c.http;
    written(again[0], 2 + n);
    now += 1s;
  }
}

TEST_F(ClaimStatusTest, AClaimThatIsNotThereAnyMoreIsNotWrittenAgain) {
  answer(sent(), CallResult::Refused, 404);
  EXPECT_EQ(writer.nextDue(), std::nullopt);
}

TEST_F(ClaimStatusTest, AtMostFourAreInFlight) {
  for (const char* name : {"d", "e", "f", "g"}) { putClaim(name, 1, name); }
  for (const char* name : {"c", "d", "e", "f", "g"}) { writer.touched(key(name)); }
  const auto calls = pump();
  EXPECT_EQ(calls.size(), 4U);
  EXPECT_TRUE(pump().empty());
  answer(calls.at(1), CallResult::Applied, 200);
  ASSERT_EQ(pump().size(), 1U);
}

TEST_F(ClaimStatusTest, ClaimsOfVeryManyPodsHaveTheirTurnOneAfterTheOther) {
  for (const char* name : {"c", "d", "e"}) {
    putClaim(name, 1, name);
    for (std::size_t i = 0; i < ClaimStatusWriter::kPodsPerTurn; ++i) {
      const auto waits = testing::PodBuilder(fmt::format("{}-{}", name, i)).claim(name).value();
      cache.putPod(std::make_shared<const model::Pod>(waits));
    }
    writer.touched(key(name));
  }
  for (const char* name : {"c", "d", "e"}) {
    const auto calls = pump();
    ASSERT_EQ(calls.size(), 1U);
    EXPECT_EQ(calls[0].key.name, name);
    EXPECT_EQ(writer.nextDue() == Mono::min(), std::string{"e"} != name) << "the next one's turn is at once";
  }
  EXPECT_TRUE(pump().empty());
}

TEST_F(ClaimStatusTest, OneOfVeryManyPodsThatIsTouchedAllTheTimeKeepsNobodyFromItsTurn) {
  for (const char* name : {"c", "d"}) {
    putClaim(name, 1, name);
    for (std::size_t i = 0; i < ClaimStatusWriter::kPodsPerTurn; ++i) {
      const auto waits = testing::PodBuilder(fmt::format("{}-{}", name, i)).claim(name).value();
      cache.putPod(std::make_shared<const model::Pod>(waits));
    }
  }
  const auto first = sent("c");
  written(first, 2);
  now += 1s;
  writer.touched(key("d"));
  EXPECT_EQ(sent("c").key.name, "d") << "c is as it was written";
}

TEST_F(ClaimStatusTest, ADeletedClaimIsForgottenAndAnotherOfItsNameIsNew) {
  written(sent(), 2);
  cache.removeClaim(key("c"));
  EXPECT_TRUE(quiet());
  putClaim("c", 9, "another");
  const auto call = sent();
  EXPECT_EQ(call.body["metadata"]["uid"].str(), "another");
}

TEST_F(ClaimStatusTest, AnotherClaimOfTheNameIsWrittenEvenWhenItsStatusIsTheSame) {
  written(sent(), 9);
  now += 5s;
  putClaim("c", 9, "another");
  EXPECT_EQ(sent().body["metadata"]["uid"].str(), "another");
}

TEST_F(ClaimStatusTest, AfterALossOfLeadershipLateAnswersAreIgnoredAndAllIsWrittenAnew) {
  putClaim("d", 1, "claim-d");
  answer(sent("d"), CallResult::Unknown, 0);
  const auto earlier = sent();
  writer.touched(key("c"));
  writer.reset();
  EXPECT_TRUE(pump().empty());
  answer(earlier, CallResult::Unknown, 0);
  EXPECT_EQ(writer.nextDue(), std::nullopt);
  const auto call = sent();
  answer(call, CallResult::Applied, 200);
  answer(call, CallResult::Applied, 200);  // an answer counts once
  EXPECT_TRUE(pump().empty());
}

/// Claims that are deleted while their status is being written (a job's, with its pods).
TEST_F(ClaimStatusTest, NothingIsKeptOfAClaimThatWent) {
  const auto grown = [&](int from, int to) {
    const std::size_t before = mallinfo2().uordblks;
    for (int i = from; i < to; ++i) {
      const std::string name = "job-" + std::to_string(i);
      putClaim(name.c_str(), 1, name.c_str());
      const auto call = sent(name.c_str());
      EXPECT_NE(call.token, 0U);
      cache.removeClaim(key(name.c_str()));
      writer.touched(key(name.c_str()));
      (void)pump();
      answer(call, CallResult::Refused, 404);
      (void)pump();
      now += 2s;
    }
    return mallinfo2().uordblks - before;
  };
  (void)grown(0, 1'000);
  EXPECT_LE(grown(1'000, 11'000) / 10'000, 50U) << "bytes for each claim";
}

}  // namespace
}  // namespace gs::scheduler
