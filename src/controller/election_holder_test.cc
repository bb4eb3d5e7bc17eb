#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "controller/election_hand_test.h"
#include "kapi/time.h"

namespace gs::controller {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// One whose rival holds the lease, in a container, and renewed last when `one` starts.
struct Rival {
  explicit Rival(One& one) : one_{one} {
    one_.server.put("rival", 5, kapi::microTimeText(one_.now().wall));
    one_.server.inContainer("gs/rival-0/u-1/scheduler", kapi::microTimeText(one_.now().wall - seconds{100}));
  }
  /// As its kubelet reports it.
  void reportEnd(Duration after = {}) {
    auto pod = std::make_shared<HolderPod>();
    pod->uid = model::Uid{"u-1"};
    const Wall ended = one_.now().wall + std::chrono::duration_cast<Wall::duration>(after);
    pod->runs = {{"scheduler", one_.now().wall - seconds{200}, ended}};
    one_.server.pods["rival-0"] = std::move(pod);
  }
  One& one_;
};

TEST(Election, ALeaderThatItsKubeletSaysHasEndedIsFollowedAtOnce) {
  One one;
  Rival rival{one};
  one.start();
  rival.reportEnd();
  one.run(milliseconds{450});
  EXPECT_FALSE(one.leads());  // it is not late
  EXPECT_EQ(one.server.pods_read, 0);
  one.run(milliseconds{200});
  EXPECT_TRUE(one.leads());
  EXPECT_EQ(one.server.lease()->record.transitions, 1);
  ASSERT_FALSE(one.logs.empty());
  EXPECT_NE(one.logs.back().find("the leader rival has ended"), std::string::npos) << one.logs.back();
}

TEST(Election, UntilItsKubeletSaysSoItIsAskedTwicePerRetryPeriodAndTheLeaseDurationHolds) {
  One one;
  const Rival rival{one};
  one.start();
  one.run(milliseconds{4900});
  EXPECT_FALSE(one.leads());
  EXPECT_GE(one.server.pods_read, 13);
  EXPECT_LE(one.server.pods_read, 18);
  one.run(milliseconds{700});
  EXPECT_TRUE(one.leads());
}

TEST(Election, ALeaderThatRenewsIsNeverAskedAfter) {
  One one;
  const Rival rival{one};
  one.start();
  for (int i = 0; i < 40; ++i) {
    one.run(milliseconds{500});
    one.server.put("rival", 5, kapi::microTimeText(one.now().wall));
  }
  EXPECT_EQ(one.server.pods_read, 0);
}

TEST(Election, WhoseContainerIsNotKnownIsNotAskedAfter) {
  One one;
  one.server.put("rival", 5, "r0");
  one.start();
  one.run(seconds{4});
  EXPECT_EQ(one.server.pods_read, 0);
}

TEST(Election, WhoMayNotReadPodsAsksOnce) {
  One one;
  Rival rival{one};
  one.server.pods_forbidden = 100;
  one.start();
  rival.reportEnd();
  one.run(milliseconds{4900});
  EXPECT_FALSE(one.leads());
  EXPECT_EQ(one.server.pods_read, 1);
}

TEST(Election, SoonIsSaidWhenTheHolderMissedTwoRetryPeriodsAndNotAgainForALeaseDuration) {
  One one;
  const Rival rival{one};
  one.start();
  one.run(milliseconds{950});
  EXPECT_GT(one.server.pods_read, 0);
  EXPECT_EQ(one.leadership, std::nullopt);
  one.run(milliseconds{950});
  ASSERT_TRUE(one.leadership.has_value());
  EXPECT_TRUE(one.leadership->soon);
  one.leadership.reset();
  one.server.put("rival", 5, kapi::microTimeText(one.now().wall));  // it was only late
  one.run(milliseconds{1900});
  EXPECT_EQ(one.leadership, std::nullopt);
}

TEST(Election, OneThatStopsWhileItAsksTakesNothing) {
  One one;
  Rival rival{one};
  one.start();
  rival.reportEnd();
  one.cut_pods = true;
  one.run(milliseconds{700});
  one.stop();
  one.answer(kapi::CallResult::Applied, true);
  EXPECT_TRUE(one.released);
  EXPECT_EQ(one.server.lease()->holder, "rival");
}

TEST(Election, AnOwnerThatHangsTakesNothingFromOneThatEnded) {
  One one;
  one.start();
  ASSERT_TRUE(one.leads());
  one.owner_hangs = true;
  one.run(seconds{4});
  Rival rival{one};
  rival.reportEnd(milliseconds{500});
  one.run(seconds{4});
  EXPECT_FALSE(one.leads());
}

}  // namespace
}  // namespace gs::controller
