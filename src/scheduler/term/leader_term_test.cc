#include "scheduler/term/leader_term.h"

#include <gtest/gtest.h>

#include "kapi/kinds.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;
using Phase = LeaderTerm::Phase;
using Step = LeaderTerm::Step;
using kapi::Kind;

class LeaderTermTest : public ::testing::Test {
 protected:
  static std::vector<kapi::Call> callsIn(kapi::Effects effects) {
    std::vector<kapi::Call> calls;
    for (auto& effect : effects) {
      if (auto* call = std::get_if<kapi::Call>(&effect)) { calls.push_back(std::move(*call)); }
    }
    return calls;
  }
  static bool isCensus(const kapi::Call& call) {
    return call.kind == kapi::kLease && call.verb == kapi::Verb::List;
  }
  /// Answers all that is asked.
  void carryOn() {
    for (int round = 0; round < 20; ++round) {
      for (Step step = term.advance(now, out); step != Step::None; step = term.advance(now, out)) {
        steps.push_back(step);
      }
      for (const auto& want : term.initialSync().takeCatchUps()) {
        if (want.kind != slow) { term.initialSync().caughtUp(want.kind); }
      }
      const auto calls = callsIn(std::exchange(out, {}));
      for (const auto& call : calls) { answer(call); }
    }
  }
  void answer(const kapi::Call& call) {
    kapi::Outcome o;
    o.token = call.token;
    o.http = 200;
    o.result = kapi::CallResult::Applied;
    if (call.kind == kapi::kCrd) {
      answerCrd(call, o);
    } else if (isCensus(call)) {
      ++censuses;
      if (leases_fail) { o.http = 503; }
      if (leases_fail) { o.result = kapi::CallResult::Refused; }
      o.list_revision = 7;
    } else {
      o.list_revision = 7;
    }
    EXPECT_TRUE(term.handle(o, now, out));
  }
  void answerCrd(const kapi::Call& call, kapi::Outcome& o) {
    if (!crd) {
      o.http = 404;
      o.result = kapi::CallResult::Refused;
      o.reason = "NotFound";
      return;
    }
    if (call.verb != kapi::Verb::Get) {
      crd = {"gpuclaims.gpu.scheduling", model::Uid{"u"}, 8, "default", "term", "gpu-scheduler"};
    }
    o.object = std::make_shared<const model::Crd>(*crd);
  }
  void pass(Duration by) {
    now.mono += by;
    term.tick(now, out);
    carryOn();
  }
  void lead() {
    term.begin(1, "term", out);
    carryOn();
  }
  static model::Crd unclaimed() { return {"gpuclaims.gpu.scheduling", model::Uid{"u"}, 7, "", "", ""}; }

  LeaderTerm term{Config{}};
  Now now{Mono{1h}, {}};
  kapi::Effects out;
  std::vector<Step> steps;
  std::optional<model::Crd> crd = unclaimed();
  std::optional<Kind> slow;  // does not catch up
  bool leases_fail = false;
  int censuses = 0;
};

TEST_F(LeaderTermTest, ClaimsSyncsAdoptsAndThenDecides) {
  EXPECT_EQ(term.phase(), Phase::Standby);
  lead();
  EXPECT_EQ(steps, std::vector{Step::Synced});
  EXPECT_EQ(term.phase(), Phase::Adopting);
  EXPECT_TRUE(term.leads() && term.taking() && !term.deciding());
  term.adopted();
  EXPECT_TRUE(term.deciding());
  EXPECT_EQ(censuses, 1);
  EXPECT_FALSE(term.mayBegin(1));
  EXPECT_TRUE(term.mayBegin(2));
  term.lose();
  EXPECT_EQ(term.phase(), Phase::Standby);
  EXPECT_EQ(term.nextDue(), std::nullopt);
}

TEST_F(LeaderTermTest, ToldToStopItFinishesWhatItBeganAndNeverLeadsAgain) {
  lead();
  term.stop();
  EXPECT_EQ(term.phase(), Phase::Finishing);
  EXPECT_TRUE(term.leads() && !term.taking());
  EXPECT_FALSE(term.mayBegin(2));
  term.lose();
  EXPECT_TRUE(term.stopped());
  EXPECT_FALSE(term.mayBegin(3));
}

TEST_F(LeaderTermTest, ToldToStopBeforeItDecidedItStopsAtOnce) {
  slow = kapi::kNode;
  lead();
  EXPECT_EQ(term.phase(), Phase::Syncing);
  term.stop();
  EXPECT_TRUE(term.stopped());
}

TEST_F(LeaderTermTest, WhenTheCrdComesAllLeasesAreReadAgain) {
  crd.reset();
  lead();
  term.adopted();
  EXPECT_TRUE(term.deciding()) << "without a CRD pods without GPUs are placed";
  crd = unclaimed();
  pass(10s);
  EXPECT_EQ(steps, (std::vector{Step::Synced, Step::BeganAnew, Step::Synced}));
  EXPECT_EQ(censuses, 2);
}

TEST_F(LeaderTermTest, ACensusFromBeforeTheRecordWasOursIsMadeAgain) {
  crd.reset();
  slow = kapi::kNode;
  lead();
  EXPECT_EQ(term.phase(), Phase::Syncing);
  EXPECT_EQ(censuses, 1);
  crd = unclaimed();  // somebody else may have led with it meanwhile
  pass(10s);
  EXPECT_EQ(term.phase(), Phase::Syncing);
  slow.reset();
  term.initialSync().caughtUp(kapi::kNode);
  pass(1s);
  EXPECT_EQ(term.phase(), Phase::Adopting);
  EXPECT_EQ(censuses, 2);
  EXPECT_EQ(steps, std::vector{Step::Synced}) << "nothing was under way";
}

TEST_F(LeaderTermTest, ACensusThatCannotBeFinishedDoesNotWakeItWithoutAPause) {
  lead();
  term.adopted();
  leases_fail = true;
  for (int i = 0; i < 25 * 60; ++i) {
    pass(1s);
    const auto due = term.nextDue();
    ASSERT_TRUE(due);
    ASSERT_GT(*due, now.mono) << "after " << i << " s";
  }
  EXPECT_GT(censuses, 10) << "it is tried again";
}

}  // namespace
}  // namespace gs::scheduler
