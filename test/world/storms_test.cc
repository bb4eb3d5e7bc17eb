// No key is tried again at once, whatever the answer (R59).
#include "test/world/storms.h"

#include <algorithm>
#include <memory>
#include <set>

#include "kapi/kinds.h"
#include "model/annotations.h"
#include "model/map.h"
#include "scheduler/status_page.h"
#include "test/world/one_node.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;
using kapi::Call;
using kapi::Kind;

TEST_F(Storms, ABindingWhoseOutcomeIsNeverKnownIsTriedWithABackoff) {
  answerWith([](const Call& call) { return isBinding(call) ? std::optional{500} : std::nullopt; });
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  EXPECT_LE(mostCalls(kapi::kPod, 60s), 40);
  EXPECT_LE(mostCalls(kapi::kPod, 60s), 20);
  EXPECT_LE(mostCalls(kapi::kLease, 60s, "gpu-"), 20);
  answerAsUsual();
  EXPECT_TRUE(eventually([&] { return !nodeOf("p").empty(); }, 21s));
  expectSettled();
}

TEST_F(Storms, APodThatIsFencedByOthersAllTheTimeIsTriedWithABackoff) {
  int n = 0;
  answerWith([&](const Call& call) -> std::optional<int> {
    if (!isBinding(call)) { return std::nullopt; }
    const json::Object fence{{"gpu.scheduling/fence", std::to_string(++n)}};
    EXPECT_EQ(world
                  .request("PATCH", "/api/v1/namespaces/default/pods/p",
                           json::Object{{"metadata", json::Object{{"annotations", fence}}}},
                           "application/merge-patch+json")
                  .code,
              200);
    return std::nullopt;
  });
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  EXPECT_LE(mostCalls(kapi::kPod, 60s), 40);
  answerAsUsual();
  EXPECT_TRUE(eventually([&] { return !nodeOf("p").empty(); }, 21s));
}

TEST_F(Storms, ALeaseThatLostOurLabelIsTakenBackOnce) {
  runningPods(1);
  patchLease("gpu-node-a-0", {{"labels", json::Object{{"gpu.scheduling/managed", json::Value{}}}}});
  EXPECT_LE(mostCalls(kapi::kLease, 60s, "gpu-"), 4);
  const auto lease = world.get(kLeases + "gpu-node-a-0");
  EXPECT_EQ(lease["metadata"]["labels"]["gpu.scheduling/managed"].str(), "true");
  EXPECT_EQ(holder("gpu-node-a-0"), uidOf("p0"));
  EXPECT_EQ(warnings("GpuLeaseRewritten"), 1U);
  expectSettled();
}

TEST_F(Storms, SoIsASharedOne) {
  json::Value all = claim("all", 4, json::Object{{"exclusivity", "Shared"}});
  all.child("spec").set("selector",
                        json::Object{{"matchLabels", json::Object{{"kubernetes.io/hostname", "node-a"}}}});
  world.create(all);
  for (const char* name : {"p", "q"}) { world.create(pod(name, "all")); }
  ASSERT_TRUE(eventually([&] { return !nodeOf("p").empty() && !nodeOf("q").empty(); }));
  const auto holders =
      world.get(kLeases + "gpu-node-a-0")["metadata"]["annotations"]["gpu.scheduling/holders"];
  patchLease("gpu-node-a-0", {{"labels", json::Object{{"gpu.scheduling/managed", json::Value{}}}}});
  EXPECT_LE(mostCalls(kapi::kLease, 60s, "gpu-"), 6);
  const auto lease = world.get(kLeases + "gpu-node-a-0");
  EXPECT_EQ(lease["metadata"]["labels"]["gpu.scheduling/managed"].str(), "true");
  EXPECT_EQ(lease["metadata"]["annotations"]["gpu.scheduling/holders"], holders);
  expectSettled();
}

TEST_F(Storms, ALeaseThatWasMadeAnotherOnesIsLookedAtWithABackoff) {
  runningPods(1);
  patchLease(
      "gpu-node-a-0",
      {{"labels", json::Object{{"gpu.scheduling/managed", json::Value{}}}},
       {"annotations", json::Object{{"gpu.scheduling/reservation", "x"}, {"gpu.scheduling/pod-uid", "x"}}}});
  EXPECT_LE(mostCalls(kapi::kLease, 60s, "gpu-"), 24);
  EXPECT_LE(mostCalls(kapi::kLease, 60s, "gpu-"), 8);
  EXPECT_EQ(warnings("GpuHeldByOther"), 1U);
  ASSERT_EQ(world.request("DELETE", kLeases + "gpu-node-a-0").code, 200);
  EXPECT_TRUE(eventually([&] { return holder("gpu-node-a-0") == uidOf("p0"); }, 31s));
}

TEST_F(Storms, AnAnnotationThatNamesASharedGpuOfOthersCostsLittle) {
  world.create(claim("many", 1, json::Object{{"exclusivity", "Shared"}}));
  world.create(pod("p", "many"));
  ASSERT_TRUE(eventually([&] { return allocated("p") == "node-a:0"; }));
  json::Value liar = pod("liar", "");
  liar.child("spec").set("nodeName", "node-a");
  liar.child("metadata").set("annotations", json::Object{{"gpu.scheduling/allocated", "node-a:0"}});
  world.create(liar);
  EXPECT_LE(mostCalls(kapi::kLease, 60s, "gpu-"), 12);
  EXPECT_LE(mostCalls(kapi::kLease, 60s, "gpu-"), 4);
}

TEST_F(Storms, LeasesThatMayNotBeWrittenAreSaidAndTriedWithABackoff) {
  runningPods(8);
  std::vector<std::string> deleted;
  for (const auto& [name, uid] : readTruth(world).leases) { deleted.push_back(name.substr(8)); }
  ASSERT_EQ(deleted.size(), 8U);
  answerWith([](const Call& call) {
    return isGpuLease(call) && call.verb == kapi::Verb::Create ? std::optional{403} : std::nullopt;
  });
  for (const auto& name : deleted) { ASSERT_EQ(world.request("DELETE", kLeases + name).code, 200); }
  EXPECT_LE(mostCalls(kapi::kLease, 60s, "gpu-"), 12);
  EXPECT_LE(mostCalls(kapi::kLease, 60s, "gpu-"), 4);
  const auto& scheduler = world.scheduler(0);
  EXPECT_NE(scheduler.readiness().text().find("lease-repairs: 8 leases of running pods cannot be written: "),
            std::string::npos)
      << scheduler.readiness().text();
  EXPECT_NE(scheduler::stateMetrics(scheduler).find("gpu_scheduler_lease_repairs_failing 8"),
            std::string::npos);
  answerAsUsual();
  EXPECT_TRUE(eventually([&] { return leases() == 8; }, 31s));
  world.run(1s);
  EXPECT_EQ(scheduler.readiness().text().find("lease-repairs:"), std::string::npos);
  EXPECT_NE(scheduler::stateMetrics(scheduler).find("gpu_scheduler_lease_repairs_failing 0"),
            std::string::npos);
  expectSettled();
}

/// The watch does not bring it, as it is not ours: it is looked at now and then.
TEST_F(Storms, AGpuWhoseNameSomebodyTookIsFreeWhenThatLeaseGoes) {
  world.create(json::Object{{"apiVersion", "coordination.k8s.io/v1"},
                            {"kind", "Lease"},
                            {"metadata", json::Object{{"name", "gpu-node-a-0"}, {"namespace", "default"}}},
                            {"spec", json::Object{{"holderIdentity", "somebody"}}}});
  world.create(claim("one", 1));
  for (int i = 0; i < 12; ++i) { world.create(pod("p" + std::to_string(i), "one")); }
  EXPECT_TRUE(eventually([&] { return placed("default") == 11; }));
  EXPECT_LE(mostCalls(kapi::kLease, 60s, "gpu-node-a-0"), 8);
  EXPECT_LE(mostCalls(kapi::kLease, 60s, "gpu-node-a-0"), 3);
  EXPECT_EQ(holder("gpu-node-a-0"), "somebody");
  ASSERT_EQ(world.request("DELETE", kLeases + "gpu-node-a-0").code, 200);
  EXPECT_TRUE(eventually([&] { return placed("default") == 12; }, 31s));
  expectSettled();
}

/// However many pods would have it: each is told what was answered to the one that tried.
TEST_F(Storms, ALeaseThatIsRefusedIsNotTriedForEachPodThatWaits) {
  answerWith([](const Call& call) {
    return isGpuLease(call) && call.verb == kapi::Verb::Create ? std::optional{403} : std::nullopt;
  });
  world.create(claim("one", 1));
  for (int i = 0; i < 40; ++i) { world.create(pod("p" + std::to_string(i), "one")); }
  EXPECT_LE(mostCalls(kapi::kLease, 60s, "gpu-"), 20);
  EXPECT_LE(mostCalls(kapi::kLease, 60s, "gpu-"), 8);
  for (int i = 0; i < 40; ++i) {
    const std::string why = whyWaiting("p" + std::to_string(i));
    EXPECT_NE(why.find("was refused: 403"), std::string::npos) << i << " " << why;
  }
  answerAsUsual();
  EXPECT_TRUE(eventually([&] { return leases() == 12; }, 21s)) << leases();
}

/// A process of a scheduler that counts, for each event, what was decided and came to nothing at once.
class CountsDropped : public sandbox::Companion {
 public:
  CountsDropped(scheduler::Scheduler& scheduler, std::int64_t& most) : scheduler_{scheduler}, most_{most} {}

  kapi::Effects start(Now now) override { return scheduler_.start(now); }
  kapi::Effects handle(const kapi::MachineEvent& event, Now now) override {
    kapi::Effects out = scheduler_.handle(event, now);
    most_ = std::max<std::int64_t>(most_, std::count_if(out.begin(), out.end(), [](const auto& effect) {
                                     const auto* log = std::get_if<kapi::Log>(&effect);
                                     return log != nullptr && log->message == "placement dropped";
                                   }));
    return out;
  }
  void stopTaking() override { scheduler_.stopTaking(); }
  [[nodiscard]] bool underWay() const override { return scheduler_.underWay(); }
  kapi::Effects ask(extender::RequestId /*id*/, extender::Request /*request*/, Now /*now*/) override {
    return {};
  }
  std::vector<std::pair<extender::RequestId, extender::Answer>> takeAnswers() override { return {}; }
  extender::NodeTablePtr table() override { return extender_.table(); }
  [[nodiscard]] const extender::Extender& extender() const override { return extender_; }

 private:
  scheduler::Scheduler& scheduler_;
  std::int64_t& most_;
  engine::Engine nobodys_;
  extender::Extender extender_{nobodys_, {}, Rng{1}};
};

/// Free GPUs of which none can be leased. With as many as a namespace has slots its pods are held back, too.
class GpusWithoutLeases : public OneNode, public ::testing::WithParamInterface<int> {
 protected:
  GpusWithoutLeases() : OneNode{names()} {
    world.setJudge([this](sandbox::ReplicaId, const Call& call) -> sandbox::CallFault {
      if (!refused_ || !isGpuLease(call) || call.verb != kapi::Verb::Create) { return {}; }
      return {.how = sandbox::CallFault::How::Refused, .http = 403};
    });
  }
  void start() {
    world.startReplica({}, [this](scheduler::Scheduler& scheduler, Rng) {
      return std::make_unique<CountsDropped>(scheduler, most_);
    });
    ASSERT_TRUE(eventually([&] { return world.leader().has_value(); }));
  }
  void pods(const std::string& prefix, int n, const std::string& of_claim) {
    for (int i = 0; i < n; ++i) { world.create(pod(prefix + std::to_string(i), of_claim)); }
  }
  void mend() { refused_ = false; }
  /// So many of those pods were placed, and it came to nothing.
  [[nodiscard]] int dropped(const std::string& prefix) const {
    std::set<std::string> pods;
    for (const std::string& line : world.log()) {
      const auto at = line.find(" pod=default/" + prefix);
      if (line.find("placement dropped") == std::string::npos || at == std::string::npos) { continue; }
      pods.insert(line.substr(at, line.find(' ', at + 1) - at));
    }
    return static_cast<int>(pods.size());
  }
  /// In one event.
  [[nodiscard]] std::int64_t mostDropped() const { return most_; }

 private:
  static std::vector<std::string> names() {
    std::vector<std::string> names;
    for (int i = 0; i < GetParam(); ++i) { names.push_back("GPU-" + std::to_string(i)); }
    return names;
  }
  bool refused_ = true;
  std::int64_t most_ = 0;
};

/// Each pod is given one at once, which comes to nothing at once.
TEST_P(GpusWithoutLeases, MakeNoEventLongHoweverManyPodsWantThem) {
  constexpr int kPods = 2'000;
  world.create(claim("one", 1));
  pods("p", kPods, "one");
  start();
  world.run(5s);
  EXPECT_EQ(dropped("p"), kPods) << "each had its turn";
  EXPECT_LE(mostDropped(), 256);
  EXPECT_GE(mostDropped(), 32) << "and many have theirs together";
  world.create(pod("plain", ""));
  EXPECT_TRUE(eventually([&] { return !nodeOf("plain").empty(); }, 2s));
  mend();
  EXPECT_TRUE(eventually([&] { return leases() == static_cast<std::size_t>(GetParam()); }, 31s));
}

INSTANTIATE_TEST_SUITE_P(SoMany, GpusWithoutLeases, ::testing::Values(1, 4));

class AsManyGpusAsSlots : public GpusWithoutLeases {};

/// The first that are tried and those that are held back meanwhile are all that one event may decide.
TEST_P(AsManyGpusAsSlots, WithoutLeasesLeaveNobodyWaitingForAnotherEvent) {
  constexpr int kPods = 256;
  start();
  world.create(claim("one", 1));
  pods("first", 8 * GetParam(), "one");
  pods("p", kPods, "later");
  world.run(2s);
  ASSERT_EQ(dropped("first"), 8 * GetParam()) << "by now others are told at once that it was in vain";
  world.create(claim("later", 1));
  for (int i = 0; i < 100 && dropped("p") == 0; ++i) { world.run(100us); }
  EXPECT_EQ(dropped("p"), kPods) << "before anything else happened";
}
INSTANTIATE_TEST_SUITE_P(SoMany, AsManyGpusAsSlots, ::testing::Values(1, 4));

/// A pod on node-a that says it has GPUs 0 to n - 1, by hand.
json::Value forged(int n) {
  std::vector<int> ids;
  for (int id = 0; id < n; ++id) { ids.push_back(id); }
  json::Value liar = pod("liar", "");
  liar.child("spec").set("nodeName", "node-a");
  liar.child("metadata")
      .set("annotations", json::Object{{"gpu.scheduling/allocated", "node-a:" + model::printIds(ids)}});
  return liar;
}

TEST_F(Storms, OnlyGpusThatTheNodeHasAreLeased) {
  world.create(forged(500));
  world.run(40s);
  EXPECT_EQ(leases(), 4U);
  EXPECT_LE(world.scheduler(0).workForTest().looks, 10'000U);
  deletePod("liar", true);
  EXPECT_TRUE(eventually([&] { return leases() == 0; }, 5min));
}

class WithoutStatuses : public Cluster {
 protected:
  WithoutStatuses() : Cluster{{.agents = false}} {
    world.run(100ms);  // its nodes come
    for (const char* node : {"node-a", "node-b"}) {
      (void)world.request("DELETE", std::string{"/apis/gpu.scheduling/v1/gpunodestatuses/"} + node);
    }
    startOne();
  }
};

TEST_F(WithoutStatuses, NoMoreThanAMapMayNameAreLeased) {
  world.create(forged(500));
  world.run(40s);
  EXPECT_EQ(leases(), model::kMostMapGpus);
}

/// What an earlier version may have written: a lease for each GPU that a pod says it has.
class ManyLeases : public Storms {
 protected:
  /// How much one sweep looks at, with so many leases of one pod.
  scheduler::Scheduler::Work ofOneSweep(int n) {
    world.crash(0);
    const json::Value liar = forged(n);
    world.create(liar);
    const json::Value allocated = liar["metadata"]["annotations"]["gpu.scheduling/allocated"];
    for (int id = 0; id < n; ++id) {
      world.create(json::Object{
          {"apiVersion", "coordination.k8s.io/v1"},
          {"kind", "Lease"},
          {"metadata", json::Object{{"name", "gpu-node-a-" + std::to_string(id)},
                                    {"namespace", "default"},
                                    {"labels", json::Object{{"gpu.scheduling/managed", "true"}}},
                                    {"annotations", json::Object{{"gpu.scheduling/format", "1"},
                                                                 {"gpu.scheduling/node", "node-a"},
                                                                 {"gpu.scheduling/gpu", std::to_string(id)},
                                                                 {"gpu.scheduling/pod-namespace", "default"},
                                                                 {"gpu.scheduling/pod-name", "liar"},
                                                                 {"gpu.scheduling/pod-uid", uidOf("liar")},
                                                                 {"gpu.scheduling/reservation", "r"},
                                                                 {"gpu.scheduling/devices", allocated}}}}},
          {"spec", json::Object{{"holderIdentity", uidOf("liar")}}}});
    }
    world.restart(0);
    EXPECT_TRUE(eventually([&] { return world.leader().has_value(); }));
    world.run(10s);
    const auto before = world.scheduler(0).workForTest();
    world.run(30s);
    const auto after = world.scheduler(0).workForTest();
    return {after.reconciles - before.reconciles, after.looks - before.looks};
  }
};

TEST_F(ManyLeases, CostTheirNumberAndNoMore) {
  const auto few = ofOneSweep(64);
  deletePod("liar", true);
  ASSERT_TRUE(eventually([&] { return leases() == 0; }, 5min));
  const auto many = ofOneSweep(256);
  EXPECT_LE(few.reconciles, 4U);
  EXPECT_LE(many.reconciles, 4U);
  EXPECT_GT(few.looks, 64U);
  EXPECT_LE(many.looks, 5 * few.looks);
}

TEST_F(Storms, WhetherAPodIsGoneIsAskedWithABackoffOfItsOwn) {
  answerWith([](const Call& call) {
    return call.kind == kapi::kPod && call.key.name.starts_with("ghost") ? std::optional{500} : std::nullopt;
  });
  for (const char* name : {"ghost-a", "ghost-b"}) {
    const std::string id = name == std::string{"ghost-a"} ? "0" : "1";
    world.create(json::Object{
        {"apiVersion", "coordination.k8s.io/v1"},
        {"kind", "Lease"},
        {"metadata", json::Object{{"name", "gpu-node-a-" + id},
                                  {"namespace", "default"},
                                  {"labels", json::Object{{"gpu.scheduling/managed", "true"}}},
                                  {"annotations", json::Object{{"gpu.scheduling/format", "1"},
                                                               {"gpu.scheduling/node", "node-a"},
                                                               {"gpu.scheduling/gpu", id},
                                                               {"gpu.scheduling/pod-namespace", "default"},
                                                               {"gpu.scheduling/pod-name", name},
                                                               {"gpu.scheduling/pod-uid", name},
                                                               {"gpu.scheduling/reservation", "r"},
                                                               {"gpu.scheduling/devices", "node-a:" + id}}}}},
        {"spec", json::Object{{"holderIdentity", name}}}});
    world.run(5s);
  }
  EXPECT_LE(mostCalls(kapi::kPod, 60s, "ghost"), 12);
  answerAsUsual();
  EXPECT_TRUE(eventually([&] { return leases() == 0; }, 5min));
}

}  // namespace
}  // namespace gs::test
