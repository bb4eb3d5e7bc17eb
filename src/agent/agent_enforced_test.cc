// The agent as the one who says what containers are to have, and what they have.
#include <algorithm>

#include "agent/agent_test.h"
#include "agent/enforced/metrics.h"

namespace gs::agent {
namespace {

using enforce::Hold;
using namespace std::chrono_literals;

class EnforcingAgent : public AgentTest {
 protected:
  void startEnforcing(OnMismatch on_mismatch = OnMismatch::Warn) {
    agent.emplace(Agent::Config{.node = model::NodeName{kNode},
                                .enforcement = model::Enforcement::Devices,
                                .enforces_devices = true,
                                .on_mismatch = on_mismatch,
                                .lease_namespace = FakeLeases::kNamespace},
                  Rng{1});
    take(agent->start(clock.now()));
  }
  void beginEnforcing(OnMismatch on_mismatch = OnMismatch::Warn) {
    startEnforcing(on_mismatch);
    look(seeing(hardware({"GPU-1A", "GPU-2B"})));
  }
  /// And its container runtime is reached.
  void enforcing(OnMismatch on_mismatch = OnMismatch::Warn) {
    beginEnforcing(on_mismatch);
    report({.is_connected = true});
  }
  void report(const enforce::Report& what) { take(agent->enforced(what, clock.now())); }
  [[nodiscard]] enforce::Holding said(const char* uid) const {
    const auto all = agent->record()->holdings;
    const auto it = all.find(model::Uid{uid});
    return it == all.end() ? enforce::Holding{} : it->second;
  }
  [[nodiscard]] std::string enforcement() const {
    return std::string{(*status)["status"]["enforcement"].str()};
  }
  /// A container of that pod has what another pod's lease holds.
  static enforce::Mismatch hasAnothers(const std::string& pod) {
    return {
        enforce::Wrong::HasAnothers,
        "c1",
        model::Uid{"uid-" + pod},
        "default",
        pod,
        {{0, model::DeviceId::kWhole}},
        "container main of pod default/" + pod + " has GPUs 0 of node n, which leases of other pods hold"};
  }
  [[nodiscard]] std::size_t eventsOf(const std::string& begins) const {
    return static_cast<std::size_t>(std::count_if(
        events.begin(), events.end(), [&](const std::string& event) { return event.starts_with(begins); }));
  }
};

// ---- the record

TEST_F(EnforcingAgent, TheRecordSaysGpusPodsAndWhoHoldsWhat) {
  beginEnforcing();
  const auto p = podWith("p", "n:1", "r1");
  leases.give(1, p, "r1", "n:1").uuid = "GPU-2B";
  pod(p);
  const auto record = agent->record();
  EXPECT_EQ(record->node, "n");
  EXPECT_TRUE(record->knows_pods);
  EXPECT_FALSE(record->by_driver);
  ASSERT_EQ(record->devices.size(), 2U);
  EXPECT_EQ(record->devices[1].uuid, "GPU-2B");
  EXPECT_EQ(said("uid-p").hold, Hold::Verified);
  EXPECT_EQ(record->held.at({1, model::DeviceId::kWhole}), model::Uid{"uid-p"});
}

TEST_F(EnforcingAgent, TheRecordIsANewOneOnlyWhenItSaysSomethingElse) {
  beginEnforcing();
  auto p = podWith("p", "n:1", "r1");
  leases.give(1, p, "r1", "n:1");
  pod(p);
  const auto before = agent->record();
  p.ready = true;
  pod(p, kapi::WatchType::Modified);
  look(seeing(hardware({"GPU-1A", "GPU-2B"})));
  wait(10min);
  EXPECT_EQ(agent->record(), before) << "the same value";
  p.annotations[model::kReservationKey] = "r2";
  pod(p, kapi::WatchType::Modified);
  EXPECT_GT(agent->record()->version, before->version);
  EXPECT_EQ(before->holdings.at(p.uid).hold, Hold::Verified) << "who has the old one has it as it was";
  EXPECT_EQ(said("uid-p").hold, Hold::Refuted);
}

/// A container with a GPU is refused until then.
TEST_F(EnforcingAgent, ItKnowsThePodsOnceTheirLeasesWereRead) {
  holds_back = true;
  beginEnforcing();
  EXPECT_FALSE(agent->record()->knows_pods);
  EXPECT_EQ(agent->record()->node, "n");
  holds_back = false;
  answerAll();
  EXPECT_TRUE(agent->record()->knows_pods);
  holds_back = true;
  pod(podWith("p", "n:1", "r1"));
  EXPECT_TRUE(agent->record()->knows_pods) << "those that come later are in it as they come";
  EXPECT_EQ(said("uid-p").hold, Hold::Unverified);
  EXPECT_NE(said("uid-p").why, "");
}

TEST_F(EnforcingAgent, WhoEndedIsInItWhileItHasContainers) {
  beginEnforcing();
  const auto p = podWith("p", "n:1", "r1");
  leases.give(1, p, "r1", "n:1");
  pod(p);
  containers(holding({"uid-p"}));
  pod(p, kapi::WatchType::Deleted);
  leases.all.clear();
  EXPECT_EQ(agent->record()->holdings.size(), 1U);
  containers(holding({}));
  EXPECT_TRUE(agent->record()->holdings.empty());
  EXPECT_TRUE(agent->record()->held.empty());
}

TEST_F(EnforcingAgent, WithoutEnforcementNoLeaseIsReadAndNobodyHoldsAnything) {
  published();
  pod(podWith("p", "n:1", "r1"));
  ASSERT_NE(agent->record(), nullptr);
  EXPECT_TRUE(agent->record()->holdings.empty());
  EXPECT_TRUE(condition(kEnforcedCondition).isNull());
  EXPECT_FALSE(metrics.contains(kNriConnected));
}

TEST_F(EnforcingAgent, WhatADriverPreparesIsLeftToIt) {
  status = Value{Object{{"metadata", Object{{"name", kNode}}}, {"status", Object{{"enforcement", "dra"}}}}};
  changed();
  startEnforcing();  // without a look at GPUs it writes nothing
  report({.is_connected = true});
  pod(podWith("p", "n:1", "r1"));
  EXPECT_TRUE(agent->record()->by_driver);
  EXPECT_TRUE(agent->record()->knows_pods);
  EXPECT_TRUE(agent->record()->holdings.empty());
  EXPECT_NE(agent->readiness().text().find("enforcement: a DRA driver prepares the GPUs of this node"),
            std::string::npos);
}

// ---- what is true now

TEST_F(EnforcingAgent, DevicesAreEnforcedWhileTheRuntimeIsReached) {
  beginEnforcing();
  EXPECT_EQ(enforcement(), "env") << "containers are told, and that is all";
  EXPECT_EQ(condition(kEnforcedCondition)["status"].str(), "False");
  EXPECT_EQ(condition(kEnforcedCondition)["reason"].str(), "NotConnected");
  EXPECT_EQ(metrics[kNriConnected], 0);
  report({.is_connected = true});
  EXPECT_EQ(enforcement(), "devices");
  EXPECT_EQ(condition(kEnforcedCondition)["status"].str(), "True");
  EXPECT_EQ(metrics[kNriConnected], 1);
  EXPECT_NE(agent->readiness().text().find("enforcement: ok\n"), std::string::npos);
  report({.is_connected = false, .why = "nobody listens at /var/run/nri/nri.sock"});
  EXPECT_EQ(enforcement(), "env");
  EXPECT_NE(agent->readiness().text().find("enforcement: nobody listens at /var/run/nri/nri.sock\n"),
            std::string::npos);
  EXPECT_TRUE(agent->readiness().ready) << "what it says of the GPUs is as good as before";
  EXPECT_EQ(metrics[kNriConnected], 0);
}

TEST_F(EnforcingAgent, WithADevicePluginTheSetIsKnownAllTheSame) {
  node->set("status", Object{{"allocatable", Object{{"nvidia.com/gpu", "2"}}}});
  enforcing();
  wait(6min);
  EXPECT_TRUE(condition(kUnknownSetCondition).isNull());
}

// ---- what is said

TEST_F(EnforcingAgent, RefusalsAndMovesAreSaidOnThePodOnce) {
  enforcing();
  enforce::Report what{.is_connected = true};
  what.said = {
      {{"default", "p"}, model::Uid{"u1"}, "main", enforce::Reason::Refuted, "container main: no lease"},
      {{"default", "q"}, model::Uid{"u2"}, "main", enforce::Remark::Moved, "container main: GPU 1 for 0"},
      {{"default", "r"}, model::Uid{"u3"}, "main", enforce::Remark::Adjusted, "container main: has its own"}};
  for (int i = 0; i < 30; ++i) {
    report(what);
    wait(1s);
  }
  std::sort(events.begin(), events.end());
  EXPECT_EQ(events, (std::vector<std::string>{"GpuMoved on q: container main: GPU 1 for 0",
                                              "GpuRefused on p: container main: no lease"}));
}

TEST_F(EnforcingAgent, AMismatchIsSaidOnThePodAndOfAForeignOneOnTheNodeToo) {
  enforcing();
  const auto p = podWith("p", "n:1", "r1");
  leases.give(1, p, "r1", "n:1");
  pod(p);
  enforce::Report what{.is_connected = true};
  what.mismatches = {hasAnothers("p"), hasAnothers("foreign")};
  report(what);
  report(what);
  EXPECT_EQ(eventsOf("GpuMismatch on p: "), 1U);
  EXPECT_EQ(eventsOf("GpuMismatch on foreign: "), 1U);
  EXPECT_EQ(eventsOf("GpuMismatch on n: container main of pod default/foreign"), 1U);
  EXPECT_EQ(events.size(), 3U);
  wait(10min);
  EXPECT_TRUE(evicted.empty()) << "that was not asked for";
}

TEST_F(EnforcingAgent, WhoHasAnothersIsEvictedWhereThatIsAskedFor) {
  enforcing(OnMismatch::Evict);
  enforce::Report what{.is_connected = true};
  what.mismatches = {hasAnothers("foreign"), hasAnothers("p")};
  what.mismatches[1].wrong = enforce::Wrong::LacksOwn;
  report(what);
  for (int i = 0; i < 20; ++i) {
    wait(10s);
    report(what);
  }
  EXPECT_EQ(evicted, (std::vector<std::string>{"foreign"})) << "once, and nobody else";
}

/// Until somebody enforces it, a limit gets whichever GPUs the plugin takes.
TEST_F(EnforcingAgent, ClaimPodsWithLimitsAreWarnedWhereADevicePluginPicks) {
  node->set("status", Object{{"allocatable", Object{{"nvidia.com/gpu", "2"}}}});
  published();
  auto p = podWith("p", "n:1", "r1");
  p.requests.extended[model::kNvidiaGpu] = 1;
  pod(p);
  pod(podWith("q", "n:0", "r2"));
  wait(1min);
  p.ready = true;
  pod(p, kapi::WatchType::Modified);
  EXPECT_EQ(condition(kUnknownSetCondition)["status"].str(), "True");
  ASSERT_EQ(events.size(), 1U) << "q has no limit, and p was told";
  EXPECT_TRUE(events[0].starts_with(
      "GpuSetUnknown on p: the pod was given GPUs n:1 and has a limit of nvidia.com/gpu: a device plugin of "
      "node n picks GPUs for that limit"))
      << events[0];
  EXPECT_NE(events[0].find("--enforce=devices"), std::string::npos);
}

}  // namespace
}  // namespace gs::agent
