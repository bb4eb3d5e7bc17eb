// The record of the lease namespace on the GpuClaim CRD (R20), with a scheduler at work: the CRD comes later,
// goes, or loses its record; and leases that nobody can read.
#include <algorithm>

#include "kapi/kinds.h"
#include "test/world/cluster.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kCrds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr const char* kClaimCrd =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gpuclaims.gpu.scheduling";

class Record : public Cluster {
 protected:
  [[nodiscard]] std::string recorded() {
    return std::string{
        world.get(kClaimCrd)["metadata"]["annotations"]["gpu.scheduling/lease-namespace"].str()};
  }
  /// The CRD goes, and with it the claims.
  json::Value takeCrdAway() {
    json::Value crd = world.get(kClaimCrd);
    EXPECT_EQ(world.request("DELETE", kClaimCrd, json::Object{}).code, 200);
    crd.erase("status");
    const std::string name{crd["metadata"]["name"].str()};
    crd.set("metadata", json::Object{{"name", name}});
    return crd;
  }
  void bring(const json::Value& crd) { ASSERT_EQ(world.request("POST", kCrds, crd).code, 201); }
  [[nodiscard]] bool logged(const std::string& words) const {
    return std::any_of(world.log().begin(), world.log().end(),
                       [&](const auto& line) { return line.find(words) != std::string::npos; });
  }
};

TEST_F(Record, IsWrittenBeforeTheFirstLease) {
  startOne();
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  ASSERT_TRUE(eventually([&] { return !nodeOf("p").empty(); }));
  EXPECT_EQ(recorded(), "default");
  const auto& writes = world.writes();
  const auto first = [&](const std::string& what) {
    return std::find_if(writes.begin(), writes.end(),
                        [&](const auto& w) { return w.find(what) != std::string::npos; }) -
           writes.begin();
  };
  EXPECT_LT(first("gpuclaims.gpu.scheduling"), first("gpu-node-a-0"));
}

TEST_F(Record, WithoutTheCrdOrdinaryPodsArePlacedAndGpusOnceItComes) {
  const json::Value crd = takeCrdAway();
  startOne();
  world.create(pod("ordinary", ""));
  world.create(pod("plain", "", 1));
  EXPECT_TRUE(eventually([&] { return !nodeOf("ordinary").empty(); }));
  ASSERT_TRUE(eventually([&] { return !whyWaiting("plain").empty(); }));
  EXPECT_EQ(whyWaiting("plain"),
            "no GPU lease can be written yet: the GpuClaim CRD is missing; apply the CRDs");
  EXPECT_EQ(leases(), 0U);
  bring(crd);
  EXPECT_TRUE(eventually([&] { return !nodeOf("plain").empty(); }));
  EXPECT_EQ(leases(), 1U);
  EXPECT_EQ(recorded(), "default");
  expectSettled();
}

TEST_F(Record, OfAReplacedCrdIsWrittenAgain) {
  startOne();
  world.create(pod("before", "", 1));
  ASSERT_TRUE(eventually([&] { return !nodeOf("before").empty(); }));
  bring(takeCrdAway());
  EXPECT_TRUE(eventually([&] { return recorded() == "default"; }));
  world.create(pod("after", "", 1));
  EXPECT_TRUE(eventually([&] { return !nodeOf("after").empty(); }));
  EXPECT_EQ(leases(), 2U);
  expectSettled();
}

TEST_F(Record, ThatNamesAnotherNamespaceStopsEveryDecision) {
  startOne();
  world.create(pod("before", "", 1));
  ASSERT_TRUE(eventually([&] { return !nodeOf("before").empty(); }));
  // Somebody else's leader took the record over, and goes on renewing.
  world.create(json::Object{
      {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::Object{{"name", "other"}}}});
  world.create(
      json::Object{{"apiVersion", "coordination.k8s.io/v1"},
                   {"kind", "Lease"},
                   {"metadata", json::Object{{"name", "scheduler.gpu.scheduling"}, {"namespace", "other"}}},
                   {"spec", json::Object{{"holderIdentity", "them"}, {"leaseDurationSeconds", 5}}}});
  const auto renew = [&](int n) {
    const json::Value time{"2025-06-15T15:00:" + std::to_string(10 + n) + ".000000Z"};
    EXPECT_EQ(
        world
            .request("PATCH", "/apis/coordination.k8s.io/v1/namespaces/other/leases/scheduler.gpu.scheduling",
                     json::Object{{"spec", json::Object{{"renewTime", time}}}},
                     "application/merge-patch+json")
            .code,
        200);
  };
  const auto point = [&](json::Value to) {
    const json::Object annotations{{"gpu.scheduling/lease-namespace", std::move(to)}};
    EXPECT_EQ(world
                  .request("PATCH", kClaimCrd,
                           json::Object{{"metadata", json::Object{{"annotations", annotations}}}},
                           "application/merge-patch+json")
                  .code,
              200);
  };
  renew(0);
  point("other");
  world.run(11s);  // it reads the record every 10 s
  world.create(pod("after", "", 1));
  for (int i = 1; i < 10; ++i) {
    world.run(5s);
    renew(i);
  }
  EXPECT_EQ(nodeOf("after"), "");
  EXPECT_EQ(recorded(), "other");
  EXPECT_TRUE(eventually([&] { return recorded() == "default"; })) << "they do not renew any more";
  EXPECT_TRUE(eventually([&] { return !nodeOf("after").empty(); }));
}

/// Two schedulers with different lease namespaces and scheduler names: X (default) and Y (other).
class TwoNamespaces : public Record {
 protected:
  TwoNamespaces() {
    world.create(json::Object{
        {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::Object{{"name", "other"}}}});
    x = world.startReplica({});
    EXPECT_TRUE(eventually([&] { return world.scheduler(x).leading(); }));
  }
  void startY() {
    scheduler::Config config;
    config.lease_namespace = "other";
    config.scheduler_name = "other-scheduler";
    y = world.startReplica(config);
  }
  void createPods() {
    world.create(pod("p", "", 1));
    json::Value q = pod("q", "", 1);
    q.child("spec").set("schedulerName", "other-scheduler");
    world.create(q);
  }
  sandbox::ReplicaId x = -1;
  sandbox::ReplicaId y = -1;
};

TEST_F(TwoNamespaces, TheRecordChangedByHandToTheOneThatWaitsLetsItLead) {
  startY();
  world.run(20s);
  EXPECT_TRUE(world.scheduler(x).leading());
  EXPECT_FALSE(world.scheduler(y).leading());
  const json::Object annotations{{"gpu.scheduling/lease-namespace", "other"},
                                 {"gpu.scheduling/lease-namespace-scheduler", "other-scheduler"}};
  const json::Object patch{{"metadata", json::Object{{"annotations", annotations}}}};
  EXPECT_EQ(world.request("PATCH", kClaimCrd, patch, "application/merge-patch+json").code, 200);
  createPods();
  EXPECT_TRUE(eventually([&] { return !nodeOf("q").empty(); }, 120s));
  EXPECT_TRUE(readTruth(world).problems.empty());
}

/// Y takes the record over while X is down; its write is late, and both come back at any time.
TEST(TwoNamespacesWithALateWrite, NeverLeadTogether) {
  class Run : public TwoNamespaces {
   public:
    void TestBody() override {}
    std::string play(Duration late, Duration back) {
      bool sent = false;
      world.setJudge([&](sandbox::ReplicaId id, const kapi::Call& c) -> sandbox::CallFault {
        const bool record = c.kind == kapi::kCrd && c.verb == kapi::Verb::MergePatch;
        if (id != y || !record || std::exchange(sent, true)) { return {}; }
        return {sandbox::CallFault::How::Late, 0, late, false, true};
      });
      world.run(1s);
      world.crash(x);
      startY();
      for (int i = 0; i < 1200 && !sent; ++i) { world.run(50ms); }
      if (!sent) { return "Y never wrote the record"; }
      world.restart(x);
      world.run(back);
      world.restart(y);
      createPods();
      for (int i = 0; i < 500; ++i) {
        world.run(50ms);
        if (world.scheduler(x).leading() && world.scheduler(y).leading()) { return "both lead"; }
      }
      const Truth truth = readTruth(world);
      if (!truth.problems.empty()) { return truth.problems.front(); }
      if (!eventually([&] { return !nodeOf("p").empty() || !nodeOf("q").empty(); })) {
        return "nobody leads";
      }
      return "";
    }
  };
  for (int late = 2; late <= 14; ++late) {
    for (int back = 0; back <= 10; ++back) {
      EXPECT_EQ(Run{}.play(std::chrono::seconds{late}, std::chrono::seconds{back}), "")
          << "late by " << late << " s, Y back after " << back << " s";
    }
  }
}

TEST_F(Record, ALeaseThatCannotBeReadIsTold) {
  startOne();
  const auto lease = [](const char* name, json::Object annotations) {
    return json::Object{
        {"apiVersion", "coordination.k8s.io/v1"},
        {"kind", "Lease"},
        {"metadata", json::Object{{"name", name},
                                  {"namespace", "default"},
                                  {"labels", json::Object{{"gpu.scheduling/managed", "true"}}},
                                  {"annotations", std::move(annotations)}}},
        {"spec", json::Object{{"holderIdentity", "u"}}}};
  };
  world.create(lease("gpu-node-a-0", {{"gpu.scheduling/format", "1"}, {"gpu.scheduling/gpu", "zero"}}));
  world.run(35s);
  EXPECT_TRUE(logged("a managed lease cannot be read"));
  EXPECT_TRUE(logged("default/gpu-node-a-0"));
  world.create(pod("p", "", 4));
  ASSERT_TRUE(eventually([&] { return !nodeOf("p").empty(); }));
  EXPECT_EQ(nodeOf("p"), "node-b") << "its GPU is nobody's to give";
}

/// Two installations of different names with the same lease namespace: the second one decides nothing, and
/// leaves the leases of the first one's running pods alone, whether or not the first one lives.
TEST_F(Record, OfAnotherNameIsLeftAlone) {
  startOne();
  world.create(pod("p", "", 1));
  ASSERT_TRUE(eventually([&] { return !nodeOf("p").empty(); }));
  scheduler::Config config;
  config.scheduler_name = "second";
  const auto second = world.startReplica(config);
  world.run(5s);
  world.crash(0);
  world.run(120s);
  EXPECT_FALSE(world.scheduler(second).leading());
  EXPECT_EQ(leases(), 1U);
  // The leader lease deleted by hand: it leads, and is stopped by the record.
  const std::string leader = kLeases + "scheduler.gpu.scheduling";
  EXPECT_EQ(world.request("DELETE", leader).code, 200);
  world.run(120s);
  EXPECT_FALSE(world.scheduler(second).leading());
  EXPECT_EQ(leases(), 1U);
  // Somebody says that the first one is gone for good: from then on it decides, and p keeps what it has.
  const json::Object annotations{{"gpu.scheduling/lease-namespace-scheduler", json::Value{}}};
  const json::Object patch{{"metadata", json::Object{{"annotations", annotations}}}};
  EXPECT_EQ(world.request("PATCH", kClaimCrd, patch, "application/merge-patch+json").code, 200);
  ASSERT_TRUE(eventually([&] { return world.scheduler(second).leading(); }));
  world.run(120s);
  EXPECT_EQ(leases(), 1U);
  json::Value all = pod("q", "", 8);
  all.child("spec").set("schedulerName", "second");
  world.create(all);
  json::Value more = pod("r", "", 4);
  more.child("spec").set("schedulerName", "second");
  world.create(more);
  EXPECT_TRUE(eventually([&] { return !nodeOf("q").empty(); }));
  world.run(30s);
  EXPECT_EQ(nodeOf("r"), "") << "three are left beside p";
}

}  // namespace
}  // namespace gs::test
