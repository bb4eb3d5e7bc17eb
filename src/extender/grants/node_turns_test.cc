#include "extender/grants/node_turns.h"

#include <gtest/gtest.h>

namespace gs::extender {
namespace {

using Other = NodeTurns::Other;

const model::NodeName kOwn{"own"};
const model::NodeName kOther{"other"};

class NodeTurnsTest : public ::testing::Test {
 protected:
  void pass(Duration by) { now += by; }
  /// All turns of its own node, none of which was used.
  void inVain() {
    turns.begin(now);
    for (int turn = 1; turn < kTurnsOfPredicate; ++turn) {
      pass(kHeldForPredicate);
      EXPECT_TRUE(turns.ownFits(kOwn, now)) << turn;
      turns.hold(now);
    }
    pass(kHeldForPredicate);
    EXPECT_FALSE(turns.ownFits(kOwn, now)) << "it rests";
  }

  NodeTurns turns;
  Mono now{std::chrono::hours{1}};
};

TEST_F(NodeTurnsTest, NoOtherNodeFitsWhileItsSchedulerMayActOnItsOwn) {
  turns.begin(now);
  EXPECT_EQ(turns.otherFits(kOther, now), Other::Held);
  pass(kHeldForPredicate - std::chrono::milliseconds{1});
  EXPECT_EQ(turns.otherFits(kOther, now), Other::Held);
  turns.hold(now);
  pass(std::chrono::milliseconds{1});
  EXPECT_EQ(turns.otherFits(kOther, now), Other::Held) << "it was told again";
  pass(kHeldForPredicate);
  EXPECT_EQ(turns.otherFits(kOther, now), Other::Fits);
}

TEST_F(NodeTurnsTest, ManyRequestsInOneTurnAreOneTurn) {
  turns.begin(now);
  for (int i = 0; i < 100; ++i) { EXPECT_TRUE(turns.ownFits(kOwn, now)); }
  inVain();
}

TEST_F(NodeTurnsTest, ItsOwnNodeRestsWhileOthersHaveTheirsAndThenHasItsTurnsAgain) {
  inVain();
  EXPECT_EQ(turns.otherFits(kOther, now), Other::Fits);
  EXPECT_EQ(turns.otherFits(kOwn, now), Other::InVain);
  pass(kHeldForPredicate);
  EXPECT_TRUE(turns.ownFits(kOwn, now));
  EXPECT_EQ(turns.otherFits(kOwn, now), Other::Fits) << "what rested is forgotten with the first turn";
}

TEST_F(NodeTurnsTest, ANodeThatItMovedAwayFromIsNotTriedAgainInTheSameRound) {
  inVain();
  turns.begin(now);  // decided anew, on another node
  pass(kHeldForPredicate);
  for (int turn = 1; turn < kTurnsOfPredicate; ++turn) {
    EXPECT_TRUE(turns.ownFits(kOther, now));
    pass(kHeldForPredicate);
  }
  EXPECT_FALSE(turns.ownFits(kOther, now));
  EXPECT_EQ(turns.otherFits(kOwn, now), Other::InVain);
  EXPECT_EQ(turns.otherFits(kOther, now), Other::InVain);
}

}  // namespace
}  // namespace gs::extender
