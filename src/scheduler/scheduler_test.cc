// What a scheduler does by itself; how it places pods is tested on the World (test/world/).
#include "scheduler/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kapi/kinds.h"
#include "scheduler/status_page.h"
#include "testing/builders.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;

class SchedulerTest : public ::testing::Test {
 protected:
  kapi::Effects lead(std::uint64_t term) {
    return scheduler.handle(kapi::Leadership{true, term, now.mono + 1h}, now);
  }
  /// It asks which namespace the leases are in: the first thing that a new leader does.
  static bool beginsATerm(const kapi::Effects& effects) {
    return std::any_of(effects.begin(), effects.end(), [](const auto& effect) {
      const auto* call = std::get_if<kapi::Call>(&effect);
      return call != nullptr && call->kind == kapi::kCrd;
    });
  }

  Scheduler scheduler{{}, Rng{1}};
  Now now{Mono{1h}, Wall{1'750'000'000s}};
};

TEST_F(SchedulerTest, AnotherTermBeginsAnewThoughNobodySaidThatTheLastOneEnded) {
  (void)scheduler.start(now);
  EXPECT_TRUE(beginsATerm(lead(1)));
  EXPECT_FALSE(beginsATerm(lead(1))) << "it was only renewed";
  EXPECT_TRUE(beginsATerm(lead(2)));
}

TEST_F(SchedulerTest, ARecordThatCouldNotBeReadIsReadAgainThoughNothingElseHappens) {
  (void)scheduler.start(now);
  kapi::Outcome failed;
  failed.http = 503;
  for (const auto& effect : lead(1)) {
    const auto* call = std::get_if<kapi::Call>(&effect);
    if (call != nullptr && call->kind == kapi::kCrd) { failed.token = call->token; }
  }
  std::optional<Mono> due;
  for (const auto& effect : scheduler.handle(failed, now)) {
    if (const auto* wake = std::get_if<kapi::Wake>(&effect)) { due = wake->at; }
  }
  ASSERT_EQ(due, now.mono + 1s);
  now.mono += 1s;
  EXPECT_TRUE(beginsATerm(scheduler.handle(kapi::TimerDue{}, now)));
}

TEST_F(SchedulerTest, ALeaderLeaseWhoseHistoryWentBackEndsItForGood) {
  (void)scheduler.start(now);
  (void)lead(1);
  kapi::Leadership back;
  back.went_back = true;
  (void)scheduler.handle(back, now);
  EXPECT_NE(scheduler.failure().find("the leader lease"), std::string::npos) << scheduler.failure();
  EXPECT_FALSE(beginsATerm(lead(2)));
}

TEST_F(SchedulerTest, MetricsCountTheGpusOfANodeByState) {
  engine::Engine& engine = scheduler.engine();
  engine.apply(
      {kapi::kNode, {"", "node-a"}, {}, std::make_shared<const model::Node>(testing::makeNode("node-a")), 1},
      now.mono);
  model::GpuNodeStatus status = testing::makeStatus("node-a", 4);
  status.devices[3].health = model::Health::Unhealthy;
  engine.apply(
      {kapi::kGpuNodeStatus, {"", "node-a"}, {}, std::make_shared<const model::GpuNodeStatus>(status), 1},
      now.mono);
  const auto pod = testing::PodBuilder("p").on("node-a").allocated("node-a:1").running();
  engine.apply({kapi::kPod, pod.value().key, {}, pod.make(), 1}, now.mono);
  const std::string metrics = stateMetrics(scheduler);
  for (const char* line :
       {R"({node="node-a",state="free"} 2)", R"({node="node-a",state="held"} 1)",
        R"({node="node-a",state="unhealthy"} 1)", R"({node="node-a",state="draining"} 0)"}) {
    EXPECT_NE(metrics.find(line), std::string::npos) << line << " in\n" << metrics;
  }
}

TEST_F(SchedulerTest, MetricsCountAGpuOfANodeWithoutAStatusAsHeld) {
  engine::Engine& engine = scheduler.engine();
  engine.apply(
      {kapi::kNode, {"", "node-a"}, {}, std::make_shared<const model::Node>(testing::makeNode("node-a")), 1},
      now.mono);
  const auto pod = testing::PodBuilder("p").on("node-a").allocated("node-a:1").running();
  engine.apply({kapi::kPod, pod.value().key, {}, pod.make(), 1}, now.mono);
  const std::string metrics = stateMetrics(scheduler);
  EXPECT_NE(metrics.find(R"({node="node-a",state="held"} 1)"), std::string::npos) << metrics;
}

// A lease holds it yet, and its node lists it no more.
TEST_F(SchedulerTest, MetricsCountAGpuThatIsHeldAndNotListedAsGone) {
  engine::Engine& engine = scheduler.engine();
  engine.apply(
      {kapi::kNode, {"", "node-a"}, {}, std::make_shared<const model::Node>(testing::makeNode("node-a")), 1},
      now.mono);
  const auto lists = [&](int devices, model::Revision revision) {
    model::GpuNodeStatus status = testing::makeStatus("node-a", devices);
    status.revision = revision;
    engine.apply({kapi::kGpuNodeStatus,
                  {"", "node-a"},
                  {},
                  std::make_shared<const model::GpuNodeStatus>(status),
                  revision},
                 now.mono);
  };
  lists(2, 1);
  const auto pod = testing::PodBuilder("p").on("node-a").allocated("node-a:1").running();
  engine.apply({kapi::kPod, pod.value().key, {}, pod.make(), 1}, now.mono);
  EXPECT_EQ(stateMetrics(scheduler).find(R"(state="gone")"), std::string::npos) << "said where there is one";
  lists(1, 2);
  const std::string metrics = stateMetrics(scheduler);
  EXPECT_NE(metrics.find(R"({node="node-a",state="gone"} 1)"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find(R"({node="node-a",state="held"} 0)"), std::string::npos) << metrics;
}

}  // namespace
}  // namespace gs::scheduler
