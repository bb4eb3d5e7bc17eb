#include "sandbox/world/replicas.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "kapi/kinds.h"
#include "sandbox/world/world.h"

namespace gs::sandbox {
namespace {

using namespace std::chrono_literals;

/// Processes on a World's wire, without nodes.
class ReplicasTest : public testing::Test {
 protected:
  static World::Options options() {
    World::Options out;
    out.nodes.clear();
    return out;
  }

  World world_{options()};
};

TEST_F(ReplicasTest, TheStandbyLeadsOnceTheLeaderIsGone) {
  const auto a = world_.startReplica();
  const auto b = world_.startReplica();
  ASSERT_TRUE(world_.runUntil([&] { return world_.leader().has_value(); }, 30s));
  const auto first = *world_.leader();
  const auto second = first == a ? b : a;
  world_.crash(first);
  EXPECT_FALSE(world_.alive(first));
  EXPECT_EQ(world_.leader(), std::nullopt);
  ASSERT_TRUE(world_.runUntil([&] { return world_.leader() == second; }, 30s));
}

TEST_F(ReplicasTest, ARestartedOneHasAnotherLifeAndForgotTheFormer) {
  const auto a = world_.startReplica();
  ASSERT_TRUE(world_.runUntil([&] { return world_.leader() == a; }, 30s));
  world_.restart(a);  // it runs
  EXPECT_EQ(world_.leader(), a);
  world_.crash(a);
  world_.restart(a);
  EXPECT_TRUE(world_.alive(a));
  EXPECT_EQ(world_.leader(), std::nullopt);
  ASSERT_TRUE(world_.runUntil([&] { return world_.leader() == a; }, 30s));
}

TEST_F(ReplicasTest, AFrozenOneLosesItsLeadAndHearsOfItWhenThawed) {
  const auto a = world_.startReplica();
  ASSERT_TRUE(world_.runUntil([&] { return world_.leader() == a; }, 30s));
  world_.freeze(a, true);
  EXPECT_TRUE(world_.frozen(a));
  world_.run(20s);
  EXPECT_EQ(world_.leader(), a);  // it knows nothing
  const auto b = world_.startReplica();
  ASSERT_TRUE(world_.runUntil([&] { return world_.scheduler(b).leading(); }, 30s));
  world_.freeze(a, false);
  world_.run(1s);
  EXPECT_FALSE(world_.scheduler(a).leading());
  EXPECT_EQ(world_.leader(), b);
}

TEST_F(ReplicasTest, OneThatIsStoppedReleasesItsLease) {
  const auto a = world_.startReplica();
  ASSERT_TRUE(world_.runUntil([&] { return world_.leader() == a; }, 30s));
  world_.stop(a);
  ASSERT_TRUE(world_.runUntil([&] { return !world_.alive(a); }, 3s));
  const auto b = world_.startReplica();
  const Mono before = world_.now().mono;
  ASSERT_TRUE(world_.runUntil([&] { return world_.leader() == b; }, 30s));
  EXPECT_LT(world_.now().mono - before, 4s);  // a lease that was not released lasts 5 s
}

TEST_F(ReplicasTest, AClockThatStoodStillIsBehindForGood) {
  const auto a = world_.startReplica();
  ASSERT_TRUE(world_.runUntil([&] { return world_.leader() == a; }, 30s));
  world_.stallClock(a, 20s);
  const auto b = world_.startReplica();
  ASSERT_TRUE(world_.runUntil([&] { return world_.scheduler(b).leading(); }, 30s));
  world_.run(20s);
  EXPECT_FALSE(world_.scheduler(a).leading());
}

/// What runs in a process that a test scripts: it does `effects` whenever it starts, and notes what it hears.
class Script final : public Companion {
 public:
  struct Notes {
    kapi::Effects effects;
    std::string heard;
    bool under_way = false;
  };
  explicit Script(Notes& notes) : notes_{notes} {}

  kapi::Effects start(Now) override { return notes_.effects; }
  kapi::Effects handle(const kapi::MachineEvent& event, Now now) override {
    static constexpr const char* kCallResults[] = {"applied", "refused", "unknown", "not-sent"};
    const auto at = std::chrono::duration_cast<std::chrono::milliseconds>(now.mono.time_since_epoch());
    if (const auto* o = std::get_if<kapi::Outcome>(&event)) {
      notes_.heard += std::to_string(o->token) + " " + kCallResults[static_cast<int>(o->result)];
    } else if (std::holds_alternative<kapi::TimerDue>(event)) {
      notes_.heard += "timer";
    } else {
      return {};
    }
    notes_.heard += "@" + std::to_string(at.count()) + " ";
    return {};
  }
  void stopTaking() override {}
  [[nodiscard]] bool underWay() const override { return notes_.under_way; }
  kapi::Effects ask(extender::RequestId, extender::Request, Now) override { return {}; }
  std::vector<std::pair<extender::RequestId, extender::Answer>> takeAnswers() override { return {}; }
  extender::NodeTablePtr table() override { return nullptr; }
  [[nodiscard]] const extender::Extender& extender() const override { GS_CHECK(false, "nobody asks"); }

 private:
  Notes& notes_;
};

class ScriptedTest : public ReplicasTest {
 protected:
  static kapi::Call read(kapi::Token token, const char* ordering_key) {
    kapi::Call call;
    call.token = token;
    call.kind = kapi::kPod;
    call.key = {"default", "none"};
    call.ordering_key = ordering_key;
    return call;
  }
  ReplicaId start(kapi::Effects effects) {
    notes_.effects = std::move(effects);
    return world_.startReplica(
        {}, [this](scheduler::Scheduler&, Rng) { return std::make_unique<Script>(notes_); });
  }
  std::string heardAfter(Duration by) {
    world_.run(by);
    return std::exchange(notes_.heard, {});
  }

  Script::Notes notes_;
};

TEST_F(ScriptedTest, CallsOfAnOrderingKeyGoOneAfterTheOtherAndOthersSideBySide) {
  (void)start({read(1, "x"), read(2, "x"), read(3, "y"), read(4, ""), read(5, "x"), read(6, "")});
  EXPECT_EQ(heardAfter(100ms), "1 refused@2 3 refused@2 4 refused@2 6 refused@2 2 refused@4 5 refused@6 ");
}

TEST_F(ScriptedTest, ALeaderOnlyCallOfWhoDoesNotLeadIsNotSent) {
  kapi::Call leader_only = read(2, "x");
  leader_only.leader_only = true;
  (void)start({read(1, "x"), leader_only, read(3, "x")});
  EXPECT_EQ(heardAfter(100ms), "1 refused@2 2 not-sent@2 3 refused@4 ");
}

TEST_F(ScriptedTest, AnAnswerToAFormerLifeIsThrownAway) {
  const auto id = start({read(1, "x"), read(2, "x"), kapi::Wake{Mono{5ms}}});
  world_.run(1ms);
  world_.crash(id);
  world_.restart(id);
  EXPECT_EQ(heardAfter(100ms), "1 refused@3 timer@5 2 refused@5 ");  // of the second life
}

TEST_F(ScriptedTest, ACallThatKillsItsSenderKillsNoLaterLife) {
  bool first = true;
  world_.setJudge([&](ReplicaId, const kapi::Call& call) {
    return CallFault{.crash_after =
                         kapi::tokenOwner(call.token) != kElectionOwner && std::exchange(first, false)};
  });
  const auto id = start({read(1, "x")});
  world_.crash(id);
  world_.restart(id);
  EXPECT_EQ(heardAfter(100ms), "1 refused@2 ");
  EXPECT_TRUE(world_.alive(id));
}

TEST_F(ScriptedTest, WhatIsUnderWayIsWaitedForButNotForEver) {
  notes_.under_way = true;
  const auto a = start({});
  const auto b = start({});
  world_.stop(a);
  world_.run(1s);
  EXPECT_TRUE(world_.alive(a));
  world_.run(1100ms);
  EXPECT_FALSE(world_.alive(a));
  world_.stop(b);
  world_.run(100ms);
  notes_.under_way = false;
  ASSERT_TRUE(world_.runUntil([&] { return !world_.alive(b); }, 1s));
}

TEST_F(ScriptedTest, AFrozenOneHearsAllOnceItIsThawed) {
  const auto id = start({read(1, ""), kapi::Wake{Mono{5ms}}});
  world_.freeze(id, true);
  EXPECT_EQ(heardAfter(10ms), "");
  world_.freeze(id, false);
  EXPECT_EQ(heardAfter(0ms), "1 refused@10 timer@10 ");
}

TEST_F(ScriptedTest, TimersGoByTheProcesssOwnClock) {
  const auto id = start({kapi::Wake{Mono{5ms}}, kapi::Wake{Mono{30ms}}});
  world_.run(2ms);
  world_.stallClock(id, 10ms);
  EXPECT_EQ(heardAfter(9ms), "");
  EXPECT_EQ(heardAfter(4ms), "timer@5 ");
  EXPECT_EQ(heardAfter(24ms), "");
  EXPECT_EQ(heardAfter(1ms), "timer@30 ");
}

}  // namespace
}  // namespace gs::sandbox
