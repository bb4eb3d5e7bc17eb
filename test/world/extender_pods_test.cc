// Pods that a kube-scheduler places and asks us about (scheduler/extender_pods.h): the same leases, Bindings
// and proofs as for our own.
#include <map>

#include "base/ascii.h"
#include "kapi/decode.h"
#include "kapi/kinds.h"
#include "test/world/cluster.h"
#include "test/world/combined_replica.h"

namespace gs::test::extender_pods {  // its Verb and Kind are not those of other tests
namespace {

using extender::Answer;
using extender::Verb;
using Kind = Answer::Kind;
using namespace std::chrono_literals;

const std::vector<std::string> kBoth{"node-a", "node-b"};

/// The default nodes: node-a has four GPUs, node-b eight. A kube-scheduler's pods are those of gpu-kube.
class ExtenderPodsWorld : public Cluster {
 protected:
  explicit ExtenderPodsWorld(sandbox::World::Options options = {}, std::size_t waiting_binds = 16)
      : Cluster{std::move(options)}, waiting_binds_{waiting_binds} {
    world.setListener([this](auto, extender::RequestId id, const Answer& answer) {
      answers[id] = answer;
      answered_at[id] = world.now().mono;
    });
    start();
    EXPECT_TRUE(eventually([&] { return world.leadingExtender().has_value(); }));
    world.create(claim("one", 1));
    world.create(claim("four", 4));
  }
  sandbox::ReplicaId start() {
    scheduler::Config config;
    config.extender_pods = {"gpu-kube"};
    config.max_waiting_binds = waiting_binds_;
    return world.startReplica(config, combined());
  }
  void makeNamespace(const std::string& ns) {
    world.create(
        json::Object{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::Object{{"name", ns}}}});
    world.create(claim("one", 1, {}, ns));
  }
  void create(const std::string& name, const std::string& of_claim, int gpus = 0,
              const std::string& ns = "default") {
    json::Value p = pod(name, of_claim, gpus, ns);
    p.child("spec").set("schedulerName", "gpu-kube");
    world.create(p);
    world.run(100ms);
  }
  extender::RequestId ask(Verb verb, const std::string& name, const std::vector<std::string>& nodes,
                          std::vector<extender::Victims> victims = {}, const std::string& ns = "default") {
    extender::Request request;
    request.verb = verb;
    request.pod = std::make_shared<const model::Pod>(kapi::decodePod(podObject(name, ns)));
    request.victims = std::make_shared<const std::vector<extender::Victims>>(std::move(victims));
    if (verb == Verb::Bind) { request.node = model::NodeName{nodes.at(0)}; }
    world.ask(*world.leadingExtender(), ++last, std::move(request), nodes);
    return last;
  }
  Answer answerOf(extender::RequestId id, Duration limit = 10s) {
    EXPECT_TRUE(eventually([&] { return answers.contains(id); }, limit)) << "no answer";
    return answers[id];
  }
  Answer filter(const std::string& name, const std::vector<std::string>& nodes = kBoth) {
    return answerOf(ask(Verb::Filter, name, nodes));
  }
  Answer bind(const std::string& name, const std::string& node) {
    return answerOf(ask(Verb::Bind, name, {node}));
  }
  /// It was to go to node-a; another replica leads.
  void leaderDiesBeforeTheBindingOf(const std::string& name) {
    world.setJudge([](auto, const kapi::Call& call) -> sandbox::CallFault {
      if (call.subresource != "binding") { return {}; }
      return {.how = sandbox::CallFault::How::LostBefore};
    });
    const std::size_t before = leases();
    ask(Verb::Bind, name, {"node-a"});
    const auto leader = *world.leadingExtender();
    ASSERT_TRUE(eventually([&] { return leases() == before + 1; }));
    world.crash(leader);
    world.setJudge({});
    start();
    ASSERT_TRUE(eventually([&] { return world.leadingExtender().has_value(); }));
  }
  static std::string refusal(const Answer& a, std::size_t position) {
    const auto* refused = a.offers.rejectionOf(position);
    return refused == nullptr ? "" : (refused->never ? "never: " : "") + refused->text;
  }

  std::map<extender::RequestId, Answer> answers;
  std::map<extender::RequestId, Mono> answered_at{};
  extender::RequestId last = 0;

 private:
  std::size_t waiting_binds_;
};

TEST_F(ExtenderPodsWorld, FilterLooksAndBindGivesLeasesAndBinding) {
  create("p", "one");
  for (int i = 0; i < 3; ++i) {
    const Answer offered = filter("p");
    ASSERT_EQ(offered.kind, Kind::Offered);
    EXPECT_EQ(refusal(offered, 0) + refusal(offered, 1), "");
  }
  EXPECT_EQ(leases(), 0U) << "nothing is reserved";
  EXPECT_EQ(answerOf(ask(Verb::Rank, "p", kBoth)).scores, (std::vector<int>{10, 9})) << "the fuller node";
  EXPECT_EQ(bind("p", "node-b").kind, Kind::Done);
  EXPECT_EQ(nodeOf("p"), "node-b");
  EXPECT_EQ(allocated("p"), "node-b:0");
  EXPECT_EQ(leases(), 1U);
  EXPECT_EQ(bind("p", "node-b").kind, Kind::Done) << "again, as after an answer that was lost";
  EXPECT_EQ(bind("p", "node-a").kind, Kind::Failed);
  finish("p");
  ASSERT_TRUE(eventually([&] { return leases() == 0; }));
  expectSettled();
}

TEST_F(ExtenderPodsWorld, AMapIsServedByTheSameRules) {
  const auto comes = [&](const char* name, const char* map) {
    json::Value p = mappedPod(name, map);
    p.child("spec").set("schedulerName", "gpu-kube");
    world.create(p);
    world.run(100ms);
  };
  comes("m-0", "0=node-b:3");
  const Answer offered = filter("m-0");
  EXPECT_EQ(refusal(offered, 0), "never: node(s) were not named node-b");
  EXPECT_EQ(refusal(offered, 1), "");
  EXPECT_EQ(bind("m-0", "node-a").kind, Kind::Failed);
  EXPECT_EQ(bind("m-0", "node-b").kind, Kind::Done);
  EXPECT_EQ(allocated("m-0"), "node-b:3");
  comes("n-0", "0=node-b:3");
  EXPECT_EQ(bind("n-0", "node-b").kind, Kind::Done);
  create("p", "four");
  ASSERT_EQ(bind("p", "node-a").kind, Kind::Done);
  comes("o-0", "0=node-a:3");
  EXPECT_EQ(refusal(filter("o-0"), 0), "node(s) had GPU 3 held Exclusive by another pod");
  comes("q-1", "0=node-a:3");
  EXPECT_EQ(refusal(filter("q-1"), 0),
            "never: annotation gpu-scheduling-map has no line for index 1; add 1=<node>:<GPU ids>");
}

TEST_F(ExtenderPodsWorld, WhoFitsNowhereIsToldWhyAndWhetherItEverWill) {
  create("big", "four");
  create("q", "one");
  ASSERT_EQ(bind("big", "node-a").kind, Kind::Done);
  EXPECT_EQ(refusal(filter("q"), 0), "node(s) had too few free GPUs: need 1 and most free is 0");
  EXPECT_EQ(refusal(filter("q", {"node-b", "node-x"}), 1), "node(s) were not known to gpu-scheduler yet");
  world.create(claim("nine", 9));
  create("huge", "nine");
  EXPECT_EQ(refusal(filter("huge"), 0), "never: node(s) had too few GPUs: need 9 and the largest has 8");
  create("typo", "none");
  EXPECT_EQ(refusal(filter("typo"), 1), "never: gpuclaim \"none\" not found in namespace default; create it");
  EXPECT_EQ(bind("typo", "node-b").kind, Kind::Failed);
  world.run(5s);
  EXPECT_EQ(whyWaiting("q") + whyWaiting("typo"), "") << "kube-scheduler writes the condition";
}

TEST_F(ExtenderPodsWorld, WhatNeedsKubeSchedulersFiltersIsTakenHere) {
  json::Value p = pod("p", "one");
  p.child("spec").set("schedulerName", "gpu-kube");
  p.child("spec").set(
      "volumes", json::Array{json::Value{json::Object{
                     {"name", "data"}, {"persistentVolumeClaim", json::Object{{"claimName", "data"}}}}}});
  p.child("spec").set("nodeSelector", json::Object{{"nobody", "has-this"}});
  world.create(p);
  world.run(100ms);
  EXPECT_EQ(refusal(filter("p"), 0), "") << "its selector and its volume are kube-scheduler's";
  EXPECT_EQ(bind("p", "node-a").kind, Kind::Done);
  EXPECT_EQ(allocated("p"), "node-a:0");
}

class KubesPodsByDra : public ExtenderPodsWorld {
 protected:
  KubesPodsByDra() : ExtenderPodsWorld{byDra()} {}
};

/// Nothing of what they name is read here, allocated, or taken back.
TEST_F(KubesPodsByDra, KubeSchedulerSeesToTheirResourceClaims) {
  const std::string path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/its";
  world.create(gpuClass());
  world.create(resourceClaim("its", gpuDevices(1)));
  json::Value p = withClaims(pod("p", ""), "resourceClaimName", {"its"});
  p.child("spec").set("schedulerName", "gpu-kube");
  world.create(p);
  world.run(100ms);
  const Answer offered = filter("p");
  EXPECT_EQ(refusal(offered, 0) + refusal(offered, 1), "");
  const std::string uuid = world.machines().devicesOf("node-b").at(1).uuid;
  const json::Object result{
      {"request", "gpus"}, {"driver", "gpu.nvidia.com"}, {"pool", "node-b"}, {"device", inLowerCase(uuid)}};
  const std::string uid{podObject("p")["metadata"]["uid"].str()};
  const json::Object user{{"resource", "pods"}, {"name", "p"}, {"uid", uid}};
  const json::Object devices{{"results", json::Array{json::Value{result}}}};
  json::Value claim = world.get(path);
  claim.set("status", json::Object{{"allocation", json::Object{{"devices", devices}}},
                                   {"reservedFor", json::Array{json::Value{user}}}});
  ASSERT_EQ(world.request("PUT", path + "/status", claim).code, 200);
  world.run(1min);
  const json::Value status = world.get(path)["status"];
  EXPECT_EQ(status["allocation"]["devices"]["results"].at(0)["device"].str(), inLowerCase(uuid))
      << "though the pod is not bound";
  EXPECT_EQ(status["reservedFor"].at(0)["uid"].str(), uid);
  EXPECT_EQ(bind("p", "node-b").kind, Kind::Done);
  ASSERT_TRUE(eventually([&] { return world.kubelet().devicesAtStart(uid) == uuid; }));
  EXPECT_EQ(allocated("p"), "");
  EXPECT_EQ(leases(), 0U);
}

TEST_F(ExtenderPodsWorld, ManyThatMeetTheSameGpusGetEachOneOrAnError) {
  std::vector<extender::RequestId> asked;
  for (int i = 0; i < 6; ++i) { create("p" + std::to_string(i), "one"); }
  for (int i = 0; i < 6; ++i) { asked.push_back(ask(Verb::Bind, "p" + std::to_string(i), {"node-a"})); }
  int bound = 0;
  for (const auto id : asked) { bound += answerOf(id).kind == Kind::Done ? 1 : 0; }
  EXPECT_EQ(bound, 4);
  EXPECT_EQ(leases(), 4U);
  expectSettled();
}

TEST_F(ExtenderPodsWorld, PreemptKeepsTheNodesWhereTheVictimsFreeWhatItNeeds) {
  create("v", "four");
  ASSERT_EQ(bind("v", "node-a").kind, Kind::Done);
  create("w", "one");
  ASSERT_EQ(bind("w", "node-b").kind, Kind::Done);
  world.create(claim("eight", 8));
  create("p", "eight");
  const auto uid = [&](const char* name) { return model::Uid{podObject(name)["metadata"]["uid"].str()}; };
  const auto kept = answerOf(ask(Verb::Preempt, "p", kBoth, {{uid("v")}, {uid("w")}}));
  EXPECT_EQ(kept.kind, Kind::Kept);
  EXPECT_EQ(kept.kept, std::vector<std::size_t>{1}) << "node-a has four in all";
}

/// Pods of kube-scheduler with a PriorityClass, and its preemption, which counts no claims: it finds room on
/// all nodes, and sends them without victims.
class PreemptionWorld : public ExtenderPodsWorld {
 protected:
  PreemptionWorld() {
    for (const auto& [name, value] : std::map<std::string, int>{{"low", 1}, {"middle", 5}, {"high", 100}}) {
      world.create(json::Object{{"apiVersion", "scheduling.k8s.io/v1"},
                                {"kind", "PriorityClass"},
                                {"metadata", json::Object{{"name", name}}},
                                {"value", value}});
    }
  }
  void createWith(const std::string& name, const std::string& of_claim, const std::string& priority) {
    json::Value p = pod(name, of_claim);
    p.child("spec").set("schedulerName", "gpu-kube");
    p.child("spec").set("priorityClassName", priority);
    world.create(p);
    world.run(100ms);
  }
  void runs(const std::string& name, const std::string& of_claim, const std::string& priority,
            const std::string& node) {
    createWith(name, of_claim, priority);
    ASSERT_EQ(bind(name, node).kind, Kind::Done);
    world.run(2s);
  }
  /// By node: whose pods it would evict.
  using Named = std::map<std::string, std::vector<std::string>>;
  Named preempt(const std::string& name) {
    const Answer a = answerOf(ask(Verb::Preempt, name, kBoth));
    EXPECT_EQ(a.kind, Kind::Kept) << a.text;
    Named out;
    for (std::size_t k = 0; k < a.kept.size(); ++k) {
      auto& names = out[kBoth.at(a.kept[k])];
      for (const auto& uid : a.victims.at(k)) { names.push_back(nameOf(uid)); }
    }
    return out;
  }
  std::string nameOf(const model::Uid& uid) {
    for (const auto& p : world.get("/api/v1/namespaces/default/pods")["items"].items()) {
      if (p["metadata"]["uid"].str() == uid.text) { return std::string{p["metadata"]["name"].str()}; }
    }
    return "nobody";
  }
};

TEST_F(PreemptionWorld, NamesVictimsForAClaim) {
  runs("a-low", "four", "low", "node-a");
  runs("b-middle", "four", "middle", "node-b");
  runs("b-low", "four", "low", "node-b");
  createWith("equal", "four", "low");
  EXPECT_EQ(preempt("equal"), Named{}) << "nobody is less important";
  createWith("p", "four", "high");
  const Answer none = filter("p");
  EXPECT_NE(refusal(none, 0), "");
  EXPECT_NE(refusal(none, 1), "");
  EXPECT_EQ(preempt("p"), (Named{{"node-a", {"a-low"}}, {"node-b", {"b-low"}}}));
}

/// kube-scheduler sees that its victim is gone before the agent says that its GPUs are free.
TEST_F(PreemptionWorld, NobodyElseIsNamedUntilTheGpusOfTheFirstOneAreFree) {
  runs("a-low", "four", "low", "node-a");
  runs("b-middle", "four", "middle", "node-b");
  runs("b-low", "four", "low", "node-b");
  createWith("p", "four", "high");
  (void)filter("p");
  EXPECT_EQ(preempt("p").at("node-a"), std::vector<std::string>{"a-low"});
  deletePod("a-low");
  bool fits = false;
  int asked = 0;
  for (; !fits && asked < 300; ++asked) {
    world.run(200ms);
    fits = refusal(filter("p"), 0).empty();
    if (!fits) { EXPECT_EQ(preempt("p"), (Named{{"node-a", {}}})) << "after " << asked; }
  }
  ASSERT_TRUE(fits);
  EXPECT_GT(asked, 2);
  EXPECT_EQ(bind("p", "node-a").kind, Kind::Done);
  EXPECT_EQ(nodeOf("b-low"), "node-b");
  expectSettled();
}

TEST_F(ExtenderPodsWorld, ABindingThatIsNotAnsweredIsFencedAndItsCallerAsksAgain) {
  create("p", "one");
  world.setJudge([](auto, const kapi::Call& call) -> sandbox::CallFault {
    if (call.subresource != "binding") { return {}; }
    return {.how = sandbox::CallFault::How::LostBefore};
  });
  EXPECT_EQ(bind("p", "node-a").kind, Kind::Failed);
  world.setJudge({});
  ASSERT_TRUE(eventually([&] { return leases() == 0; }));
  EXPECT_EQ(nodeOf("p"), "") << "nobody asked for it again";
  EXPECT_EQ(bind("p", "node-b").kind, Kind::Done);
  expectSettled();
}

/// Whoever leads next takes over what kube-scheduler asks for again, and takes the rest back.
TEST_F(ExtenderPodsWorld, ALeaderThatDiesBeforeTheBindingLeavesLeasesForTheSameRequest) {
  for (const bool same_node : {true, false}) {
    const std::string name = same_node ? "same" : "other";
    create(name, "one");
    const std::size_t before = leases();
    leaderDiesBeforeTheBindingOf(name);
    const auto first = bind(name, same_node ? "node-a" : "node-b");
    if (!same_node) {
      EXPECT_EQ(first.kind, Kind::Failed) << "until the leases of before are gone";
      ASSERT_TRUE(eventually([&] { return leases() == before; }));
      EXPECT_EQ(bind(name, "node-b").kind, Kind::Done);
    } else {
      EXPECT_EQ(first.kind, Kind::Done) << first.text;
    }
  }
  expectSettled();
}

/// As after kube-scheduler gave up and its pod was deleted, or waits for something else.
TEST_F(ExtenderPodsWorld, LeasesThatNobodyAsksAboutGo) {
  create("p", "one");
  leaderDiesBeforeTheBindingOf("p");
  world.run(5s);
  EXPECT_EQ(leases(), 1U) << "it may be asked for again";
  ASSERT_TRUE(eventually([&] { return leases() == 0; }, 20s));
  expectSettled();
}

/// Of those who wait at once a namespace has half.
TEST_F(ExtenderPodsWorld, ANamespaceWhosePodsCanNotBeWrittenKeepsNobodyElseWaiting) {
  world.setJudge([](auto, const kapi::Call& call) -> sandbox::CallFault {
    if (call.kind != kapi::kPod || call.subresource.empty() || call.key.ns != "default") { return {}; }
    return {.how = sandbox::CallFault::How::LostBefore};
  });
  std::vector<extender::RequestId> asked;
  for (int i = 0; i < 12; ++i) { create("p" + std::to_string(i), "one"); }
  for (int i = 0; i < 12; ++i) { asked.push_back(ask(Verb::Bind, "p" + std::to_string(i), {"node-b"})); }
  world.run(100ms);
  const auto answered = [&] {
    return std::count_if(asked.begin(), asked.end(), [&](auto id) { return answers.contains(id); });
  };
  EXPECT_EQ(answered(), 8) << "at once: who comes on top of eight, and who waits behind four that are stuck";
  world.create(json::Object{
      {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::Object{{"name", "other"}}}});
  world.create(claim("one", 1, {}, "other"));
  json::Value p = pod("q", "one", 0, "other");
  p.child("spec").set("schedulerName", "gpu-kube");
  world.create(p);
  world.run(100ms);
  const auto q = ask(Verb::Bind, "q", {"node-a"}, {}, "other");
  EXPECT_EQ(answerOf(q, 1s).kind, Kind::Done);
  world.run(5s);
  EXPECT_EQ(answered(), 12) << "nobody waits for longer than 4 s";
}

/// Nothing that kube-scheduler watches says that GPUs are free again.
TEST_F(ExtenderPodsWorld, WhoFoundNoGpusIsShownThatThereAreSome) {
  create("big", "four");
  ASSERT_EQ(bind("big", "node-a").kind, Kind::Done);
  create("q", "one");
  const auto version = [&] { return std::string{podObject("q")["metadata"]["resourceVersion"].str()}; };
  const std::string before = version();
  EXPECT_EQ(filter("q", {"node-b"}).kind, Kind::Offered);
  world.run(70s);
  EXPECT_EQ(version(), before) << "it fits, and is to be bound";
  ASSERT_NE(refusal(filter("q", {"node-a"}), 0), "");
  ASSERT_TRUE(eventually([&] { return version() != before; })) << "it fits on node-b";
  const std::string woken = version();
  create("r", "one");
  EXPECT_EQ(refusal(filter("q", {"node-b"}), 0), "") << "what is held for it is free for it";
  ASSERT_NE(refusal(filter("q", {"node-a"}), 0), "");
  world.run(2s);
  EXPECT_EQ(version(), woken) << "not again at once";
  ASSERT_TRUE(eventually([&] { return version() != woken; }, 30s));
}

/// An earlier leader refused it.
TEST_F(ExtenderPodsWorld, WhoIsAskedAboutNoMoreIsShownThatItFitsAndNotWhileItIsGated) {
  create("q", "one");
  json::Value gated = pod("g", "one");
  gated.child("spec").set("schedulerName", "gpu-kube");
  gated.child("spec").set("schedulingGates",
                          json::Array{json::Value{json::Object{{"name", "example.com/later"}}}});
  world.create(gated);
  const auto version = [&](const char* name) {
    return std::string{podObject(name)["metadata"]["resourceVersion"].str()};
  };
  const std::string before = version("q");
  const std::string of_gated = version("g");
  world.run(50s);
  EXPECT_EQ(version("q"), before);
  EXPECT_TRUE(eventually([&] { return version("q") != before; }, 60s));
  EXPECT_EQ(version("g"), of_gated);
  world.create(claim("eight", 8));
  create("eights", "eight");
  EXPECT_EQ(refusal(filter("eights"), 1), "") << "nothing is held for who was not refused";
}

/// Many are filtered before the first is bound.
TEST_F(ExtenderPodsWorld, OnTheBestNodeGpusAreHeldForWhoComesFirst) {
  world.create(claim("eight", 8));
  create("fours", "four");
  create("eights", "eight");
  EXPECT_EQ(answerOf(ask(Verb::Rank, "fours", kBoth)).scores, (std::vector<int>{9, 10}));
  EXPECT_EQ(refusal(filter("eights"), 1), "node(s) had too few free GPUs: need 8 and most free is 4");
  EXPECT_EQ(leases(), 0U);
  EXPECT_EQ(answerOf(ask(Verb::Rank, "fours", kBoth)).scores, (std::vector<int>{9, 10})) << "asked again";
  world.run(3s);
  EXPECT_EQ(refusal(filter("eights"), 1), "") << "its time is over";
  EXPECT_EQ(answerOf(ask(Verb::Rank, "fours", kBoth)).kind, Kind::Offered);
  EXPECT_EQ(bind("fours", "node-a").kind, Kind::Done) << "kube-scheduler had other reasons";
  EXPECT_EQ(refusal(filter("eights"), 1), "");
  expectSettled();
}

/// kube-scheduler binds side by side as many as it filters.
struct SlowApi : ExtenderPodsWorld {
  explicit SlowApi(std::size_t waiting_binds = 16) : ExtenderPodsWorld{slow(), waiting_binds} {}
  static sandbox::World::Options slow() {
    sandbox::World::Options options;
    options.latency = kThereAndBack / 2;
    return options;
  }
  /// p0 and so on, up to so many in all.
  void beginToBind(int many) {
    for (; begun_ < many; ++begun_) { ask(Verb::Bind, "p" + std::to_string(begun_), {"node-b"}); }
  }

  /// Four have a slot, and two wait for one.
  void filterWaitsWhileSixAreBeingBound() {
    for (int i = 0; i < 7; ++i) { create("p" + std::to_string(i), "one"); }
    world.run(1s);
    beginToBind(5);
    const auto few = ask(Verb::Filter, "p6", kBoth);
    beginToBind(6);
    const auto many = ask(Verb::Filter, "p6", kBoth);
    const Mono asked = world.now().mono;
    world.run(1s);
    EXPECT_EQ(answered_at[few] - asked, kThereAndBack);
    EXPECT_GE(answered_at[many] - asked, kThereAndBack + 50ms);
    EXPECT_LE(answered_at[many] - asked, kThereAndBack + 250ms);
    ASSERT_TRUE(eventually([&] { return leases() == 6; }));
    expectSettled();
  }

  static constexpr Duration kThereAndBack = 100ms;

 private:
  int begun_ = 0;
};

TEST_F(SlowApi, AFilterWaitsAMomentWhileManyAreBeingBound) { filterWaitsWhileSixAreBeingBound(); }

/// A namespace begins with four slots.
TEST_F(SlowApi, WhoWaitsForASlotHoldsItsGpus) {
  for (int i = 0; i < 4; ++i) { create("p" + std::to_string(i), "one"); }
  create("queued", "four");
  create("other", "four");
  world.run(1s);
  beginToBind(4);
  const auto bound = ask(Verb::Bind, "queued", {"node-a"});
  const auto filtered = ask(Verb::Filter, "other", {"node-a"});
  world.run(kThereAndBack);
  ASSERT_TRUE(answers.contains(filtered));
  EXPECT_EQ(refusal(answers[filtered], 0), "node(s) had too few free GPUs: need 4 and most free is 0");
  EXPECT_EQ(leases(), 4U) << "those of the others";
  EXPECT_EQ(answerOf(bound).kind, Kind::Done);
  expectSettled();
}

/// Two slow namespaces would keep everybody's kube-scheduler waiting.
TEST_F(SlowApi, NobodyWaitsForNamespacesWhoseWritesTakeLong) {
  world.setJudge([](auto, const kapi::Call& call) -> sandbox::CallFault {
    if (call.subresource != "binding") { return {}; }
    return {.how = sandbox::CallFault::How::Refused, .http = 429};
  });
  makeNamespace("other");
  makeNamespace("third");
  for (int i = 0; i < 7; ++i) { create("p" + std::to_string(i), "one"); }
  for (int i = 0; i < 5; ++i) { create("o" + std::to_string(i), "one", 0, "other"); }
  create("t", "one", 0, "third");
  world.run(1s);
  beginToBind(6);
  for (int i = 0; i < 5; ++i) {
    ask(Verb::Bind, "o" + std::to_string(i), {i < 4 ? "node-a" : "node-b"}, {}, "other");
  }
  world.run(400ms);
  ASSERT_EQ(answers.size(), 0U);
  const auto of_it = ask(Verb::Filter, "p6", kBoth);
  const auto of_third = ask(Verb::Filter, "t", kBoth, {}, "third");
  const Mono asked = world.now().mono;
  world.run(1s);
  EXPECT_EQ(answered_at[of_it] - asked, kThereAndBack);
  EXPECT_EQ(answered_at[of_third] - asked, kThereAndBack);
}

/// However many may wait: those that wait for a slot only wait for longer when there are more of them.
struct SlowApiAndManyWorkers : SlowApi {
  SlowApiAndManyWorkers() : SlowApi{256} {}
};

TEST_F(SlowApiAndManyWorkers, AFilterWaitsWhileBindsWaitForASlot) { filterWaitsWhileSixAreBeingBound(); }

/// GPUs are held for each that is woken, and kube-scheduler may have reasons of its own to refuse them all.
struct Wakes : ExtenderPodsWorld {
  /// They found no node.
  void refused(const std::string& prefix, int count, const std::string& ns = "default") {
    for (int i = 0; i < count; ++i) {
      const std::string name = prefix + std::to_string(i);
      json::Value p = pod(name, "one", 0, ns);
      p.child("spec").set("schedulerName", "gpu-kube");
      world.create(p);
      world.run(10ms);
      ask(Verb::Filter, name, {"node-x"}, {}, ns);
    }
    world.run(10ms);
  }
  int woken(const std::string& prefix, int count, const std::string& ns = "default") {
    int n = 0;
    for (int i = 0; i < count; ++i) {
      const auto& wake =
          podObject(prefix + std::to_string(i), ns)["metadata"]["annotations"]["gpu.scheduling/wake"];
      n += wake.isNull() ? 0 : 1;
    }
    return n;
  }
};

TEST_F(Wakes, FewHaveGpusAtATimeAndAllHaveTheirTurn) {
  refused("p", 12);
  world.run(3s);
  EXPECT_EQ(woken("p", 12), 4) << "of one namespace";
  world.run(11s);
  EXPECT_EQ(woken("p", 12), 8) << "nobody asked about the first";
  world.run(12s);
  EXPECT_EQ(woken("p", 12), 12);
}

TEST_F(Wakes, NobodyOfOneNamespaceWaitsForThoseOfAnother) {
  makeNamespace("other");
  refused("p", 12);
  world.run(1s);
  refused("q", 1, "other");
  world.run(100ms);
  EXPECT_EQ(woken("q", 1, "other"), 1);
}

/// An earlier leader refused them, say. Nobody waits for longer because others had their turn first.
TEST_F(Wakes, ThoseOfWhomNobodyAsksAreWokenOneAfterTheOther) {
  for (int i = 0; i < 40; ++i) { create("p" + std::to_string(i), "one"); }
  world.run(50s);
  EXPECT_EQ(woken("p", 40), 0) << "kube-scheduler may ask yet";
  int before = 0;
  for (int second = 0; second < 50; ++second) {
    world.run(1s);
    EXPECT_LE(woken("p", 40) - before, 6);
    before = woken("p", 40);
  }
  EXPECT_EQ(before, 40);
}

/// Those take all the room that there is for them.
TEST_F(Wakes, NobodyForgottenWaitsForThoseThatHoldGpus) {
  create("forgotten0", "one");
  world.run(55s);
  makeNamespace("other");
  makeNamespace("third");
  refused("p", 6);
  refused("q", 4, "other");
  refused("r", 4, "third");
  for (int i = 0; i < 40 && woken("forgotten", 1) == 0; ++i) { world.run(1s); }
  EXPECT_EQ(woken("forgotten", 1), 1);
}

/// kube-scheduler binds side by side, and a namespace begins with few slots.
TEST_F(ExtenderPodsWorld, WhoFindsNoSlotWaitsForOne) {
  std::vector<extender::RequestId> asked;
  for (int i = 0; i < 8; ++i) { create("p" + std::to_string(i), "one"); }
  for (int i = 0; i < 8; ++i) { asked.push_back(ask(Verb::Bind, "p" + std::to_string(i), {"node-b"})); }
  for (const auto id : asked) { EXPECT_EQ(answerOf(id, 1s).kind, Kind::Done) << answers[id].text; }
  expectSettled();
}

}  // namespace
}  // namespace gs::test::extender_pods
