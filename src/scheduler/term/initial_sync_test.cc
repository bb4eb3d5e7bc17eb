#include "scheduler/term/initial_sync.h"

#include <gtest/gtest.h>
#include <map>

#include "kapi/kinds.h"
#include "testing/builders.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;
using kapi::CallResult;
using kapi::Kind;

/// Drives the machine by hand: each call it makes is answered by the test.
class InitialSyncTest : public ::testing::Test {
 protected:
  using Calls = std::map<Kind, kapi::Call>;
  /// The calls made since the last time; of each kind at most one.
  Calls sent() {
    Calls calls;
    for (auto& effect : std::exchange(out, {})) {
      const auto& call = std::get<kapi::Call>(effect);
      EXPECT_TRUE(calls.emplace(call.kind, call).second) << "a second list of one kind";
    }
    return calls;
  }
  kapi::Call sentAlone() {
    const Calls calls = sent();
    EXPECT_EQ(calls.size(), 1U);
    return calls.empty() ? kapi::Call{} : calls.begin()->second;
  }
  Calls start() {
    initial_sync.start(out);
    return sent();
  }
  void listed(const kapi::Call& call, model::Revision revision, std::vector<const char*> leases = {},
              const char* continue_token = "") {
    kapi::Outcome o = outcome(call, CallResult::Applied, 200);
    o.list_revision = revision;
    o.continue_token = continue_token;
    for (const char* node : leases) {
      o.items.emplace_back(std::make_shared<const model::Lease>(
          testing::makeLease(node, 0, testing::PodBuilder("p").value(), "r", "")));
    }
    initial_sync.handle(o, Now{now, {}}, out);
  }
  void failed(const kapi::Call& call, int http, Duration retry_after = {}) {
    kapi::Outcome o = outcome(call, http == 0 ? CallResult::Unknown : CallResult::Refused, http);
    o.message = "no luck";
    o.retry_after = retry_after;
    initial_sync.handle(o, Now{now, {}}, out);
  }
  void tooLarge(const kapi::Call& call) {
    kapi::Outcome o = outcome(call, CallResult::Unknown, 200);
    o.too_large = true;
    initial_sync.handle(o, Now{now, {}}, out);
  }
  void caughtUp(const Calls& calls, Kind kind) {
    listed(calls.at(kind), 7);
    initial_sync.caughtUp(kind);
  }
  void pass(Duration by) {
    now += by;
    initial_sync.tick(Now{now, {}}, out);
  }
  /// The nodes of the leases of a census that is complete, one line; "none" when there is none.
  std::string census() {
    const auto complete = initial_sync.takeCensus();
    std::string text = complete ? "at " + std::to_string(complete->revision) : "none";
    if (complete) {
      for (const auto& lease : complete->leases) { text += " " + lease->node.text; }
    }
    return text;
  }

  inline static const Kind kOthers[] = {kapi::kPod, kapi::kNode, kapi::kGpuClaim, kapi::kGpuNodeStatus};
  controller::Parts parts;
  InitialSync initial_sync{parts};
  kapi::Effects out;
  Mono now{1h};

 private:
  static kapi::Outcome outcome(const kapi::Call& call, CallResult result, int http) {
    kapi::Outcome o;
    o.token = call.token;
    o.result = result;
    o.http = http;
    return o;
  }
};

TEST_F(InitialSyncTest, AsksForTheLeasesOfAllNamespacesAndOneObjectOfEachOtherKind) {
  const Calls calls = start();
  EXPECT_EQ(calls.size(), 5U);
  EXPECT_EQ(calls.at(kapi::kLease).query, "limit=500&labelSelector=gpu.scheduling%2Fmanaged%3Dtrue");
  for (const Kind kind : kOthers) { EXPECT_EQ(calls.at(kind).query, "limit=1"); }
  for (const auto& [kind, call] : calls) {
    EXPECT_EQ(call.verb, kapi::Verb::List);
    EXPECT_EQ(call.key, model::ObjectKey{});
    EXPECT_EQ(kapi::tokenOwner(call.token), 1);
  }
}

TEST_F(InitialSyncTest, TheCensusIsAllPagesAtTheRevisionOfTheFirst) {
  listed(start().at(kapi::kLease), 7, {"a", "b"}, "c1");
  EXPECT_EQ(census(), "none");
  const auto second = sentAlone();
  EXPECT_EQ(second.query, "limit=500&continue=c1&labelSelector=gpu.scheduling%2Fmanaged%3Dtrue");
  listed(second, 9, {"c"}, "c2");
  EXPECT_TRUE(initial_sync.censusRunning());
  const auto last = sentAlone();
  listed(last, 9, {"d"});
  EXPECT_TRUE(out.empty());
  EXPECT_FALSE(initial_sync.censusRunning());
  EXPECT_EQ(census(), "at 7 a b c d");
  listed(last, 9, {"d"});  // an answer comes once
  EXPECT_EQ(census(), "none");
}

TEST_F(InitialSyncTest, APageThatIsTooLargeIsAskedForInHalves) {
  listed(start().at(kapi::kLease), 7, {"a"}, "c1");
  tooLarge(sentAlone());
  const auto half = sentAlone();
  EXPECT_TRUE(half.query.starts_with("limit=250&continue=c1&")) << half.query;
  listed(half, 7, {"b"}, "c2");
  const auto next = sentAlone();
  EXPECT_TRUE(next.query.starts_with("limit=250&continue=c2&"))
      << "and so are those after it: " << next.query;
  listed(next, 7, {"c"});
  EXPECT_EQ(census(), "at 7 a b c");
}

TEST_F(InitialSyncTest, OneLeaseThatIsTooLargeIsAFailure) {
  auto call = start().at(kapi::kLease);
  int halves = 0;
  for (; !call.query.starts_with("limit=1&") && halves < 20; ++halves) {
    tooLarge(call);
    call = sentAlone();
  }
  EXPECT_EQ(halves, 8);  // 500 250 125 62 31 15 7 3 1
  tooLarge(call);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(initial_sync.nextDue(), now + 1s);
}

TEST_F(InitialSyncTest, AFailedPageBeginsTheCensusAnewAfterASecond) {
  const Calls calls = start();
  listed(calls.at(kapi::kLease), 7, {"a"}, "c1");
  failed(sentAlone(), 410);
  EXPECT_EQ(initial_sync.error(), "cannot list leases: 410 no luck");
  EXPECT_EQ(initial_sync.nextDue(), now + 1s);
  pass(999ms);
  EXPECT_TRUE(out.empty());
  pass(1ms);
  EXPECT_EQ(initial_sync.nextDue(), std::nullopt);
  const auto first = sentAlone();
  EXPECT_EQ(first.query.find("continue"), std::string::npos);
  listed(first, 8, {"b"});
  EXPECT_EQ(census(), "at 8 b");
  failed(calls.at(kapi::kPod), 0);
  pass(10s);
  EXPECT_EQ(sentAlone().kind, kapi::kPod) << "the census is no failure any more";
}

TEST_F(InitialSyncTest, ABusyServerIsAskedAgainWhenItSaid) {
  failed(start().at(kapi::kLease), 429, 5s);
  pass(4s);
  EXPECT_TRUE(out.empty());
  pass(1s);
  EXPECT_EQ(sentAlone().kind, kapi::kLease);
}

TEST_F(InitialSyncTest, AFailureBesideItDoesNotShortenTheTimeThatABusyServerSaid) {
  const Calls calls = start();
  failed(calls.at(kapi::kPod), 429, 5s);
  failed(calls.at(kapi::kNode), 0);
  pass(1s);
  EXPECT_FALSE(sent().contains(kapi::kPod));
  pass(4s);
  EXPECT_TRUE(sent().contains(kapi::kPod));
}

TEST_F(InitialSyncTest, AFailedKindIsAskedAgainAlone) {
  const Calls calls = start();
  listed(calls.at(kapi::kPod), 7);
  failed(calls.at(kapi::kNode), 0);
  EXPECT_EQ(initial_sync.trouble(), "cannot list nodes: 0 no luck");
  pass(1s);
  const auto again = sentAlone();
  EXPECT_EQ(again.kind, kapi::kNode);
  (void)initial_sync.takeCatchUps();
  listed(again, 8);
  EXPECT_EQ(initial_sync.error(), "") << "it went through";
  EXPECT_EQ(initial_sync.takeCatchUps().at(0).kind, kapi::kNode);
}

TEST_F(InitialSyncTest, AKindWhoseCrdIsMissingHasNothingToCatchUpWith) {
  const Calls calls = start();
  listed(calls.at(kapi::kLease), 7);
  caughtUp(calls, kapi::kPod);
  caughtUp(calls, kapi::kNode);
  failed(calls.at(kapi::kGpuClaim), 404);
  EXPECT_FALSE(initial_sync.done());
  failed(calls.at(kapi::kGpuNodeStatus), 404);
  EXPECT_TRUE(initial_sync.done());
  EXPECT_EQ(initial_sync.nextDue(), std::nullopt);
}

TEST_F(InitialSyncTest, A404OfPodsIsAFailure) {
  failed(start().at(kapi::kPod), 404);
  pass(1s);
  EXPECT_EQ(sentAlone().kind, kapi::kPod);
}

TEST_F(InitialSyncTest, CatchUpsAreAskedForOnceWithTheRevisionOfTheList) {
  const Calls calls = start();
  listed(calls.at(kapi::kGpuClaim), 12);
  listed(calls.at(kapi::kPod), 15);
  listed(calls.at(kapi::kPod), 16);  // an answer comes once
  const auto wanted = initial_sync.takeCatchUps();
  ASSERT_EQ(wanted.size(), 2U);
  EXPECT_EQ(wanted[0].kind, kapi::kGpuClaim);
  EXPECT_EQ(wanted[0].revision, 12U);
  EXPECT_EQ(wanted[1].kind, kapi::kPod);
  EXPECT_EQ(wanted[1].revision, 15U);
  EXPECT_TRUE(initial_sync.takeCatchUps().empty());
}

TEST_F(InitialSyncTest, IsDoneOnlyWhenEverythingIs) {
  for (const Kind last : {kapi::kLease, kapi::kPod, kapi::kNode, kapi::kGpuClaim, kapi::kGpuNodeStatus}) {
    const Calls calls = start();
    if (last != kapi::kLease) { listed(calls.at(kapi::kLease), 7); }
    for (const Kind kind : kOthers) {
      if (kind != last) { caughtUp(calls, kind); }
    }
    EXPECT_FALSE(initial_sync.done());
    EXPECT_NE(initial_sync.trouble().find(last == kapi::kLease ? "not listed yet" : "not caught up yet"),
              std::string::npos);
    listed(calls.at(last), 7);
    EXPECT_EQ(initial_sync.done(), last == kapi::kLease) << "a list alone is no catching up";
    initial_sync.caughtUp(last);
    EXPECT_TRUE(initial_sync.done());
    EXPECT_EQ(initial_sync.trouble(), "");
  }
}

TEST_F(InitialSyncTest, AKindThatCaughtUpBeforeItsListWasAnsweredHasNot) {
  const Calls calls = start();
  listed(calls.at(kapi::kLease), 7);
  for (const Kind kind : kOthers) { initial_sync.caughtUp(kind); }
  for (const Kind kind : kOthers) { listed(calls.at(kind), 7); }
  EXPECT_FALSE(initial_sync.done());
}

TEST_F(InitialSyncTest, AnswersOfAnEarlierTermAreIgnored) {
  const Calls earlier = start();
  failed(earlier.at(kapi::kNode), 0);
  initial_sync.reset();
  EXPECT_EQ(initial_sync.nextDue(), std::nullopt);
  EXPECT_EQ(initial_sync.error(), "");
  listed(earlier.at(kapi::kPod), 7);
  EXPECT_TRUE(initial_sync.takeCatchUps().empty()) << "nobody leads";
  const Calls calls = start();
  for (const auto& [kind, call] : earlier) { listed(call, 7, {"a"}); }
  EXPECT_TRUE(initial_sync.takeCatchUps().empty());
  EXPECT_EQ(census(), "none");
  for (const auto& [kind, call] : calls) { listed(call, 8, {}); }
  EXPECT_EQ(initial_sync.takeCatchUps().size(), 4U);
  EXPECT_EQ(census(), "at 8");
}

TEST_F(InitialSyncTest, ALaterCensusIsTakenAlone) {
  const Calls calls = start();
  listed(calls.at(kapi::kLease), 7, {"a"});
  for (const Kind kind : kOthers) { caughtUp(calls, kind); }
  EXPECT_EQ(census(), "at 7 a");
  initial_sync.startCensus(out);
  EXPECT_TRUE(initial_sync.censusRunning());
  EXPECT_TRUE(initial_sync.done());
  failed(sentAlone(), 0);
  EXPECT_TRUE(initial_sync.censusRunning());
  pass(1s);
  listed(sentAlone(), 9, {"b"});
  EXPECT_FALSE(initial_sync.censusRunning());
  EXPECT_EQ(census(), "at 9 b");
}

}  // namespace
}  // namespace gs::scheduler
