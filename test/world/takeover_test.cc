// Who follows a leader that was killed, and when: at once where its kubelet says that its process has ended.
#include <gtest/gtest.h>

#include <optional>

#include "sandbox/world/world.h"

namespace gs::sandbox {
namespace {

using namespace std::chrono_literals;

class TakeoverTest : public ::testing::Test {
 protected:
  void start(bool own_pods) {
    World::Options options;
    options.own_pods = own_pods;
    world_.emplace(options);
    world_->startReplica();
    world_->startReplica();
    ASSERT_TRUE(world_->runUntil([this] { return world_->leader().has_value(); }, 30s));
    world_->run(10s);
    first_ = *world_->leader();
  }
  /// How long after now the other one leads.
  [[nodiscard]] Duration untilOtherLeads() {
    const Mono from = world_->now().mono;
    EXPECT_TRUE(world_->runUntil([this] { return leads(1 - first_); }, 30s));
    return world_->now().mono - from;
  }

  /// One that stands still believes that it leads.
  [[nodiscard]] bool leads(ReplicaId id) const {
    return world_->alive(id) && world_->scheduler(id).leading();
  }

  std::optional<World> world_;
  ReplicaId first_ = 0;
};

TEST_F(TakeoverTest, OneThatItsKubeletSaysHasEndedIsFollowedBeforeItsLeaseIsOver) {
  start(true);
  world_->crash(first_);
  EXPECT_LT(untilOtherLeads(), 3s);
}

TEST_F(TakeoverTest, WithoutAWordOfItsKubeletTheLeaseDurationHolds) {
  start(false);
  world_->crash(first_);
  EXPECT_GT(untilOtherLeads(), 4s);
}

TEST_F(TakeoverTest, OneThatStandsStillHasNotEnded) {
  start(true);
  world_->freeze(first_, true);
  EXPECT_GT(untilOtherLeads(), 4s);
}

TEST_F(TakeoverTest, TheNextLifeInTheSamePodIsNotTakenForTheOneThatEnded) {
  start(true);
  world_->crash(first_);
  (void)untilOtherLeads();
  world_->restart(first_);
  const ReplicaId other = 1 - first_;
  world_->run(10s);
  world_->crash(other);  // the pod of who leads now says that a life before it has ended
  ASSERT_TRUE(world_->runUntil([this] { return leads(first_); }, 30s));
  world_->run(10s);
  world_->restart(other);
  world_->run(10s);
  world_->freeze(first_, true);
  const Mono from = world_->now().mono;
  ASSERT_TRUE(world_->runUntil([&] { return leads(other); }, 30s));
  EXPECT_GT(world_->now().mono - from, 4s);
}

}  // namespace
}  // namespace gs::sandbox
