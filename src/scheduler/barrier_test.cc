#include "scheduler/barrier.h"

#include <gtest/gtest.h>
#include <map>

#include "kapi/kinds.h"
#include "testing/builders.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;
using kapi::Fate;
using kapi::Kind;

/// Drives the machine by hand: each call it makes is answered by the test.
class BarrierTest : public ::testing::Test {
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
    barrier.start(out);
    return sent();
  }
  void listed(const kapi::Call& call, model::Revision revision, std::vector<const char*> leases = {},
              const char* continue_token = "") {
    kapi::Outcome o = outcome(call, Fate::Applied, 200);
    o.list_revision = revision;
    o.continue_token = continue_token;
    for (const char* node : leases) {
      o.items.emplace_back(std::make_shared<const model::Lease>(
          testing::makeLease(node, 0, testing::PodBuilder("p").value(), "r", "")));
    }
    barrier.handle(o, Now{now, {}}, out);
  }
  void failed(const kapi::Call& call, int http, Duration retry_after = {}) {
    kapi::Outcome o = outcome(call, http == 0 ? Fate::Unknown : Fate::Refused, http);
    o.message = "no luck";
    o.retry_after = retry_after;
    barrier.handle(o, Now{now, {}}, out);
  }
  void tooLarge(const kapi::Call& call) {
    kapi::Outcome o = outcome(call, Fate::Unknown, 200);
    o.too_large = true;
    barrier.handle(o, Now{now, {}}, out);
  }
  void caughtUp(const Calls& calls, Kind kind) {
    listed(calls.at(kind), 7);
    barrier.caughtUp(kind);
  }
  void pass(Duration by) {
    now += by;
    barrier.tick(Now{now, {}}, out);
  }
  /// The nodes of the leases of a census that is complete, one line; "none" when there is none.
  std::string census() {
    const auto complete = barrier.takeCensus();
    std::string text = complete ? "at " + std::to_string(complete->revision) : "none";
    if (complete) {
      for (const auto& lease : complete->leases) { text += " " + lease->node.text; }
    }
    return text;
  }

  inline static const Kind kOthers[] = {kapi::kPod, kapi::kNode, kapi::kGpuClaim, kapi::kGpuNodeStatus};
  controller::Parts parts{30};
  Barrier barrier{parts};
  kapi::Effects out;
  Mono now{1h};

 private:
  static kapi::Outcome outcome(const kapi::Call& call, Fate fate, int http) {
    kapi::Outcome o;
    o.token = call.token;
    o.fate = fate;
    o.http = http;
    return o;
  }
};

TEST_F(BarrierTest, AsksForTheLeasesOfAllNamespacesAndOneObjectOfEachOtherKind) {
  const Calls calls = start();
  EXPECT_EQ(calls.size(), 5U);
  EXPECT_EQ(calls.at(kapi::kLease).query, "limit=500&labelSelector=gpu.scheduling%2Fmanaged%3Dtrue");
  for (const Kind kind : kOthers) { EXPECT_EQ(calls.at(kind).query, "limit=1"); }
  for (const auto& [kind, call] : calls) {
    EXPECT_EQ(call.verb, kapi::Verb::List);
    EXPECT_EQ(call.key, model::ObjectKey{});
    EXPECT_EQ(kapi::tokenOwner(call.token), 30);
  }
}

TEST_F(BarrierTest, TheCensusIsAllPagesAtTheRevisionOfTheFirst) {
  listed(start().at(kapi::kLease), 7, {"a", "b"}, "c1");
  EXPECT_EQ(census(), "none");
  const auto second = sentAlone();
  EXPECT_EQ(second.query, "limit=500&continue=c1&labelSelector=gpu.scheduling%2Fmanaged%3Dtrue");
  listed(second, 9, {"c"}, "c2");
  EXPECT_TRUE(barrier.censusRunning());
  const auto last = sentAlone();
  listed(last, 9, {"d"});
  EXPECT_TRUE(out.empty());
  EXPECT_FALSE(barrier.censusRunning());
  EXPECT_EQ(census(), "at 7 a b c d");
  listed(last, 9, {"d"});  // an answer comes once
  EXPECT_EQ(census(), "none");
}

TEST_F(BarrierTest, APageThatIsTooLargeIsAskedForInHalves) {
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

TEST_F(BarrierTest, OneLeaseThatIsTooLargeIsAFailure) {
  auto call = start().at(kapi::kLease);
  int halves = 0;
  for (; !call.query.starts_with("limit=1&") && halves < 20; ++halves) {
    tooLarge(call);
    call = sentAlone();
  }
  EXPECT_EQ(halves, 8);  // 500 250 125 62 31 15 7 3 1
  tooLarge(call);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(barrier.nextDue(), now + 1s);
}

TEST_F(BarrierTest, AFailedPageBeginsTheCensusAnewAfterASecond) {
  const Calls calls = start();
  listed(calls.at(kapi::kLease), 7, {"a"}, "c1");
  failed(sentAlone(), 410);
  EXPECT_EQ(barrier.error(), "cannot list leases: 410 no luck");
  EXPECT_EQ(barrier.nextDue(), now + 1s);
  pass(999ms);
  EXPECT_TRUE(out.empty());
  pass(1ms);
  EXPECT_EQ(barrier.nextDue(), std::nullopt);
  const auto first = sentAlone();
  EXPECT_EQ(first.query.find("continue"), std::string::npos);
  listed(first, 8, {"b"});
  EXPECT_EQ(census(), "at 8 b");
  failed(calls.at(kapi::kPod), 0);
  pass(10s);
  EXPECT_EQ(sentAlone().kind, kapi::kPod) << "the census is no failure any more";
}

TEST_F(BarrierTest, ABusyServerIsAskedAgainWhenItSaid) {
  failed(start().at(kapi::kLease), 429, 5s);
  pass(4s);
  EXPECT_TRUE(out.empty());
  pass(1s);
  EXPECT_EQ(sentAlone().kind, kapi::kLease);
}

TEST_F(BarrierTest, AFailureBesideItDoesNotShortenTheTimeThatABusyServerSaid) {
  const Calls calls = start();
  failed(calls.at(kapi::kPod), 429, 5s);
  failed(calls.at(kapi::kNode), 0);
  pass(1s);
  EXPECT_FALSE(sent().contains(kapi::kPod));
  pass(4s);
  EXPECT_TRUE(sent().contains(kapi::kPod));
}

TEST_F(BarrierTest, AFailedKindIsAskedAgainAlone) {
  const Calls calls = start();
  listed(calls.at(kapi::kPod), 7);
  failed(calls.at(kapi::kNode), 0);
  EXPECT_EQ(barrier.trouble(), "cannot list nodes: 0 no luck");
  pass(1s);
  const auto again = sentAlone();
  EXPECT_EQ(again.kind, kapi::kNode);
  (void)barrier.takeCatchUps();
  listed(again, 8);
  EXPECT_EQ(barrier.error(), "") << "it went through";
  EXPECT_EQ(barrier.takeCatchUps().at(0).kind, kapi::kNode);
}

TEST_F(BarrierTest, AKindWhoseCrdIsMissingHasNothingToCatchUpWith) {
  const Calls calls = start();
  listed(calls.at(kapi::kLease), 7);
  caughtUp(calls, kapi::kPod);
  caughtUp(calls, kapi::kNode);
  failed(calls.at(kapi::kGpuClaim), 404);
  EXPECT_FALSE(barrier.done());
  failed(calls.at(kapi::kGpuNodeStatus), 404);
  EXPECT_TRUE(barrier.done());
  EXPECT_EQ(barrier.nextDue(), std::nullopt);
}

TEST_F(BarrierTest, A404OfPodsIsAFailure) {
  failed(start().at(kapi::kPod), 404);
  pass(1s);
  EXPECT_EQ(sentAlone().kind, kapi::kPod);
}

TEST_F(BarrierTest, CatchUpsAreAskedForOnceWithTheRevisionOfTheList) {
  const Calls calls = start();
  listed(calls.at(kapi::kGpuClaim), 12);
  listed(calls.at(kapi::kPod), 15);
  listed(calls.at(kapi::kPod), 16);  // an answer comes once
  const auto wanted = barrier.takeCatchUps();
  ASSERT_EQ(wanted.size(), 2U);
  EXPECT_EQ(wanted[0].kind, kapi::kGpuClaim);
  EXPECT_EQ(wanted[0].revision, 12U);
  EXPECT_EQ(wanted[1].kind, kapi::kPod);
  EXPECT_EQ(wanted[1].revision, 15U);
  EXPECT_TRUE(barrier.takeCatchUps().empty());
}

TEST_F(BarrierTest, IsDoneOnlyWhenEverythingIs) {
  for (const Kind last : {kapi::kLease, kapi::kPod, kapi::kNode, kapi::kGpuClaim, kapi::kGpuNodeStatus}) {
    const Calls calls = start();
    if (last != kapi::kLease) { listed(calls.at(kapi::kLease), 7); }
    for (const Kind kind : kOthers) {
      if (kind != last) { caughtUp(calls, kind); }
    }
    EXPECT_FALSE(barrier.done());
    EXPECT_NE(barrier.trouble().find(last == kapi::kLease ? "not listed yet" : "not caught up yet"),
              std::string::npos);
    listed(calls.at(last), 7);
    EXPECT_EQ(barrier.done(), last == kapi::kLease) << "a list alone is no catching up";
    barrier.caughtUp(last);
    EXPECT_TRUE(barrier.done());
    EXPECT_EQ(barrier.trouble(), "");
  }
}

TEST_F(BarrierTest, AKindThatCaughtUpBeforeItsListWasAnsweredHasNot) {
  const Calls calls = start();
  listed(calls.at(kapi::kLease), 7);
  for (const Kind kind : kOthers) { barrier.caughtUp(kind); }
  for (const Kind kind : kOthers) { listed(calls.at(kind), 7); }
  EXPECT_FALSE(barrier.done());
}

TEST_F(BarrierTest, AnswersOfAnEarlierTermAreIgnored) {
  const Calls earlier = start();
  failed(earlier.at(kapi::kNode), 0);
  barrier.reset();
  EXPECT_EQ(barrier.nextDue(), std::nullopt);
  EXPECT_EQ(barrier.error(), "");
  listed(earlier.at(kapi::kPod), 7);
  EXPECT_TRUE(barrier.takeCatchUps().empty()) << "nobody leads";
  const Calls calls = start();
  for (const auto& [kind, call] : earlier) { listed(call, 7, {"a"}); }
  EXPECT_TRUE(barrier.takeCatchUps().empty());
  EXPECT_EQ(census(), "none");
  for (const auto& [kind, call] : calls) { listed(call, 8, {}); }
  EXPECT_EQ(barrier.takeCatchUps().size(), 4U);
  EXPECT_EQ(census(), "at 8");
}

TEST_F(BarrierTest, ALaterCensusIsTakenAlone) {
  const Calls calls = start();
  listed(calls.at(kapi::kLease), 7, {"a"});
  for (const Kind kind : kOthers) { caughtUp(calls, kind); }
  EXPECT_EQ(census(), "at 7 a");
  barrier.startCensus(out);
  EXPECT_TRUE(barrier.censusRunning());
  EXPECT_TRUE(barrier.done());
  failed(sentAlone(), 0);
  EXPECT_TRUE(barrier.censusRunning());
  pass(1s);
  listed(sentAlone(), 9, {"b"});
  EXPECT_FALSE(barrier.censusRunning());
  EXPECT_EQ(census(), "at 9 b");
}

}  // namespace
}  // namespace gs::scheduler
