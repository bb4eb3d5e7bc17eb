#include "extender/protocol/front_desk.h"

#include <gtest/gtest.h>

#include <vector>

#include "sched/ledger/ledger.h"

namespace gs::extender {
namespace {

using namespace std::chrono_literals;
using Kind = Answer::Kind;

class AnswererDouble : public Answerer {
 public:
  [[nodiscard]] std::string refusesBecause() const override { return why_not; }
  [[nodiscard]] bool readsNodes(Verb verb) const override { return verb != Verb::Bind; }
  [[nodiscard]] const NodeTablePtr& table() override { return nodes; }
  void serve(Caller caller, Now /*now*/) override { served.push_back(std::move(caller)); }
  void refuse(const Caller& /*caller*/, Answer answer) override { refused.push_back(std::move(answer)); }

  sched::Ledger ledger;
  NodeTablePtr nodes = std::make_shared<const NodeTable>(ledger);
  std::string why_not;
  std::vector<Caller> served;
  std::vector<Answer> refused;
};

class FrontDeskTest : public ::testing::Test {
 protected:
  Request request(Verb verb = Verb::Filter) {
    Request q;
    q.verb = verb;
    q.candidates.table = answerer.nodes;
    return q;
  }

  AnswererDouble answerer;
  FrontDesk desk{4s};
  Now now{Mono{1h}, Wall{}};
};

TEST_F(FrontDeskTest, WhoAsksNowWaitsForAsLongAsIsAnswered) {
  desk.ask(answerer, 7, request(), now);
  ASSERT_EQ(answerer.served.size(), 1U);
  EXPECT_EQ(answerer.served[0].request_id, 7U);
  EXPECT_EQ(answerer.served[0].until, now.mono + 4s);
}

TEST_F(FrontDeskTest, WhoBeganToWaitEarlierWaitsForLess) {
  Request q = request();
  q.asked = now.mono - 3s;
  desk.ask(answerer, 1, q, now);
  ASSERT_EQ(answerer.served.size(), 1U);
  EXPECT_EQ(answerer.served[0].until, now.mono + 1s);
}

TEST_F(FrontDeskTest, WhoWaitsNoMoreIsRefused) {
  Request q = request();
  q.asked = now.mono - 4s;
  desk.ask(answerer, 1, q, now);
  ASSERT_EQ(answerer.refused.size(), 1U);
  EXPECT_EQ(answerer.refused[0].kind, Kind::Unavailable);
  EXPECT_EQ(answerer.refused[0].text, "this was asked too long ago");
}

TEST_F(FrontDeskTest, WhyNobodyIsAnsweredComesFirst) {
  answerer.why_not = kStopping;
  Request q = request();
  q.asked = now.mono - 4s;
  q.candidates.table = nullptr;
  desk.ask(answerer, 1, q, now);
  ASSERT_EQ(answerer.refused.size(), 1U);
  EXPECT_EQ(answerer.refused[0].text, "this replica is stopping");
}

TEST_F(FrontDeskTest, NumbersOfAnotherTableAreLookedUpAgain) {
  Request q = request();
  q.candidates.table = std::make_shared<const NodeTable>(answerer.ledger);
  desk.ask(answerer, 1, q, now);
  ASSERT_EQ(answerer.refused.size(), 1U);
  EXPECT_EQ(answerer.refused[0].kind, Kind::NewTable);
  EXPECT_EQ(answerer.refused[0].table, answerer.nodes);
}

TEST_F(FrontDeskTest, ButNotWhereTheyAreNotRead) {
  Request q = request(Verb::Bind);
  q.candidates.table = nullptr;
  desk.ask(answerer, 1, q, now);
  EXPECT_EQ(answerer.served.size(), 1U);
}

}  // namespace
}  // namespace gs::extender
