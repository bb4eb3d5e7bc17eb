// No key is tried again at once, whatever the answer; no namespace holds what others need (design 3.16).
#include <map>
#include <optional>

#include "model/annotations.h"
#include "scheduler/status_page.h"
#include "test/world/cluster.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;
using kapi::Call;
using model::Kind;

const std::string kLeases = "/apis/coordination.k8s.io/v1/namespaces/default/leases/";

bool isGpuLease(const Call& call) {
  return call.kind == Kind::Lease &&
         call.body["metadata"]["labels"]["gpu.scheduling/managed"].str() == "true";
}
bool isBinding(const Call& call) { return call.subresource == "binding"; }
bool isPodWrite(const Call& call) { return call.kind == Kind::Pod && call.verb != kapi::Verb::Get; }

/// A scheduler whose calls are counted, and answered as the test says.
class Storms : public Cluster {
 protected:
  explicit Storms(sandbox::World::Options options = {}) : Cluster{std::move(options)} {
    world.setJudge([this](sandbox::ReplicaId, const Call& call) {
      const std::string name{call.body["metadata"]["name"].str()};  // of what is created
      ++calls_[{call.kind, call.key.name.empty() ? model::ObjectKey{call.key.ns, name} : call.key}];
      const auto http = answer_ ? answer_(call) : std::nullopt;
      if (!http) { return sandbox::CallFate{}; }
      return sandbox::CallFate{.how = sandbox::CallFate::How::Refused, .http = *http};
    });
    startOne();
  }
  /// nullopt: carried out.
  void answerWith(std::function<std::optional<int>(const Call&)> answer) { answer_ = std::move(answer); }
  void answerAsUsual() { answer_ = nullptr; }

  /// The most calls about one object of that kind in so long.
  int mostCalls(Kind kind, Duration in, const std::string& name_begins = "") {
    calls_.clear();
    world.run(in);
    int most = 0;
    for (const auto& [object, n] : calls_) {
      if (object.first == kind && object.second.name.starts_with(name_begins)) { most = std::max(most, n); }
    }
    return most;
  }
  void runningPods(int n) {
    world.create(claim("one", 1));
    for (int i = 0; i < n; ++i) { world.create(pod("p" + std::to_string(i), "one")); }
    ASSERT_TRUE(eventually([&] {
      for (int i = 0; i < n; ++i) {
        if (podObject("p" + std::to_string(i))["status"]["phase"].str() != "Running") { return false; }
      }
      return true;
    }));
  }
  void patchLease(const std::string& name, json::Object meta) {
    ASSERT_EQ(world
                  .request("PATCH", kLeases + name, json::Object{{"metadata", std::move(meta)}},
                           "application/merge-patch+json")
                  .code,
              200);
  }
  [[nodiscard]] std::string holder(const std::string& lease) {
    return std::string{world.get(kLeases + lease)["spec"]["holderIdentity"].str()};
  }
  [[nodiscard]] std::string uidOf(const std::string& name) {
    return std::string{podObject(name)["metadata"]["uid"].str()};
  }
  [[nodiscard]] std::size_t placed(const std::string& ns) {
    std::size_t n = 0;
    for (const auto& p : world.get("/api/v1/namespaces/" + ns + "/pods")["items"].items()) {
      n += p["spec"]["nodeName"].isNull() ? 0U : 1U;
    }
    return n;
  }
  [[nodiscard]] std::size_t warnings(const std::string& reason) {
    std::size_t n = 0;
    for (const auto& e : world.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"].items()) {
      n += e["reason"].str() == reason ? 1U : 0U;
    }
    return n;
  }

 private:
  std::map<std::pair<Kind, model::ObjectKey>, int> calls_;
  std::function<std::optional<int>(const Call&)> answer_;
};

TEST_F(Storms, ABindingWhoseOutcomeIsNeverKnownIsTriedWithABackoff) {
  answerWith([](const Call& call) { return isBinding(call) ? std::optional{500} : std::nullopt; });
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  EXPECT_LE(mostCalls(Kind::Pod, 60s), 40);
  EXPECT_LE(mostCalls(Kind::Pod, 60s), 20);
  EXPECT_LE(mostCalls(Kind::Lease, 60s, "gpu-"), 20);
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
  EXPECT_LE(mostCalls(Kind::Pod, 60s), 40);
  answerAsUsual();
  EXPECT_TRUE(eventually([&] { return !nodeOf("p").empty(); }, 21s));
}

TEST_F(Storms, ALeaseThatLostOurLabelIsTakenBackOnce) {
  runningPods(1);
  patchLease("gpu-node-a-0", {{"labels", json::Object{{"gpu.scheduling/managed", json::Value{}}}}});
  EXPECT_LE(mostCalls(Kind::Lease, 60s, "gpu-"), 4);
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
  EXPECT_LE(mostCalls(Kind::Lease, 60s, "gpu-"), 6);
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
  EXPECT_LE(mostCalls(Kind::Lease, 60s, "gpu-"), 24);
  EXPECT_LE(mostCalls(Kind::Lease, 60s, "gpu-"), 8);
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
  EXPECT_LE(mostCalls(Kind::Lease, 60s, "gpu-"), 12);
  EXPECT_LE(mostCalls(Kind::Lease, 60s, "gpu-"), 4);
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
  EXPECT_LE(mostCalls(Kind::Lease, 60s, "gpu-"), 12);
  EXPECT_LE(mostCalls(Kind::Lease, 60s, "gpu-"), 4);
  const auto& scheduler = world.scheduler(0);
  EXPECT_NE(
      scheduler::readinessText(scheduler).find("lease-repairs: 8 leases of running pods cannot be written: "),
      std::string::npos)
      << scheduler::readinessText(scheduler);
  EXPECT_NE(scheduler::stateMetrics(scheduler).find("gpu_scheduler_lease_repairs_failing 8"),
            std::string::npos);
  answerAsUsual();
  EXPECT_TRUE(eventually([&] { return leases() == 8; }, 31s));
  world.run(1s);
  EXPECT_EQ(scheduler::readinessText(scheduler).find("lease-repairs:"), std::string::npos);
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
  EXPECT_LE(mostCalls(Kind::Lease, 60s, "gpu-node-a-0"), 8);
  EXPECT_LE(mostCalls(Kind::Lease, 60s, "gpu-node-a-0"), 3);
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
  EXPECT_LE(mostCalls(Kind::Lease, 60s, "gpu-"), 20);
  EXPECT_LE(mostCalls(Kind::Lease, 60s, "gpu-"), 8);
  for (int i = 0; i < 40; ++i) {
    const std::string why = whyWaiting("p" + std::to_string(i));
    EXPECT_NE(why.find("was refused: 403"), std::string::npos) << i << " " << why;
  }
  answerAsUsual();
  EXPECT_TRUE(eventually([&] { return leases() == 12; }, 21s)) << leases();
}

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

TEST_F(WithoutStatuses, NoMoreThanANodeHasAreLeased) {
  world.create(forged(500));
  world.run(40s);
  EXPECT_EQ(leases(), 16U);
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
    return {after.reviews - before.reviews, after.looks - before.looks};
  }
};

TEST_F(ManyLeases, CostTheirNumberAndNoMore) {
  const auto few = ofOneSweep(64);
  deletePod("liar", true);
  ASSERT_TRUE(eventually([&] { return leases() == 0; }, 5min));
  const auto many = ofOneSweep(256);
  EXPECT_LE(few.reviews, 4U);
  EXPECT_LE(many.reviews, 4U);
  EXPECT_GT(few.looks, 64U);
  EXPECT_LE(many.looks, 5 * few.looks);
}

TEST_F(Storms, WhetherAPodIsGoneIsAskedWithABackoffOfItsOwn) {
  answerWith([](const Call& call) {
    return call.kind == Kind::Pod && call.key.name.starts_with("ghost") ? std::optional{500} : std::nullopt;
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
  EXPECT_LE(mostCalls(Kind::Pod, 60s, "ghost"), 12);
  answerAsUsual();
  EXPECT_TRUE(eventually([&] { return leases() == 0; }, 5min));
}

/// One node takes no pod of default/p: its kubelet's webhook, say, always refuses.
class OneNodeRefuses : public Storms, public testing::WithParamInterface<int> {};

TEST_P(OneNodeRefuses, TheNextIsTried) {
  answerWith([](const Call& call) {
    const bool there = call.body["target"]["name"].str() == "node-a";
    return isBinding(call) && there ? std::optional{GetParam()} : std::nullopt;
  });
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  EXPECT_TRUE(eventually([&] { return nodeOf("p") == "node-b"; }, 5s));
  expectSettled();
}

TEST_P(OneNodeRefuses, SoItIsWhenItIsALease) {
  answerWith([](const Call& call) {
    const bool there = call.body["metadata"]["name"].str().starts_with("gpu-node-a");
    return isGpuLease(call) && there ? std::optional{GetParam()} : std::nullopt;
  });
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  EXPECT_TRUE(eventually([&] { return nodeOf("p") == "node-b"; }, 15s));
  expectSettled();
}

/// However many were sent there: those that have no business there do not wait for them.
TEST_P(OneNodeRefuses, NobodyIsHeldBackByItsLeases) {
  answerWith([](const Call& call) {
    const bool there = call.body["metadata"]["name"].str().starts_with("gpu-node-a");
    return isGpuLease(call) && there ? std::optional{GetParam()} : std::nullopt;
  });
  world.create(claim("one", 1));
  for (int i = 0; i < 8; ++i) { world.create(pod("p" + std::to_string(i), "one")); }
  world.run(1s);
  world.create(pod("plain", ""));
  EXPECT_TRUE(eventually([&] { return !nodeOf("plain").empty(); }, 8s));
  EXPECT_TRUE(eventually([&] { return placed("default") == 9; }, 12s)) << placed("default");
}
INSTANTIATE_TEST_SUITE_P(Answers, OneNodeRefuses, testing::Values(403, 422, 500));

/// What it was told when a node did not take it is true for a moment only.
TEST_F(Storms, APodThatWasTriedInVainIsToldWhatItWaitsForNow) {
  answerWith([](const Call& call) { return isBinding(call) ? std::optional{403} : std::nullopt; });
  world.create(claim("eight", 8));
  world.create(pod("p", "eight"));
  world.run(15s);
  EXPECT_NE(whyWaiting("p").find("the Binding was refused"), std::string::npos) << whyWaiting("p");
  world.agents().setHealth("node-b", 0, model::Health::Unhealthy);
  world.touch();
  EXPECT_TRUE(eventually(
      [&] { return whyWaiting("p").find("need 8 and most healthy is 7") != std::string::npos; }, 90s))
      << whyWaiting("p");
}

/// Somebody edits what the pod says before anybody knows that its Binding was applied.
TEST_F(Cluster, AnEditBetweenABindingAndItsFenceTakesNoLease) {
  bool lost = false;
  world.setJudge([&](sandbox::ReplicaId, const Call& call) {
    if (!isBinding(call) || std::exchange(lost, true)) { return sandbox::CallFate{}; }
    world.after(1100us, [&] {
      const json::Object edit{{"gpu.scheduling/allocated", "node-a:3"},
                              {"gpu.scheduling/reservation", json::Value{}}};
      (void)world.request("PATCH", "/api/v1/namespaces/default/pods/p",
                          json::Object{{"metadata", json::Object{{"annotations", edit}}}},
                          "application/merge-patch+json");
    });
    return sandbox::CallFate{.how = sandbox::CallFate::How::LostAfter};
  });
  startOne();
  world.setStreamJudge([](sandbox::ReplicaId, kapi::Token) { return Duration{20ms}; });
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  ASSERT_TRUE(eventually([&] { return allocated("p") == "node-a:3"; }));
  world.run(60s);
  for (const auto& write : world.writes()) {
    EXPECT_EQ(write.find("DELETE leases"), std::string::npos) << write;
  }
  EXPECT_EQ(world.get(kLeases + "gpu-node-a-0")["spec"]["holderIdentity"].str(),
            podObject("p")["metadata"]["uid"].str());
}

/// Nothing can be written about pods of namespace "bad": a webhook of theirs is down (failurePolicy Fail).
class OneNamespaceIsBroken : public Storms {
 protected:
  OneNamespaceIsBroken() : Storms{{.nodes = roomyNodes()}} {
    world.create(json::Object{
        {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::Object{{"name", "bad"}}}});
  }
  static std::vector<kapi::SimNode> roomyNodes() {
    auto nodes = kapi::defaultNodes();
    for (auto& node : nodes) { node.allocatable["pods"] = "2000"; }
    return nodes;
  }
  void breakIt(int http) {
    answerWith([http](const Call& call) {
      return isPodWrite(call) && call.key.ns == "bad" ? std::optional{http} : std::nullopt;
    });
  }
  void badPods(int n, const std::string& of_claim) {
    for (int i = 0; i < n; ++i) { world.create(pod("bad" + std::to_string(i), of_claim, 0, "bad")); }
  }
};

TEST_F(OneNamespaceIsBroken, SoAreAHundredAndNobodyElseIsDelayed) {
  answerWith([](const Call& call) {
    return isPodWrite(call) && call.key.ns.starts_with("broken") ? std::optional{500} : std::nullopt;
  });
  for (int n = 0; n < 100; ++n) {
    const std::string ns = "broken-" + std::to_string(n);
    world.create(
        json::Object{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::Object{{"name", ns}}}});
    for (int i = 0; i < 4; ++i) { world.create(pod("p" + std::to_string(i), "", 0, ns)); }
  }
  world.run(20s);
  world.create(pod("good", ""));
  EXPECT_TRUE(eventually([&] { return placed("default") == 1; }, 1s));
}

/// An API that takes no Binding now is waited for; the GPUs are not, for long.
TEST_F(OneNamespaceIsBroken, GpusThatWaitForABusyServerAreGivenToOthers) {
  answerWith([](const Call& call) {
    return isBinding(call) && call.key.ns == "bad" ? std::optional{429} : std::nullopt;
  });
  world.create(claim("all", 8, {}, "bad"));
  world.create(pod("first", "all", 0, "bad"));
  ASSERT_TRUE(eventually([&] { return leases() == 8; }));
  world.create(claim("all", 8));
  world.create(pod("second", "all"));
  EXPECT_TRUE(eventually([&] { return placed("default") == 1; }, 15s));
}

class FewSlots : public Cluster {};

/// Nothing that was decided for these pods can be carried out, nor taken back.
TEST_F(FewSlots, ArePassedOnByPlacementsThatCannotBeTakenBack) {
  world.setJudge([](sandbox::ReplicaId, const Call& call) -> sandbox::CallFate {
    const bool lease_goes = call.kind == Kind::Lease && call.verb == kapi::Verb::Delete;
    if (!lease_goes && !(isBinding(call) && call.key.ns != "default")) { return {}; }
    return {.how = sandbox::CallFate::How::Refused, .http = lease_goes ? 500 : 403};
  });
  scheduler::Config config;
  config.max_open_grants = 4;
  (void)world.startReplica(config);
  for (int n = 0; n < 8; ++n) {
    const std::string ns = "bad-" + std::to_string(n);
    world.create(
        json::Object{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::Object{{"name", ns}}}});
    world.create(claim("one", 1, {}, ns));
    world.create(pod("p", "one", 0, ns));
  }
  world.run(20s);
  world.create(pod("good", ""));
  EXPECT_TRUE(eventually([&] { return !nodeOf("good").empty(); }, 1s));
}

/// Once it may write again there is no room any more. Whoever was held back is told, though nobody needs a slot; and a pod whose
/// Binding was refused is told that GPUs are missing, and no longer the refusal.
TEST_F(OneNamespaceIsBroken, ItsPodsAreToldWhyTheyWaitOnceItIsMended) {
  breakIt(403);
  world.create(claim("one", 1, {}, "bad"));
  badPods(30, "one");
  world.run(3s);
  world.create(claim("one", 1));
  for (int i = 0; i < 12; ++i) { world.create(pod("good" + std::to_string(i), "one")); }
  ASSERT_TRUE(eventually([&] { return placed("default") == 12; }));
  world.run(20s);
  answerAsUsual();
  const auto untold = [&] {
    std::string names;
    for (int i = 0; i < 30; ++i) {
      const std::string name = "bad" + std::to_string(i);
      const std::string why = whyWaiting(name, "bad");
      const bool waits = world.get("/api/v1/namespaces/bad/pods/" + name)["spec"]["nodeName"].isNull();
      if (waits && why.find("too few free GPUs") == std::string::npos) { names += name + ": " + why + "; "; }
    }
    return names;
  };
  EXPECT_TRUE(eventually([&] { return untold().empty(); }, 60s)) << untold();
}

/// A slot that came free brings back one of them, which no node can take: the next one has its turn without another slot.
TEST_F(OneNamespaceIsBroken, SoAreItsPodsThatEachWantAnotherNode) {
  answerWith([](const Call& call) {
    return isBinding(call) && call.key.ns == "bad" ? std::optional{429} : std::nullopt;
  });
  badPods(4, "");
  ASSERT_TRUE(eventually([&] { return world.scheduler(0).pending().ready == 0; }));
  for (int i = 0; i < 60; ++i) {
    json::Value p = pod("picky" + std::to_string(i), "", 0, "bad");
    p.child("spec").set("nodeSelector", json::Object{{"example.com/number", std::to_string(i)}});
    world.create(p);
  }
  world.run(1s);
  ASSERT_EQ(world.scheduler(0).pending().ready, 60U);
  answerAsUsual();
  ASSERT_TRUE(eventually([&] { return placed("bad") == 4; }, 10s));
  world.run(5s);
  for (int i = 0; i < 60; ++i) { EXPECT_NE(whyWaiting("picky" + std::to_string(i), "bad"), "") << i; }
}

/// What changed for a pod while it was held back counts when its turn comes.
class WhileItIsHeldBack : public OneNamespaceIsBroken {
 protected:
  const std::string kClaims = "/apis/gpu.scheduling/v1/namespaces/bad/gpuclaims/";
  /// A pod that wants more than any node has, and one of claim "mine" that is held back.
  void holdOneBack() {
    world.create(claim("all", 13, {}, "bad"));
    world.create(pod("waits", "all", 0, "bad"));
    ASSERT_TRUE(eventually([&] { return !whyWaiting("waits", "bad").empty(); }));
    answerWith([](const Call& call) {
      return isBinding(call) && call.key.ns == "bad" ? std::optional{429} : std::nullopt;
    });
    badPods(4, "");
    ASSERT_TRUE(eventually([&] { return world.scheduler(0).pending().ready == 0; }));
    world.create(claim("mine", 1, {}, "bad"));
    world.create(pod("p", "mine", 0, "bad"));
    world.run(500ms);
    ASSERT_EQ(world.scheduler(0).pending().ready, 1U);
  }
  void mend() {
    answerAsUsual();
    ASSERT_TRUE(eventually([&] { return placed("bad") >= 4; }, 20s));
    world.run(20s);
  }
};

TEST_F(WhileItIsHeldBack, ItsClaimAsksForMore) {
  holdOneBack();
  const json::Value more{json::Object{{"spec", json::Object{{"devices", json::Object{{"count", 13}}}}}}};
  ASSERT_EQ(world.request("PATCH", kClaims + "mine", more, "application/merge-patch+json").code, 200);
  mend();
  EXPECT_EQ(allocated("p", "bad"), "");
  EXPECT_NE(whyWaiting("p", "bad"), "");
}

TEST_F(WhileItIsHeldBack, ItsClaimIsDeleted) {
  holdOneBack();
  ASSERT_EQ(world.request("DELETE", kClaims + "mine").code, 200);
  mend();
  EXPECT_EQ(allocated("p", "bad"), "");
  EXPECT_NE(whyWaiting("p", "bad").find("mine"), std::string::npos) << whyWaiting("p", "bad");
}

TEST_F(WhileItIsHeldBack, ItsClaimIsDeletedAndTheLeadLost) {
  holdOneBack();
  world.setStreamJudge([](sandbox::ReplicaId, kapi::Token stream) {
    const bool of_claims = kapi::tokenOwner(stream) == 3;  // they bring it once the lead is lost
    return of_claims ? Duration{10s} : Duration{};
  });
  world.freeze(0, true);
  ASSERT_EQ(world.request("DELETE", kClaims + "mine").code, 200);
  world.run(8s);
  world.freeze(0, false);
  world.run(15s);
  ASSERT_TRUE(world.leader().has_value());
  mend();
  EXPECT_EQ(allocated("p", "bad"), "");
}

class ItsPods : public OneNamespaceIsBroken, public testing::WithParamInterface<int> {};

TEST_P(ItsPods, DelayNobodyElse) {
  breakIt(GetParam());
  badPods(300, "");
  world.run(20s);
  for (int i = 0; i < 20; ++i) { world.create(pod("good" + std::to_string(i), "")); }
  EXPECT_TRUE(eventually([&] { return placed("default") == 20; }, 1s)) << placed("default");
  answerAsUsual();
  EXPECT_TRUE(eventually([&] { return placed("bad") == 300; }, 60s)) << placed("bad");
}
INSTANTIATE_TEST_SUITE_P(Answers, ItsPods, testing::Values(500, 403, 429, 409));

TEST_P(ItsPods, HoldFewGpus) {
  breakIt(GetParam());
  world.create(claim("one", 1, {}, "bad"));
  badPods(300, "one");
  world.run(20s);
  world.create(claim("one", 1));
  for (int i = 0; i < 8; ++i) { world.create(pod("good" + std::to_string(i), "one")); }
  EXPECT_TRUE(eventually([&] { return placed("default") == 8; }, 2s)) << placed("default");
  answerAsUsual();
  EXPECT_TRUE(eventually([&] { return placed("bad") == 4; }, 60s)) << placed("bad");
}

TEST_P(ItsPods, KeepNobodyElseFromBeingTold) {
  breakIt(GetParam());
  badPods(300, "no-such-claim");
  world.run(20s);
  for (int i = 0; i < 20; ++i) { world.create(pod("good" + std::to_string(i), "nor-this")); }
  world.run(2s);
  for (int i = 0; i < 20; ++i) { EXPECT_NE(whyWaiting("good" + std::to_string(i)), "") << i; }
}

TEST_P(ItsPods, CostLittle) {
  breakIt(GetParam());
  badPods(20, "no-such-claim");
  EXPECT_LE(mostCalls(Kind::Pod, 60s), 12);
}

}  // namespace
}  // namespace gs::test
