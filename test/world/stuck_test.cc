// Nodes, namespaces and leases that refuse: no pod and no namespace holds what others need (R60 and R61).
#include <fmt/format.h>

#include "kapi/kinds.h"
#include "test/world/one_node.h"
#include "test/world/storms.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;
using kapi::Call;
using kapi::Kind;

/// One node takes no pod of default/p: its kubelet's webhook, say, always refuses.
class OneNodeRefuses : public Storms, public ::testing::WithParamInterface<int> {
 protected:
  void refuseItsLeases() {
    answerWith([](const Call& call) {
      const bool there = call.body["metadata"]["name"].str().starts_with("gpu-node-a");
      return isGpuLease(call) && there ? std::optional{GetParam()} : std::nullopt;
    });
  }
};

TEST_P(OneNodeRefuses, TheNextIsTried) {
  answerWith([](const Call& call) {
    const bool there = call.body["target"]["name"].str() == "node-a";
    return isBinding(call) && there ? std::optional{GetParam()} : std::nullopt;
  });
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  const Duration busy = GetParam() == 429 ? 10s : 0s;  // who says that it is busy is asked again first
  EXPECT_TRUE(eventually([&] { return nodeOf("p") == "node-b"; }, busy + 5s));
  expectSettled();
}

TEST_P(OneNodeRefuses, SoItIsWhenItIsALease) {
  refuseItsLeases();
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  EXPECT_TRUE(eventually([&] { return nodeOf("p") == "node-b"; }, 15s));
  expectSettled();
}

/// However many were sent there: those that have no business there do not wait for them.
TEST_P(OneNodeRefuses, NobodyIsHeldBackByItsLeases) {
  refuseItsLeases();
  world.create(claim("one", 1));
  for (int i = 0; i < 8; ++i) { world.create(pod("p" + std::to_string(i), "one")); }
  world.run(1s);
  world.create(pod("plain", ""));
  EXPECT_TRUE(eventually([&] { return !nodeOf("plain").empty(); }, 8s));
  EXPECT_TRUE(eventually([&] { return placed("default") == 9; }, 12s)) << placed("default");
}
INSTANTIATE_TEST_SUITE_P(Answers, OneNodeRefuses, ::testing::Values(403, 409, 422, 429, 500));

/// Each is tried before one is tried twice.
class ManyNodesRefuse : public AllButOneRefuse<Storms> {};

TEST_P(ManyNodesRefuse, TheLastIsFound) {
  refuse("n-11");
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  EXPECT_TRUE(eventually([&] { return nodeOf("p") == "n-11"; }, 2min)) << nodeOf("p");
}

TEST_P(ManyNodesRefuse, TheOneThatIsMendedIsFound) {
  refuse("none");
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  world.run(5min);
  refuse("n-11");
  EXPECT_TRUE(eventually([&] { return nodeOf("p") == "n-11"; }, 4min)) << nodeOf("p");
}

/// When there is no other, those that refused are tried again, though many wait for the same.
TEST_P(ManyNodesRefuse, TheyAreTriedAgainWhenNoOtherFits) {
  refuse("none");
  world.create(claim("one", 1));
  for (int i = 0; i < 6; ++i) { world.create(pod("p" + std::to_string(i), "one")); }
  world.run(5min);
  EXPECT_EQ(placed("default"), 0U);
  answerAsUsual();
  EXPECT_TRUE(eventually([&] { return placed("default") == 6; }, 25s)) << placed("default");
}
INSTANTIATE_TEST_SUITE_P(Answers, ManyNodesRefuse, ::testing::Values(403, 500));

/// Leases that cannot be deleted: what they were written for gives its place to others of its namespace.
TEST_F(Storms, PlacementsWhoseLeasesCannotBeDeletedKeepNobodyOfTheirNamespaceWaiting) {
  answerWith([](const Call& call) -> std::optional<int> {
    if (call.kind == kapi::kLease && call.verb == kapi::Verb::Delete) { return 403; }
    return isBinding(call) && call.key.name.starts_with("bad") ? std::optional{422} : std::nullopt;
  });
  world.create(claim("one", 1));
  for (int i = 0; i < 6; ++i) { world.create(pod("bad" + std::to_string(i), "one")); }
  world.run(10s);
  world.create(pod("good", "one"));
  EXPECT_TRUE(eventually([&] { return !nodeOf("good").empty(); }, 10s));
}

/// What it was told when a node did not take it is true for a moment only.
TEST_F(Storms, APodThatWasTriedInVainIsToldWhatItWaitsForNow) {
  answerWith([](const Call& call) { return isBinding(call) ? std::optional{403} : std::nullopt; });
  world.create(claim("eight", 8));
  world.create(pod("p", "eight"));
  world.run(15s);
  EXPECT_NE(whyWaiting("p").find("the Binding was refused"), std::string::npos) << whyWaiting("p");
  world.machines().setHealth("node-b", 0, model::Health::Unhealthy);
  world.touch();
  EXPECT_TRUE(eventually(
      [&] { return whyWaiting("p").find("need 8 and most healthy is 7") != std::string::npos; }, 90s))
      << whyWaiting("p");
}

/// Somebody edits what the pod says before anybody knows that its Binding was applied.
/// Allocated to, or nothing at all, before the scheduler saw it bound.
class EditedAtOnce : public Cluster, public ::testing::WithParamInterface<const char*> {};

TEST_P(EditedAtOnce, BeforeTheFenceOfItsBindingItKeepsItsLease) {
  bool lost = false;
  const std::string to = GetParam();
  world.setJudge([&](sandbox::ReplicaId, const Call& call) {
    if (!isBinding(call) || std::exchange(lost, true)) { return sandbox::CallFault{}; }
    world.after(1100us, [&] {
      const json::Object edit{{"gpu.scheduling/allocated", to.empty() ? json::Value{} : json::Value{to}},
                              {"gpu.scheduling/visible-devices", json::Value{}},
                              {"gpu.scheduling/reservation", json::Value{}}};
      (void)world.request("PATCH", "/api/v1/namespaces/default/pods/p",
                          json::Object{{"metadata", json::Object{{"annotations", edit}}}},
                          "application/merge-patch+json");
    });
    return sandbox::CallFault{.how = sandbox::CallFault::How::LostAfter};
  });
  startOne();
  world.setStreamJudge([](sandbox::ReplicaId, kapi::Token) { return Duration{20ms}; });
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  ASSERT_TRUE(eventually([&] { return !nodeOf("p").empty() && allocated("p") == to; }));
  world.run(60s);
  for (const auto& write : world.writes()) {
    EXPECT_EQ(write.find("DELETE leases"), std::string::npos) << write;
  }
  EXPECT_EQ(world.get(kLeases + "gpu-node-a-0")["spec"]["holderIdentity"].str(),
            podObject("p")["metadata"]["uid"].str());
}
INSTANTIATE_TEST_SUITE_P(To, EditedAtOnce, ::testing::Values("node-a:3", ""));

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
  world.setJudge([](sandbox::ReplicaId, const Call& call) -> sandbox::CallFault {
    const bool lease_goes = call.kind == kapi::kLease && call.verb == kapi::Verb::Delete;
    if (!lease_goes && !(isBinding(call) && call.key.ns != "default")) { return {}; }
    return {.how = sandbox::CallFault::How::Refused, .http = lease_goes ? 500 : 403};
  });
  scheduler::Config config;
  config.max_binding_cycles = 4;
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

/// Once it may write again there is no room any more. Whoever was held back is told, though nobody needs a
/// slot; and a pod whose Binding was refused is told that GPUs are missing, and no longer the rejection.
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

/// A slot that came free brings back one of them, which no node can take:
/// the next one has its turn without another slot.
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

class ItsPods : public OneNamespaceIsBroken, public ::testing::WithParamInterface<int> {};

TEST_P(ItsPods, DelayNobodyElse) {
  breakIt(GetParam());
  badPods(300, "");
  world.run(20s);
  for (int i = 0; i < 20; ++i) { world.create(pod("good" + std::to_string(i), "")); }
  EXPECT_TRUE(eventually([&] { return placed("default") == 20; }, 1s)) << placed("default");
  answerAsUsual();
  EXPECT_TRUE(eventually([&] { return placed("bad") == 300; }, 60s)) << placed("bad");
}
INSTANTIATE_TEST_SUITE_P(Answers, ItsPods, ::testing::Values(500, 403, 429, 409));

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
  EXPECT_LE(mostCalls(kapi::kPod, 60s), 12);
}

}  // namespace
}  // namespace gs::test
