#include "agent/agent.h"

#include <gtest/gtest.h>

#include "agent/metrics.h"
#include "kapi/decode.h"
#include "kapi/kinds.h"
#include "kapi/time.h"
#include "testing/builders.h"

namespace gs::agent {
namespace {

using namespace std::chrono_literals;
using json::Object;
using json::Value;
using model::Uid;

constexpr const char* kNode = "n";

Hardware hardware(const std::vector<std::string>& uuids) {
  Hardware out;
  out.driver_version = "550";
  for (std::size_t i = 0; i < uuids.size(); ++i) {
    Gpu gpu;
    gpu.uuid = uuids[i];
    gpu.pci_bus_id = "00000000:" + uuids[i].substr(uuids[i].size() - 2) + ":00.0";
    out.gpus.push_back(gpu);
  }
  return out;
}
LookPtr seeing(Hardware what) { return std::make_shared<const Look>(std::move(what)); }
LookPtr faulty(Fault::Kind kind, const char* text) {
  return std::make_shared<const Look>(tl::unexpected(Fault{kind, text}));
}
ContainersLook holding(const std::vector<const char*>& uids) {
  Containers out;
  for (const char* uid : uids) { out.pods[Uid{uid}] = {}; }
  return out;
}

/// An API server with one Node, its GpuNodeStatus, and pods; and the agent's clock.
class AgentTest : public ::testing::Test {
 protected:
  AgentTest() { node = Object{{"metadata", Object{{"name", kNode}, {"uid", "node-1"}}}}; }

  void begin() {
    agent.emplace(
        Agent::Config{
            .node = model::NodeName{kNode}, .enforcement = model::Enforcement::Env, .boot_id = boot_id},
        Rng{1});
    take(agent->start(clock.now()));
  }
  void take(kapi::Effects effects) {
    for (auto& effect : effects) {
      if (auto* call = std::get_if<kapi::Call>(&effect)) { calls.push_back(std::move(*call)); }
      if (auto* watch = std::get_if<kapi::OpenWatch>(&effect)) { stream = watch->stream; }
      if (auto* wake = std::get_if<kapi::Wake>(&effect)) { wakes.insert(wake->at); }
      if (auto* log = std::get_if<kapi::Log>(&effect)) {
        logs.push_back(log->message);
        fields.clear();
        for (const auto& [key, value] : log->fields) { fields += key + "=" + value + " "; }
      }
      if (auto* metric = std::get_if<kapi::Metric>(&effect)) {
        std::string name = metric->name;
        for (const auto& [key, value] : metric->labels) { name += " " + value; }
        metrics[name] = metric->op == kapi::MetricOp::Add ? metrics[name] + metric->value : metric->value;
      }
    }
    if (!holds_back) { answerAll(); }
  }
  void answerAll() {
    while (!calls.empty()) {
      const kapi::Call call = std::move(calls.front());
      calls.erase(calls.begin());
      take(agent->handle(carryOut(call), clock.now()));
    }
  }
  kapi::Outcome carryOut(const kapi::Call& call) {
    const auto refused = [&](int code, const char* reason) {
      return kapi::decodeAnswerValue(
          call, code, Value{Object{{"kind", "Status"}, {"reason", reason}, {"message", reason}}});
    };
    if (call.kind == kapi::kPod) {
      Value list = Object{{"metadata", Object{{"resourceVersion", "1"}}}};
      list.set("items", json::Array{});
      EXPECT_EQ(call.query.find("fieldSelector=spec.nodeName%3Dn") == std::string::npos, false) << call.query;
      return kapi::decodeAnswerValue(call, 200, list);
    }
    if (call.kind == kapi::kNode) {
      return node ? kapi::decodeAnswerValue(call, 200, *node) : refused(404, "NotFound");
    }
    if (!served) { return kapi::decodeAnswerValue(call, 404, Value{"404 page not found"}); }
    if (call.verb == kapi::Verb::Get) {
      if (breaks > 0) { return --breaks, refused(500, "InternalError"); }
      return status ? kapi::decodeAnswerValue(call, 200, *status) : refused(404, "NotFound");
    }
    if (call.verb == kapi::Verb::MergePatch) { return takeOut(call); }
    EXPECT_EQ(call.verb, kapi::Verb::Apply);
    ++writes;
    if (breaks > 0) { return --breaks, refused(breaks_with, "Broken"); }
    if (call.subresource.empty()) {
      EXPECT_EQ(call.query, "fieldManager=gpu-agent&force=true");
      if (!status) { status = Value{Object{}}; }
      status->set("metadata", call.body["metadata"]);
      status->child("metadata").set("resourceVersion", "1");
    } else {
      EXPECT_EQ(call.query, "fieldManager=gpu-agent-status&force=true");
      if (!status) { return refused(404, "NotFound"); }
      status->set("status", call.body["status"]);
      if (foreign) { addForeign(); }
      ++publishes;
    }
    return kapi::decodeAnswerValue(call, 200, *status);
  }
  /// An apply leaves what another field manager put into the list.
  void addForeign() {
    Value& into = status->child("status");
    json::Array devices;
    for (const Value& one : into["devices"].items()) { devices.push_back(one); }
    devices.emplace_back(Object{{"id", *foreign}, {"uuid", "GPU-other"}});
    into.set("devices", std::move(devices));
  }
  kapi::Outcome takeOut(const kapi::Call& call) {
    EXPECT_EQ(call.query, "fieldManager=gpu-agent-status");
    EXPECT_EQ(call.body["metadata"]["resourceVersion"].str(), "1");
    status->child("status").set("devices", call.body["status"]["devices"]);
    foreign.reset();
    ++taken_out;
    return kapi::decodeAnswerValue(call, 200, *status);
  }
  /// Time goes by, with all that is due in it.
  void wait(Duration how_long) {
    const Mono until = clock.now().mono + how_long;
    while (!wakes.empty() && *wakes.begin() <= until) {
      const Mono at = *wakes.begin();
      wakes.erase(wakes.begin());
      if (at > clock.now().mono) { clock.advance(at - clock.now().mono); }
      take(agent->handle(kapi::TimerDue{}, clock.now()));
    }
    clock.advance(until - clock.now().mono);
  }
  void look(const LookPtr& what) { take(agent->looked(what, clock.now())); }
  void containers(const ContainersLook& what) { take(agent->containersSeen(what, clock.now())); }
  void pod(const model::Pod& what, kapi::WatchType type = kapi::WatchType::Added) {
    kapi::WatchEvent event;
    event.stream = stream;
    event.type = type;
    event.key = what.key;
    event.revision = ++revision;
    auto copy = std::make_shared<model::Pod>(what);
    copy->revision = revision;
    event.object = model::PodPtr{copy};
    take(agent->handle(event, clock.now()));
  }
  void published() {
    begin();
    look(seeing(hardware({"GPU-1A", "GPU-2B"})));
    ASSERT_EQ(publishes, 1);
  }
  [[nodiscard]] Value device(std::size_t i) const { return (*status)["status"]["devices"].at(i); }
  [[nodiscard]] std::string health(std::size_t i) const { return std::string{device(i)["health"].str()}; }
  [[nodiscard]] Value condition(const char* type) const {
    for (const Value& one : (*status)["status"]["conditions"].items()) {
      if (one["type"].str() == type) { return one; }
    }
    return {};
  }
  [[nodiscard]] std::string observed() const {
    return std::string{(*status)["status"]["observedTime"].str()};
  }
  [[nodiscard]] std::string users(std::size_t i) const { return json::print(device(i)["inUseBy"]); }

  ManualClock clock;
  std::optional<Agent> agent;
  std::optional<Value> node;
  std::optional<Value> status;
  bool served = true;
  bool holds_back = false;
  std::optional<int> foreign;  // the id of a GPU that somebody else has in the list
  int taken_out = 0;
  std::string boot_id;
  int breaks = 0;  // the next so many reads of the status and writes are refused
  int breaks_with = 500;
  int writes = 0;
  int publishes = 0;  // of the status
  model::Revision revision = 10;
  kapi::Token stream = 0;  // of the pods
  std::vector<kapi::Call> calls;
  std::set<Mono> wakes;
  std::vector<std::string> logs;
  std::string fields;  // of the last one
  std::map<std::string, double> metrics;
};

TEST_F(AgentTest, PublishesOnceItHasHadALook) {
  begin();
  EXPECT_EQ(publishes, 0);
  EXPECT_EQ(agent->readiness().front(), '0');
  EXPECT_NE(agent->readiness().find("status: not written yet\n"), std::string::npos);
  look(seeing(hardware({"GPU-2B", "GPU-1A"})));
  ASSERT_EQ(publishes, 1);
  EXPECT_EQ((*status)["metadata"]["ownerReferences"].at(0)["uid"].str(), "node-1");
  EXPECT_EQ(device(0)["uuid"].str(), "GPU-1A");
  EXPECT_EQ((*status)["status"]["driverVersion"].str(), "550");
  EXPECT_EQ((*status)["status"]["enforcement"].str(), "env");
  EXPECT_EQ(condition(kDriverCondition)["status"].str(), "True");
  EXPECT_EQ(agent->readiness().substr(0, 12), "1status: ok\n");
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
  EXPECT_EQ(agent->readiness().front(), '1');
  EXPECT_NE(agent->readiness().find("driver: there is no driver\n"), std::string::npos);
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
  EXPECT_NE(agent->readiness().find("reading GpuNodeStatus n: 500"), std::string::npos);
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
  EXPECT_EQ(device(1)["healthReason"].str(),
            "indices moved since GPU GPU-1A vanished: drain the node and restart the agent");
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

// ---- containers

TEST_F(AgentTest, WithoutARuntimeObservedTimeStandsStill) {
  published();
  EXPECT_EQ(observed(), kapi::microTimeText(clock.now().wall));
  const std::string first = observed();
  wait(300s);
  EXPECT_GT(publishes, 4);
  EXPECT_EQ(observed(), first);
  EXPECT_EQ(condition(kContainersCondition)["reason"].str(), "NoRuntime");
  begin();
  look(seeing(hardware({"GPU-1A", "GPU-2B"})));
  wait(60s);
  EXPECT_EQ(observed(), first) << "not by a restart either";
}

TEST_F(AgentTest, ObservedTimeIsTheLastLookAtContainers) {
  published();
  containers(holding({}));
  EXPECT_EQ(publishes, 2) << "the condition turned";
  EXPECT_EQ(condition(kContainersCondition)["status"].str(), "True");
  wait(30s);
  containers(holding({}));
  const std::string last = kapi::microTimeText(clock.now().wall);
  EXPECT_EQ(publishes, 2) << "a look that shows nothing new waits for its time";
  wait(30s);
  EXPECT_EQ(publishes, 3);
  EXPECT_EQ(observed(), last);
}

TEST_F(AgentTest, UsersArePublishedAtOnceAndOutliveThePodsObject) {
  published();
  const auto p = testing::PodBuilder{"p"}.on(kNode).allocated("n:1").running().value();
  pod(p);
  containers(holding({"uid-p"}));
  EXPECT_EQ(users(0), "[]");
  EXPECT_EQ(users(1), R"(["uid-p"])");
  EXPECT_EQ((*status)["status"]["free"].integer(), 1);
  pod(p, kapi::WatchType::Deleted);
  containers(holding({"uid-p"}));
  EXPECT_EQ(users(1), R"(["uid-p"])");
  const int before = publishes;
  containers(holding({}));
  EXPECT_EQ(publishes, before + 1);
  EXPECT_EQ(users(1), "[]");
}

/// Schedulers would free what containers still have.
TEST_F(AgentTest, AfterARestartWhoWasListedIsUntilALookSaysOtherwise) {
  published();
  pod(testing::PodBuilder{"p"}.on(kNode).allocated("n:1").running().value());
  containers(holding({"uid-p"}));
  const std::string last = observed();
  wait(5s);
  begin();
  look(seeing(hardware({"GPU-1A", "GPU-2B"})));
  EXPECT_EQ(users(1), R"(["uid-p"])");
  EXPECT_EQ(observed(), last);
  containers(holding({}));
  EXPECT_EQ(users(1), "[]");
  EXPECT_NE(observed(), last);
}

/// The status of the first restart names the GPUs that the pod has; ids mean others since.
TEST_F(AgentTest, AfterTwoRestartsAPodHasTheGpusThatItHadAtFirst) {
  published();
  const auto p = testing::PodBuilder{"p"}.on(kNode).allocated("n:0").running().value();
  pod(p);
  containers(holding({"uid-p"}));
  Hardware turned = hardware({"GPU-1A", "GPU-2B"});
  std::swap(turned.gpus[0].pci_bus_id, turned.gpus[1].pci_bus_id);
  for (int i = 0; i < 3; ++i) {
    begin();
    pod(p);
    containers(holding({"uid-p"}));
    look(seeing(turned));
    EXPECT_EQ(device(1)["uuid"].str(), "GPU-1A");
    EXPECT_EQ(users(0), "[]") << i;
    EXPECT_EQ(users(1), R"(["uid-p"])") << i;
  }
}

/// Whoever may write annotations on a pod of theirs holds up nobody.
TEST_F(AgentTest, APodThatNamesAGpuThatNobodyKnowsHoldsUpNobody) {
  published();
  pod(testing::PodBuilder{"p"}.on(kNode).allocated("n:7").running().value());
  const std::string last = observed();
  wait(1s);
  containers(holding({"uid-p"}));
  EXPECT_NE(observed(), last);
  EXPECT_EQ(condition(kContainersCondition)["status"].str(), "True");
  EXPECT_EQ(users(0), "[]");
}

/// A scheduler wants two looks after such an end: they come ten seconds apart, not sixty.
TEST_F(AgentTest, WhileAPodDrainsItWritesEveryTenSeconds) {
  published();
  const auto p = testing::PodBuilder{"p"}.on(kNode).allocated("n:1").running().value();
  pod(p);
  containers(holding({"uid-p"}));
  pod(p, kapi::WatchType::Deleted);
  int before = publishes;
  for (int i = 0; i < 12; ++i) {
    wait(5s);
    containers(holding({"uid-p"}));
  }
  EXPECT_EQ(publishes, before + 6);
  containers(holding({}));
  before = publishes;
  wait(53s);
  EXPECT_EQ(publishes, before) << "enough looks were written since the end";
}

/// Nobody saw its containers end, and there are none.
TEST_F(AgentTest, AnEndIsFollowedByLooksInQuickSuccession) {
  published();
  containers(holding({}));
  const auto p = testing::PodBuilder{"p"}.on(kNode).allocated("n:1").running().value();
  pod(p);
  wait(30s);
  pod(p, kapi::WatchType::Deleted);
  std::set<std::string> times;
  for (int i = 0; i < 30; ++i) {
    wait(1s);
    containers(holding({}));
    times.insert(observed());
  }
  EXPECT_EQ(times.size(), 4U) << "three new ones";
  const int before = publishes;
  wait(53s);
  EXPECT_EQ(publishes, before) << "then it is calm";
}

TEST_F(AgentTest, ARuntimeThatFallsSilentTakesNobodyAway) {
  published();
  pod(testing::PodBuilder{"p"}.on(kNode).allocated("n:1").running().value());
  containers(holding({"uid-p"}));
  const std::string last = observed();
  wait(60s);
  containers(fail(Code::Unavailable, "connection refused"));
  wait(120s);
  containers(fail(Code::Unavailable, "connection refused"));
  EXPECT_EQ(users(1), R"(["uid-p"])");
  EXPECT_EQ(observed(), last);
  EXPECT_EQ(condition(kContainersCondition)["reason"].str(), "RuntimeSilent");
  EXPECT_EQ(condition(kContainersCondition)["message"].str(),
            "the container runtime does not answer: nobody listens at its socket");
  EXPECT_EQ(std::count(logs.begin(), logs.end(), "connection refused"), 1);
  EXPECT_EQ(metrics[kContainersSeen], 0);
  const int before = publishes;
  containers(fail(Code::Unavailable, "connection refused, for another reason"));
  EXPECT_EQ(publishes, before) << "the words of a failure are no news";
  containers(fail(Code::Deadline, "too late"));
  EXPECT_EQ(publishes, before + 1);
  EXPECT_EQ(condition(kContainersCondition)["message"].str(),
            "the container runtime does not answer in time");
  containers(fail(Code::Internal, "oh"));
  EXPECT_NE(condition(kContainersCondition)["message"].str().find("answers with an error"),
            std::string::npos);
}

/// After a restart that found the GPUs in another order, ids of pods mean the order of before.
TEST_F(AgentTest, IdsOfPodsMeanTheListThatStoodThereWhenTheyWereBound) {
  published();
  begin();
  pod(testing::PodBuilder{"p"}.on(kNode).allocated("n:0").running().value());
  containers(holding({"uid-p"}));
  Hardware turned = hardware({"GPU-1A", "GPU-2B"});
  std::swap(turned.gpus[0].pci_bus_id, turned.gpus[1].pci_bus_id);
  look(seeing(turned));
  EXPECT_EQ(device(1)["uuid"].str(), "GPU-1A");
  EXPECT_EQ(users(1), R"(["uid-p"])");
  pod(testing::PodBuilder{"q"}.on(kNode).allocated("n:0").running().value());
  containers(holding({"uid-p", "uid-q"}));
  EXPECT_EQ(users(0), R"(["uid-q"])");
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
    EXPECT_NE(agent->readiness().find("writing the status of GpuNodeStatus n: " + std::to_string(code)),
              std::string::npos);
    EXPECT_EQ(agent->readiness().front(), '1') << "schedulers still have what it wrote";
    wait(130s);
    EXPECT_EQ(agent->readiness().front(), '0') << "but not for ever";
    breaks = 0;
    wait(12s);
    EXPECT_EQ(agent->readiness().front(), '1');
    EXPECT_EQ((*status)["status"]["total"].integer(), 3);
    EXPECT_NE(agent->readiness().find("status: ok\n"), std::string::npos);
  }
  EXPECT_GT(metrics["gpu_scheduler_agent_publishes_total failed"], 5);
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
  EXPECT_NE(agent->readiness().find("its kind is not served; apply charts/gpu-scheduler/crds/crds.yaml"),
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
  EXPECT_NE(agent->readiness().find("reading the node n: there is none; --node-name"), std::string::npos);
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

}  // namespace
}  // namespace gs::agent
