#include "agent/agent.h"

#include <algorithm>

#include "agent/agent_test.h"
#include "agent/metrics.h"

namespace gs::agent {
namespace {

using namespace std::chrono_literals;

TEST_F(AgentTest, PublishesOnceItHasHadALook) {
  begin();
  EXPECT_EQ(publishes, 0);
  EXPECT_FALSE(agent->readiness().ready);
  EXPECT_NE(agent->readiness().text().find("status: not written yet\n"), std::string::npos);
  look(seeing(hardware({"GPU-2B", "GPU-1A"})));
  ASSERT_EQ(publishes, 1);
  EXPECT_EQ((*status)["metadata"]["ownerReferences"].at(0)["uid"].str(), "node-1");
  EXPECT_EQ(device(0)["uuid"].str(), "GPU-1A");
  EXPECT_EQ((*status)["status"]["driverVersion"].str(), "550");
  EXPECT_EQ((*status)["status"]["enforcement"].str(), "env");
  EXPECT_EQ(condition(kDriverCondition)["status"].str(), "True");
  EXPECT_TRUE(agent->readiness().ready);
  EXPECT_EQ(agent->readiness().text().find("status: ok\n"), 0U);
  EXPECT_EQ(metrics["gpu_scheduler_agent_devices Healthy"], 2);
  EXPECT_EQ(metrics[kDriverAnswers], 1);
}

TEST_F(AgentTest, PublishesAtOnceWhatChangesAndElseOnceAMinute) {
  published();
  look(seeing(hardware({"GPU-1A", "GPU-2B"})));
  EXPECT_EQ(publishes, 1);
  Hardware sick = hardware({"GPU-1A", "GPU-2B"});
  sick.gpus[1].health = model::Health::Unhealthy;
  sick.gpus[1].reason = "GPU is lost";
  look(seeing(sick));
  EXPECT_EQ(publishes, 2);
  EXPECT_EQ(device(1)["healthReason"].str(), "GPU is lost");
  wait(53s);
  EXPECT_EQ(publishes, 2);
  wait(14s);
  EXPECT_EQ(publishes, 3);
  wait(600s);
  EXPECT_GE(publishes, 12);
  EXPECT_LE(publishes, 14);
}

/// Thousands of them start at once when a cluster is upgraded.
TEST_F(AgentTest, AgentsDoNotWriteInOneSecond) {
  std::set<Mono> times;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    status.reset();
    wakes.clear();
    agent.emplace(Agent::Config{.node = model::NodeName{kNode}}, Rng{seed});
    take(agent->start(clock.now()));
    look(seeing(hardware({"GPU-1A"})));
    const Duration wait = *wakes.rbegin() - clock.now().mono;
    EXPECT_GE(wait, 54s);
    EXPECT_LE(wait, 66s);
    times.insert(*wakes.rbegin());
  }
  EXPECT_GT(times.size(), 15U);
}

TEST_F(AgentTest, WhatChangesWhileAWriteIsUnderWayGoesWithTheNext) {
  published();
  holds_back = true;
  look(seeing(hardware({"GPU-1A", "GPU-2B", "GPU-3C"})));
  look(seeing(hardware({"GPU-1A", "GPU-2B", "GPU-3C", "GPU-4D"})));
  look(seeing(hardware({"GPU-1A", "GPU-2B", "GPU-3C", "GPU-4D", "GPU-5E"})));
  EXPECT_EQ(calls.size(), 1U);
  holds_back = false;
  answerAll();
  EXPECT_EQ(publishes, 3);
  EXPECT_EQ((*status)["status"]["total"].integer(), 5);
}

// ---- the driver

TEST_F(AgentTest, WithoutADriverItSaysSoAndStaysUp) {
  begin();
  look(faulty(Fault::Kind::Absent, "there is no driver"));
  EXPECT_EQ((*status)["status"]["total"].integer(), 0);
  EXPECT_EQ(condition(kDriverCondition)["status"].str(), "False");
  EXPECT_EQ(condition(kDriverCondition)["reason"].str(), "DriverAbsent");
  EXPECT_EQ(condition(kDriverCondition)["message"].str(), "there is no driver");
  EXPECT_TRUE(agent->readiness().ready);
  EXPECT_NE(agent->readiness().text().find("driver: there is no driver\n"), std::string::npos);
  look(faulty(Fault::Kind::Absent, "there is no driver"));
  EXPECT_EQ(std::count(logs.begin(), logs.end(), "there is no driver"), 1);
  EXPECT_EQ(publishes, 1);
  look(seeing(hardware({"GPU-1A"})));
  EXPECT_EQ(condition(kDriverCondition)["status"].str(), "True");
  EXPECT_EQ(health(0), "Healthy");
  EXPECT_EQ(std::count(logs.begin(), logs.end(), "the driver answers again"), 1);
}

TEST_F(AgentTest, ADriverThatHangsLeavesItsGpusUnknownAndTheUnhealthyOnesUnhealthy) {
  begin();
  Hardware sick = hardware({"GPU-1A", "GPU-2B"});
  sick.gpus[1].health = model::Health::Unhealthy;
  sick.gpus[1].reason = "GPU is lost";
  look(seeing(sick));
  look(faulty(Fault::Kind::Hanging, "it hangs"));
  EXPECT_EQ(health(0), "Unknown");
  EXPECT_EQ(device(0)["healthReason"].str(), "it hangs");
  EXPECT_EQ(health(1), "Unhealthy");
  EXPECT_EQ(device(1)["healthReason"].str(), "GPU is lost");
  EXPECT_EQ(condition(kDriverCondition)["reason"].str(), "DriverHangs");
  EXPECT_EQ(metrics["gpu_scheduler_agent_devices Unknown"], 1);
  EXPECT_EQ(metrics[kDriverAnswers], 0);
  look(seeing(sick));
  EXPECT_EQ(health(0), "Healthy");
  look(faulty(Fault::Kind::Failing, "error 999"));
  EXPECT_EQ(condition(kDriverCondition)["reason"].str(), "DriverFails");
}

/// Schedulers would take what it had away from the pods that run there.
TEST_F(AgentTest, AfterARestartWithoutADriverTheGpusOfBeforeStay) {
  published();
  const Value before = *status;
  begin();
  look(faulty(Fault::Kind::Absent, "there is no driver"));
  EXPECT_EQ((*status)["status"]["total"].integer(), 2);
  EXPECT_EQ(health(0), "Unknown");
  EXPECT_EQ(device(1)["uuid"].str(), "GPU-2B");
  EXPECT_EQ(device(1)["pciBusId"], before["status"]["devices"].at(1)["pciBusId"]);
  EXPECT_EQ((*status)["status"]["driverVersion"].str(), "550");
}

TEST_F(AgentTest, NothingIsWrittenBeforeItIsKnownWhatStoodThere) {
  published();
  begin();
  breaks = 3;
  begin();
  look(faulty(Fault::Kind::Absent, "there is no driver"));
  EXPECT_EQ(publishes, 1);
  EXPECT_NE(agent->readiness().text().find("reading GpuNodeStatus n: 500"), std::string::npos);
  wait(10s);
  EXPECT_EQ((*status)["status"]["total"].integer(), 2);
  EXPECT_EQ(publishes, 2);
}

TEST_F(AgentTest, WhatTheDriverSaidCountsThoughWhatStoodThereIsReadLater) {
  published();
  breaks = 3;
  begin();
  look(seeing(hardware({"GPU-1A", "GPU-2B", "GPU-3C"})));
  EXPECT_EQ(publishes, 1);
  wait(10s);
  EXPECT_EQ((*status)["status"]["total"].integer(), 3);
}

TEST_F(AgentTest, AGpuThatTheDriverListsNoMoreStaysUnhealthyAndIdsStay) {
  published();
  look(seeing(hardware({"GPU-1A"})));
  EXPECT_EQ((*status)["status"]["total"].integer(), 2);
  EXPECT_EQ(health(0), "Healthy") << "it lies below the one that vanished";
  EXPECT_EQ(health(1), "Unhealthy");
  EXPECT_NE(device(1)["healthReason"].str().find("does not list it any more"), std::string::npos);
}

/// CUDA counts those that are there: who is told 1 would get the second of them.
TEST_F(AgentTest, GpusAboveOneThatVanishedAreGivenToNobody) {
  published();
  look(seeing(hardware({"GPU-2B"})));
  EXPECT_EQ((*status)["status"]["total"].integer(), 2);
  EXPECT_EQ(health(0), "Unhealthy");
  EXPECT_NE(device(0)["healthReason"].str().find("does not list it any more"), std::string::npos);
  EXPECT_EQ(device(1)["uuid"].str(), "GPU-2B");
  EXPECT_EQ(health(1), "Unhealthy");
  EXPECT_EQ(
      device(1)["healthReason"].str(),
      "indices moved since GPU GPU-1A vanished: drain the node, and a minute later they are counted anew");
  look(seeing(hardware({"GPU-2B", "GPU-3C"})));
  EXPECT_EQ((*status)["status"]["total"].integer(), 3);
  EXPECT_EQ(health(0), "Unhealthy");
  look(seeing(hardware({"GPU-1A", "GPU-2B", "GPU-3C"})));
  for (std::size_t i = 0; i < 3; ++i) { EXPECT_EQ(health(i), "Healthy"); }
}

/// One more than the CRD takes is not kept.
TEST_F(AgentTest, OnesThatVanishedAreKeptAsFarAsThereAreIds) {
  const auto many = [](int from) {
    Hardware out;
    for (int i = from; i < from + model::kMaxDeviceId + 1; ++i) {
      Gpu gpu;
      gpu.uuid = "GPU-" + std::to_string(i);
      gpu.pci_bus_id = std::to_string(100'000 + i);
      out.gpus.push_back(gpu);
    }
    return out;
  };
  begin();
  look(seeing(many(0)));
  look(seeing(many(5)));
  EXPECT_EQ((*status)["status"]["total"].integer(), model::kMaxDeviceId + 1);
  EXPECT_EQ(device(0)["uuid"].str(), "GPU-5");
  for (std::size_t i = 0; i <= std::size_t{model::kMaxDeviceId}; ++i) {
    ASSERT_EQ(health(i), "Healthy") << i;
  }
}

TEST_F(AgentTest, OneThatWasReplacedIsForgotten) {
  published();
  Hardware other = hardware({"GPU-1A", "GPU-2B"});
  other.gpus[0].uuid = "GPU-new";
  look(seeing(other));
  EXPECT_EQ((*status)["status"]["total"].integer(), 2);
  EXPECT_EQ(device(0)["uuid"].str(), "GPU-new");
}

TEST_F(AgentTest, ARestartCountsAnew) {
  published();
  begin();
  look(seeing(hardware({"GPU-2B"})));
  EXPECT_EQ((*status)["status"]["total"].integer(), 1);
  EXPECT_EQ(device(0)["uuid"].str(), "GPU-2B");
}

TEST_F(AgentTest, AConditionKeepsSinceWhenItHolds) {
  published();
  const std::string since{condition(kDriverCondition)["lastTransitionTime"].str()};
  const std::string silent{condition(kContainersCondition)["lastTransitionTime"].str()};
  wait(120s);
  begin();
  look(seeing(hardware({"GPU-1A", "GPU-2B", "GPU-3C"})));
  EXPECT_EQ(condition(kDriverCondition)["lastTransitionTime"].str(), since);
  EXPECT_EQ(condition(kContainersCondition)["lastTransitionTime"].str(), silent);
  wait(60s);
  look(faulty(Fault::Kind::Hanging, "it hangs"));
  EXPECT_EQ(condition(kDriverCondition)["lastTransitionTime"].str(), kapi::timeText(clock.now().wall));
}

// ---- the API

TEST_F(AgentTest, WhatFailsIsTriedAgainLaterEachTimeAndSaidOnce) {
  for (const int code : {500, 403, 422, 409, 429}) {
    SCOPED_TRACE(code);
    status.reset();
    writes = publishes = 0;
    logs.clear();
    breaks_with = code;
    breaks = 0;
    published();
    breaks = 1000;
    const int before = writes;
    look(seeing(hardware({"GPU-1A", "GPU-2B", "GPU-3C"})));
    wait(60s);
    EXPECT_GT(writes - before, 5);
    EXPECT_LT(writes - before, 14);
    EXPECT_EQ(std::count_if(logs.begin(), logs.end(),
                            [](const auto& line) { return line.find("writing") != std::string::npos; }),
              1);
    EXPECT_NE(
        agent->readiness().text().find("writing the status of GpuNodeStatus n: " + std::to_string(code)),
        std::string::npos);
    EXPECT_TRUE(agent->readiness().ready) << "schedulers still have what it wrote";
    wait(130s);
    EXPECT_FALSE(agent->readiness().ready) << "but not for ever";
    breaks = 0;
    wait(12s);
    EXPECT_TRUE(agent->readiness().ready);
    EXPECT_EQ((*status)["status"]["total"].integer(), 3);
    EXPECT_NE(agent->readiness().text().find("status: ok\n"), std::string::npos);
  }
  EXPECT_GT(metrics["gpu_scheduler_agent_publishes_total failed"], 5);
}

TEST_F(AgentTest, WhileNobodyElseWritesNothingIsReadAgain) {
  published();
  containers(holding({}));
  const int before = reads;
  wait(600s);
  EXPECT_GT(publishes, 8);
  EXPECT_EQ(reads, before);
  EXPECT_EQ(conflicts, 0);
}

/// Its answer was lost, and so was the call itself, for a while.
TEST_F(AgentTest, AStatusThatLandsAfterANewerOneIsRefused) {
  published();
  holds_back = true;
  look(seeing(hardware({"GPU-1A", "GPU-2B", "GPU-3C"})));
  const kapi::Call late = lost();
  look(seeing(hardware({"GPU-1A", "GPU-2B"})));
  holds_back = false;
  wait(1s);
  const int before = publishes;
  EXPECT_EQ(carryOut(late).http, 409);
  EXPECT_EQ(publishes, before);
  EXPECT_EQ((*status)["status"]["total"].integer(), 3) << "one is kept though the driver lists it no more";
}

TEST_F(AgentTest, WhereAnEarlierStatusLandedLateTheNextIsWrittenOnThat) {
  published();
  containers(holding({}));
  wait(5s);
  containers(holding({}));
  holds_back = true;
  look(seeing(hardware({"GPU-1A", "GPU-2B", "GPU-3C"})));
  const kapi::Call late = lost();
  wait(5s);
  containers(holding({}));
  (void)carryOut(late);
  const std::string landed = observed();
  const int before = reads;
  logs.clear();
  holds_back = false;
  answerAll();
  wait(1s);
  EXPECT_EQ(conflicts, 1);
  EXPECT_EQ(reads, before + 1);
  EXPECT_EQ((*status)["status"]["total"].integer(), 3);
  EXPECT_EQ(observed(), landed) << "that look may have been made before it landed";
  EXPECT_EQ(logs.size(), 0U) << "nothing is wrong";
  EXPECT_NE(agent->readiness().text().find("status: ok\n"), std::string::npos);
  const int written = publishes;
  wait(3s);
  containers(holding({}));
  EXPECT_EQ(publishes, written + 1);
  EXPECT_EQ(observed(), kapi::microTimeText(clock.now().wall));
}

/// Another agent of the same node, say.
TEST_F(AgentTest, WhoIsOvertakenAgainAndAgainWritesLessOften) {
  published();
  overtaken = true;
  const int before_reads = reads;
  const int before_writes = writes;
  look(seeing(hardware({"GPU-1A", "GPU-2B", "GPU-3C"})));
  wait(60s);
  EXPECT_GT(conflicts, 5);
  EXPECT_LT(writes - before_writes, 14);
  EXPECT_EQ(reads - before_reads, conflicts);
  EXPECT_NE(agent->readiness().text().find("writing the status of GpuNodeStatus n: 409"), std::string::npos);
  overtaken = false;
  wait(12s);
  EXPECT_EQ((*status)["status"]["total"].integer(), 3);
  EXPECT_NE(agent->readiness().text().find("status: ok\n"), std::string::npos);
}

TEST_F(AgentTest, WhatIsGoneWhenItIsReadAgainIsMadeAnew) {
  published();
  changed();
  holds_back = true;
  look(seeing(hardware({"GPU-1A", "GPU-2B", "GPU-3C"})));
  take(agent->handle(carryOut(nextCall()), clock.now()));
  EXPECT_EQ(conflicts, 1);
  status.reset();
  node->child("metadata").set("uid", "node-2");
  holds_back = false;
  answerAll();
  wait(2s);
  ASSERT_TRUE(status);
  EXPECT_EQ((*status)["metadata"]["ownerReferences"].at(0)["uid"].str(), "node-2");
  EXPECT_EQ((*status)["status"]["total"].integer(), 3);
}

/// The one before died with a status on its way, which lands when the next one has read what stands there.
TEST_F(AgentTest, WhatAnEarlierAgentWroteLateIsKeptUntilALook) {
  published();
  holds_back = true;
  begin();
  while (!calls.empty() && calls.front().verb != kapi::Verb::Apply) {
    take(agent->handle(carryOut(nextCall()), clock.now()));
  }
  Value devices = (*status)["status"]["devices"];
  devices.array()[1].set("inUseBy", json::Array{Value{"uid-p"}});
  status->child("status").set("devices", devices);
  changed();
  holds_back = false;
  answerAll();
  look(seeing(hardware({"GPU-1A", "GPU-2B"})));
  EXPECT_EQ(users(1), R"(["uid-p"])");
}

/// An apply takes out only what the same field manager put there.
TEST_F(AgentTest, GpusThatSomebodyElseWroteAreTakenOut) {
  published();
  foreign = 9;
  wait(66s);
  EXPECT_EQ(taken_out, 1);
  ASSERT_EQ((*status)["status"]["devices"].items().size(), 2U);
  EXPECT_NE(
      std::find(logs.begin(), logs.end(),
                "somebody else wrote GPUs 9 into GpuNodeStatus n, which this agent does not see: they are "
                "taken out"),
      logs.end());
  EXPECT_EQ(condition(kWriterCondition)["reason"].str(), "Only") << "as the next write's answer shows";
  const int before = publishes;
  wait(200s);
  EXPECT_LE(publishes, before + 4);
  EXPECT_EQ(taken_out, 1);
}

TEST_F(AgentTest, ChangesOfHealthAreLogged) {
  published();
  const auto count = [&] { return std::count(logs.begin(), logs.end(), "a GPU's health changed"); };
  EXPECT_EQ(count(), 0);
  Hardware sick = hardware({"GPU-1A", "GPU-2B"});
  sick.gpus[1].health = model::Health::Unhealthy;
  sick.gpus[1].reason = "GPU is lost";
  look(seeing(sick));
  EXPECT_EQ(count(), 1);
  EXPECT_EQ(fields, "gpu=GPU-2B was=Healthy is=Unhealthy reason=GPU is lost ");
  look(seeing(sick));
  EXPECT_EQ(count(), 1);
  look(faulty(Fault::Kind::Hanging, "it hangs"));
  EXPECT_EQ(count(), 2) << "the sick one is as it was";
  EXPECT_EQ(fields, "gpu=GPU-1A was=Healthy is=Unknown reason=it hangs ");
  look(seeing(hardware({"GPU-1A", "GPU-2B"})));
  EXPECT_EQ(count(), 4);
}

// ---- over a restart

TEST_F(AgentTest, XidsCountUntilTheNodeIsBootedAgain) {
  boot_id = "boot-1";
  begin();
  Hardware sick = hardware({"GPU-1A", "GPU-2B"});
  sick.gpus[1].health = model::Health::Unhealthy;
  sick.gpus[1].reason = "XID 95: reset the GPU, or reboot the node";
  look(seeing(sick));
  EXPECT_EQ((*status)["metadata"]["annotations"][kBootIdKey].str(), "boot-1");
  for (int i = 0; i < 2; ++i) {
    begin();
    look(seeing(hardware({"GPU-1A", "GPU-2B"})));
    EXPECT_EQ(health(0), "Healthy");
    EXPECT_EQ(health(1), "Unhealthy");
    EXPECT_EQ(device(1)["healthReason"].str(), sick.gpus[1].reason);
  }
  Hardware more = hardware({"GPU-1A", "GPU-2B"});
  more.gpus[1].health = model::Health::Unhealthy;
  more.gpus[1].reason = "GPU is lost";
  look(seeing(more));
  EXPECT_EQ(device(1)["healthReason"].str(), "XID 95: reset the GPU, or reboot the node; GPU is lost");
  more.gpus[1].reason = "XID 48: reset the GPU, or reboot the node";
  look(seeing(more));
  EXPECT_EQ(device(1)["healthReason"].str(), "XID 48, 95: reset the GPU, or reboot the node");
  boot_id = "boot-2";
  begin();
  look(seeing(hardware({"GPU-1A", "GPU-2B"})));
  EXPECT_EQ(health(1), "Healthy");
}

TEST_F(AgentTest, XidsOfBeforeAreOverWhereTheDriverSaysThatNothingIsToBeDone) {
  boot_id = "boot-1";
  begin();
  Hardware sick = hardware({"GPU-1A"});
  sick.gpus[0].health = model::Health::Unhealthy;
  sick.gpus[0].reason = "XID 95: reset the GPU, or reboot the node";
  look(seeing(sick));
  breaks = 1;  // what stood there is read after the first look
  begin();
  look(seeing(hardware({"GPU-1A"})));
  wait(5s);
  EXPECT_EQ(health(0), "Unhealthy");
  Hardware cleared = hardware({"GPU-1A"});
  cleared.gpus[0].is_cleared = true;
  look(seeing(cleared));
  EXPECT_EQ(health(0), "Healthy");
}

// ---- the API, when it is not there

TEST_F(AgentTest, ItWaitsForTheCrd) {
  served = false;
  begin();
  look(seeing(hardware({"GPU-1A"})));
  wait(60s);
  EXPECT_NE(
      agent->readiness().text().find("its kind is not served; apply charts/gpu-scheduler/crds/crds.yaml"),
      std::string::npos);
  EXPECT_EQ(publishes, 0);
  served = true;
  wait(12s);
  EXPECT_EQ(publishes, 1);
}

TEST_F(AgentTest, ItWaitsForItsNode) {
  const Value known = *node;
  node.reset();
  begin();
  look(seeing(hardware({"GPU-1A"})));
  EXPECT_NE(agent->readiness().text().find("reading the node n: there is none; --node-name"),
            std::string::npos);
  EXPECT_FALSE(status);
  wait(30s);
  EXPECT_EQ(logs.size(), 1U);
  node = known;
  wait(12s);
  EXPECT_EQ(publishes, 1);
}

/// A Node that was made anew takes the object of the one before along when it goes.
TEST_F(AgentTest, WhatIsDeletedIsMadeAnewForTheNodeThatIsThere) {
  published();
  status.reset();
  node->child("metadata").set("uid", "node-2");
  wait(67s);
  ASSERT_TRUE(status);
  EXPECT_EQ((*status)["metadata"]["ownerReferences"].at(0)["uid"].str(), "node-2");
  EXPECT_EQ((*status)["status"]["total"].integer(), 2);
}

TEST_F(AgentTest, AnOwnerThatIsRefusedIsReadAgain) {
  holds_back = true;
  begin();
  node->child("metadata").set("uid", "node-0");  // it is read so, and then made anew
  holds_back = false;
  breaks_with = 422;
  while (calls.size() > 1 || calls.front().kind != kOwnStatus || calls.front().verb == kapi::Verb::Get) {
    const kapi::Call call = std::move(calls.front());
    calls.erase(calls.begin());
    holds_back = true;
    take(agent->handle(carryOut(call), clock.now()));
    holds_back = false;
  }
  EXPECT_EQ(calls.front().body["metadata"]["ownerReferences"].at(0)["uid"].str(), "node-0");
  node->child("metadata").set("uid", "node-1");
  breaks = 1;
  answerAll();
  look(seeing(hardware({"GPU-1A"})));
  wait(10s);
  ASSERT_TRUE(status);
  EXPECT_EQ((*status)["metadata"]["ownerReferences"].at(0)["uid"].str(), "node-1");
}

TEST_F(AgentTest, AServerWhoseHistoryWentBackIsAFailure) {
  published();
  EXPECT_EQ(agent->failure(), "");
  kapi::WatchEvent event;
  event.stream = stream;
  event.type = kapi::WatchType::Added;
  event.key = {"default", "p"};
  event.revision = 0;
  event.object = testing::PodBuilder{"p"}.on(kNode).revision(0).make();
  take(agent->handle(event, clock.now()));
  EXPECT_NE(agent->failure(), "");
}

/// Until somebody enforces it, a limit gets whichever GPUs the plugin takes.
TEST_F(AgentTest, ThatADevicePluginPicksIsSaidWhileItDoes) {
  const auto offers = [&](const char* gpus) {
    node->set("status", Object{{"allocatable", Object{{"nvidia.com/gpu", gpus}}}});
  };
  published();
  EXPECT_TRUE(condition(kUnknownSetCondition).isNull()) << "this node has none";
  offers("2");
  wait(6min);
  EXPECT_EQ(condition(kUnknownSetCondition)["status"].str(), "True");
  EXPECT_EQ(condition(kUnknownSetCondition)["reason"].str(), "DevicePluginPicks");
  EXPECT_NE(agent->readiness().text().find("limits: a device plugin of this node offers nvidia.com/gpu"),
            std::string::npos);
  EXPECT_TRUE(agent->readiness().ready);
  offers("0");
  wait(6min);
  EXPECT_EQ(condition(kUnknownSetCondition)["status"].str(), "False");
  offers("2");
  agent.emplace(Agent::Config{.node = model::NodeName{kNode}, .enforcement = model::Enforcement::Devices},
                Rng{1});
  wakes.clear();
  take(agent->start(clock.now()));
  look(seeing(hardware({"GPU-1A", "GPU-2B"})));
  EXPECT_TRUE(condition(kUnknownSetCondition).isNull()) << "containers get what was chosen";
}

}  // namespace
}  // namespace gs::agent
