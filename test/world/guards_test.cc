// Guards that other layers hide: each test fails when its one line goes.
#include <algorithm>

#include "kapi/kinds.h"
#include "test/world/cluster.h"
#include "testing/builders.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;
using kapi::Call;
using kapi::Kind;
using kapi::Verb;

const std::string kPods = "/api/v1/namespaces/default/pods/";

/// Every call is seen before it is carried out.
class Guards : public Cluster {
 protected:
  explicit Guards(sandbox::World::Options options = {}) : Cluster{std::move(options)} {
    world.setJudge([this](sandbox::ReplicaId, const Call& call) {
      if (call.kind == kapi::kPod || call.key.name != scheduler::kLeaderLease) { seen_.push_back(call); }
      return judge_ ? judge_(call) : sandbox::CallFault{};
    });
    startOne();
  }
  using Judge = std::function<sandbox::CallFault(const Call&)>;
  void judge(Judge judge) { judge_ = std::move(judge); }
  /// When such a call leaves, once.
  void atFirst(std::function<bool(const Call&)> is, std::function<void()> then) {
    judge_ = [this, is = std::move(is), then = std::move(then), done = false](const Call& call) mutable {
      if (is(call) && !std::exchange(done, true)) { world.after({}, then); }
      return sandbox::CallFault{};
    };
  }
  [[nodiscard]] int bindings() const {
    return static_cast<int>(
        std::count_if(seen_.begin(), seen_.end(), [](const Call& c) { return c.subresource == "binding"; }));
  }
  [[nodiscard]] const std::vector<Call>& seen() const { return seen_; }
  /// As a webhook that takes unknown annotations away: the write is applied, and changes nothing.
  void dropFences() {
    sandbox::Tampering drops;
    drops.sent = [](sandbox::ReplicaId, Call& call) {
      if (call.body["metadata"]["annotations"]["gpu.scheduling/fence"].isNull()) { return; }
      call.body.child("metadata").erase("annotations");
    };
    world.setTampering(drops);
  }
  static bool createsLease(const Call& call) {
    return call.kind == kapi::kLease && call.verb == Verb::Create;
  }
  void patch(const std::string& path, json::Value body) {
    ASSERT_EQ(world.request("PATCH", path, std::move(body), "application/merge-patch+json").code, 200);
  }
  /// Of a decision of somebody, for one GPU.
  json::Value leaseOf(const std::string& name, const std::string& node, int gpu) {
    const std::string uid{podObject(name)["metadata"]["uid"].str()};
    const std::string id = std::to_string(gpu);
    return json::Object{
        {"apiVersion", "coordination.k8s.io/v1"},
        {"kind", "Lease"},
        {"metadata",
         json::Object{{"name", "gpu-" + node + "-" + id},
                      {"namespace", "default"},
                      {"labels", json::Object{{"gpu.scheduling/managed", "true"}}},
                      {"annotations", json::Object{{"gpu.scheduling/format", "1"},
                                                   {"gpu.scheduling/node", node},
                                                   {"gpu.scheduling/gpu", id},
                                                   {"gpu.scheduling/pod-namespace", "default"},
                                                   {"gpu.scheduling/pod-name", name},
                                                   {"gpu.scheduling/pod-uid", uid},
                                                   {"gpu.scheduling/reservation", "theirs"},
                                                   {"gpu.scheduling/devices", node + ":" + id}}}}},
        {"spec", json::Object{{"holderIdentity", uid}}}};
  }

 private:
  std::vector<Call> seen_;
  Judge judge_;
};

TEST_F(Guards, WithOneLeaseWriteUnknownAllLeasesAreReadBeforeTheBinding) {
  judge([unknown = false](const Call& call) mutable {
    const bool first = createsLease(call) && !std::exchange(unknown, true);
    return sandbox::CallFault{.how = first ? sandbox::CallFault::How::LostAfter
                                           : sandbox::CallFault::How::Normal};
  });
  world.create(claim("two", 2));
  world.create(pod("p", "two"));
  ASSERT_TRUE(eventually([&] { return !nodeOf("p").empty(); }));
  std::set<std::string> read;
  for (const Call& call : seen()) {
    if (call.subresource == "binding") { break; }
    if (call.kind == kapi::kLease && call.verb == Verb::Get) { read.insert(call.key.name); }
  }
  EXPECT_EQ(read, (std::set<std::string>{"gpu-node-b-0", "gpu-node-b-1"}));
}

TEST_F(Guards, APodThatIsBeingDeletedIsNotBound) {
  world.create(claim("one", 1));
  json::Value p = pod("p", "one");
  p.child("metadata").set("finalizers", json::Array{json::Value{"example.com/wait"}});
  atFirst(createsLease, [&] { EXPECT_EQ(world.request("DELETE", kPods + "p").code, 200); });
  world.create(p);
  world.run(30s);
  EXPECT_EQ(bindings(), 0);
  EXPECT_EQ(leases(), 0U);
}

TEST_F(Guards, APodThatWasFencedIsDecidedAnew) {
  world.create(claim("one", 1));
  std::string first;
  atFirst(createsLease, [&] {
    first = std::find_if(seen().rbegin(), seen().rend(), createsLease)
                ->body["metadata"]["annotations"]["gpu.scheduling/reservation"]
                .str();
    patch(kPods + "p",
          json::Object{{"metadata", json::Object{{"annotations", json::Object{{"gpu.scheduling/fence",
                                                                               "another leader's"}}}}}});
  });
  world.create(pod("p", "one"));
  ASSERT_TRUE(eventually([&] { return !nodeOf("p").empty(); }));
  EXPECT_FALSE(first.empty());
  EXPECT_NE(podObject("p")["metadata"]["annotations"]["gpu.scheduling/reservation"].str(), first);
}

TEST_F(Guards, ALeaseOfAnotherNamespaceThatWentIsForgottenByTheNextCensus) {
  world.crash(0);
  world.create(
      json::Object{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::Object{{"name", "old"}}}});
  // It names no pod, so nobody can prove that its holder is gone: it is deleted by hand.
  world.create(json::Object{
      {"apiVersion", "coordination.k8s.io/v1"},
      {"kind", "Lease"},
      {"metadata", json::Object{{"name", "gpu-node-a-0"},
                                {"namespace", "old"},
                                {"labels", json::Object{{"gpu.scheduling/managed", "true"}}},
                                {"annotations", json::Object{{"gpu.scheduling/format", "1"},
                                                             {"gpu.scheduling/node", "node-a"},
                                                             {"gpu.scheduling/gpu", "0"},
                                                             {"gpu.scheduling/pod-uid", "ghost"}}}}},
      {"spec", json::Object{{"holderIdentity", "ghost"}}}});
  world.restart(0);
  json::Value all = claim("all", 4);
  all.child("spec").set("selector",
                        json::Object{{"matchLabels", json::Object{{"kubernetes.io/hostname", "node-a"}}}});
  world.create(all);
  world.create(pod("p", "all"));
  ASSERT_TRUE(eventually([&] { return whyWaiting("p").find("most free is 3") != std::string::npos; }));
  ASSERT_EQ(world.request("DELETE", "/apis/coordination.k8s.io/v1/namespaces/old/leases/gpu-node-a-0").code,
            200);
  EXPECT_TRUE(eventually([&] { return !nodeOf("p").empty(); }, 11min));
}

/// Its watch is late, and its Binding got no answer: the fence's answer says first that it is gone.
TEST_F(Guards, APodThatItsFenceDoesNotFindIsAskedFor) {
  judge([this](const Call& call) -> sandbox::CallFault {
    if (call.subresource != "binding") { return {}; }
    world.setStreamJudge([](sandbox::ReplicaId, kapi::Token stream) {
      return kapi::tokenOwner(stream) == 1 ? Duration{1h} : Duration{};
    });
    world.after({}, [this] { deletePod("p", true); });
    return {.how = sandbox::CallFault::How::LostBefore};
  });
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  ASSERT_TRUE(eventually([&] { return bindings() > 0; }));
  EXPECT_TRUE(eventually([&] { return leases() == 0; }, 5min)) << "once its GPU is reclaimed";
}

/// Neither its annotation nor its lease can be read any more: it may be using the GPU all the same.
TEST_F(Guards, TheLeaseOfAPodOfWhichNothingSaysWhatItHasStays) {
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  ASSERT_TRUE(eventually([&] { return podObject("p")["status"]["phase"].str() == "Running"; }));
  const auto set = [](const char* key, json::Value value) {
    return json::Object{{"metadata", json::Object{{"annotations", json::Object{{key, std::move(value)}}}}}};
  };
  const std::string lease = kLeases + "gpu-node-a-0";
  patch(kPods + "p", set("gpu.scheduling/reservation", {}));
  patch(lease, set("gpu.scheduling/devices", "of node-a"));
  patch(kPods + "p", set("gpu.scheduling/allocated", {}));
  world.run(70s);
  EXPECT_EQ(world.get(lease)["spec"]["holderIdentity"].str(), podObject("p")["metadata"]["uid"].str());
}

/// A fence that is not on the pod fences nothing: a Binding of before may land yet.
TEST_F(Guards, AFenceThatIsAppliedAndIsNotThereIsNone) {
  dropFences();
  judge([](const Call& call) -> sandbox::CallFault {
    if (call.subresource != "binding") { return {}; }
    return {.how = sandbox::CallFault::How::LostBefore};
  });
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  ASSERT_TRUE(eventually([&] { return leases() == 1; }));
  const auto reservation = [this] {
    return world.get(kLeases + "gpu-node-a-0")["metadata"]["annotations"]["gpu.scheduling/reservation"];
  };
  const json::Value first = reservation();
  world.run(120s);
  EXPECT_GE(bindings(), 1);
  EXPECT_EQ(reservation(), first) << "nothing was given back";
  world.setTampering({});
  judge({});
  EXPECT_TRUE(eventually([&] { return !nodeOf("p").empty(); }, 120s));
  EXPECT_NE(reservation(), first) << "fenced, and decided anew";
  expectSettled();
}

TEST_F(Guards, NorIsOneOfALeaseOfAnEarlierLeader) {
  dropFences();
  world.create(pod("p", "two"));
  ASSERT_TRUE(eventually([&] { return whyWaiting("p").find("two") != std::string::npos; }));
  world.create(leaseOf("p", "node-a", 0));
  world.run(120s);
  EXPECT_EQ(leases(), 1U);
  world.setTampering({});
  EXPECT_TRUE(eventually([&] { return leases() == 0; }, 120s));
}

/// Until they are gone it is not decided anew, and somebody has to give the right that is missing.
TEST_F(Guards, APodWhoseLeftOverLeasesCannotGoIsToldSo) {
  const auto refuse = [this](auto is) {
    judge([is](const Call& call) -> sandbox::CallFault {
      if (!is(call)) { return {}; }
      return {.how = sandbox::CallFault::How::Refused, .http = 403};
    });
  };
  const auto isTold = [this](const char* what) {
    return eventually([&] { return whyWaiting("p").find(what) != std::string::npos; }, 90s);
  };
  refuse([](const Call& call) {
    return !call.body["metadata"]["annotations"]["gpu.scheduling/fence"].isNull();
  });
  world.create(pod("p", "two"));
  ASSERT_TRUE(isTold("two"));
  world.create(leaseOf("p", "node-a", 0));
  EXPECT_TRUE(isTold("GPU leases of an earlier decision name this pod: they are kept")) << whyWaiting("p");
  EXPECT_NE(whyWaiting("p").find("cannot be written: 403"), std::string::npos) << whyWaiting("p");
  refuse([](const Call& call) { return call.kind == kapi::kLease && call.verb == Verb::Delete; });
  EXPECT_TRUE(isTold("the lease default/gpu-node-a-0 cannot be deleted")) << whyWaiting("p");
  judge({});
  world.create(claim("two", 2));
  EXPECT_TRUE(eventually([&] { return !nodeOf("p").empty(); }, 90s)) << whyWaiting("p");
  expectSettled();
}

TEST_F(Guards, EachTermSaysOnceWhichLeasesItCannotRead) {
  world.create(json::Object{
      {"apiVersion", "coordination.k8s.io/v1"},
      {"kind", "Lease"},
      {"metadata", json::Object{{"name", "gpu-node-a-0"},
                                {"namespace", "default"},
                                {"labels", json::Object{{"gpu.scheduling/managed", "true"}}},
                                {"annotations", json::Object{{"gpu.scheduling/format", "1"},
                                                             {"gpu.scheduling/gpu", "the first"}}}}},
      {"spec", json::Object{{"holderIdentity", "somebody"}}}});
  const auto said = [this] {
    return std::count_if(world.log().begin(), world.log().end(), [](const std::string& line) {
      return line.find("a managed lease cannot be read") != std::string::npos;
    });
  };
  world.run(100s);
  EXPECT_EQ(said(), 1);
  world.freeze(0, true);
  world.run(8s);
  world.freeze(0, false);
  world.run(100s);
  EXPECT_EQ(said(), 2);
}

TEST_F(Guards, OfPodsThatEndedNothingIsRemembered) {
  world.create(claim("one", 1));
  world.create(pod("runs", "one"));
  ASSERT_TRUE(eventually([&] { return podObject("runs")["status"]["phase"].str() == "Running"; }));
  ASSERT_EQ(world.request("DELETE", kLeases + "gpu-node-a-0").code, 200);
  ASSERT_TRUE(eventually([&] { return warned("GpuLeaseRewritten"); }));
  judge([](const Call& call) -> sandbox::CallFault {
    if (call.subresource != "binding") { return {}; }
    return {.how = sandbox::CallFault::How::Refused, .http = 403};
  });
  world.create(pod("refused", "one"));
  world.create(pod("waits", "no-such-claim"));
  ASSERT_TRUE(eventually([&] {
    return whyWaiting("refused").find("was refused") != std::string::npos && !whyWaiting("waits").empty();
  }));
  EXPECT_GE(world.scheduler(0).rememberedForTest(), 5U);
  for (const char* name : {"runs", "refused", "waits"}) { deletePod(name, true); }
  EXPECT_TRUE(eventually([&] { return leases() == 0; }, 5min));
  world.run(2min);
  EXPECT_EQ(world.scheduler(0).rememberedForTest(), 0U);
}

TEST_F(Guards, ABindingWaitsForTheConditionThatIsBeingWritten) {
  world.setStreamJudge([](sandbox::ReplicaId, kapi::Token stream) {
    const bool of_pods =
        kapi::tokenOwner(stream) == 1;  // else they bring the new version before the answer does
    return of_pods ? Duration{20ms} : Duration{};
  });
  json::Value p = pod("p", "");
  p.child("spec").set("nodeSelector", json::Object{{"example.com/open", "yes"}});
  atFirst([](const Call& call) { return call.kind == kapi::kPod && call.subresource == "status"; },
          [&] {
            patch("/api/v1/nodes/node-a",
                  json::Object{
                      {"metadata", json::Object{{"labels", json::Object{{"example.com/open", "yes"}}}}}});
          });
  world.create(p);
  ASSERT_TRUE(eventually([&] { return !nodeOf("p").empty(); }));
  EXPECT_EQ(bindings(), 1);  // sent with the version of before, it would be refused
}

/// Another leader had decided about the pod, too, and its lease could not be deleted yet: it is not what the
/// pod was bound for, though it was there before. The agent sees what the pod uses; the next leader has not
/// seen the lease that went.
TEST_F(Guards, ALeaseOfAnotherDecisionIsNotWhatThePodHasWhenItsOwnIsGone) {
  std::string other;  // the lease of the other decision
  judge([&, done = false](const Call& call) mutable {
    if (call.verb == Verb::Delete && call.key.name == other) {
      return sandbox::CallFault{.how = sandbox::CallFault::How::LostBefore};
    }
    if (!createsLease(call) || std::exchange(done, true)) { return sandbox::CallFault{}; }
    const bool first = call.body["metadata"]["name"].str() == "gpu-node-a-0";
    other = first ? "gpu-node-a-1" : "gpu-node-a-0";
    model::Pod of;
    of.key = {"default", "p"};
    of.uid = model::Uid{podObject("p")["metadata"]["uid"].str()};
    const auto lease =
        gs::testing::makeLease("node-a", first ? 1 : 0, of, "theirs", first ? "node-a:1" : "node-a:0");
    const std::string path = kLeases.substr(0, kLeases.size() - 1);
    EXPECT_EQ(world.request("POST", path, kapi::createLease(lease).body).code, 201);
    return sandbox::CallFault{};
  });
  json::Value p = pod("p", "", 1);
  p.child("spec").set("nodeSelector", json::Object{{"kubernetes.io/hostname", "node-a"}});
  world.create(p);
  ASSERT_TRUE(eventually([&] { return !allocated("p").empty(); }));
  const std::string has = allocated("p");
  const std::string own = kLeases + (has == "node-a:0" ? "gpu-node-a-0" : "gpu-node-a-1");
  world.run(3s);
  world.crash(0);
  ASSERT_EQ(world.request("DELETE", own, {}).code, 200);
  world.restart(0);
  ASSERT_TRUE(eventually([&] { return world.get(own)["kind"].str() == "Lease"; }, 60s))
      << "it is written again";
  EXPECT_EQ(world.get(own)["metadata"]["annotations"]["gpu.scheduling/devices"].str(), has);
  judge({});
  EXPECT_TRUE(eventually([&] { return leases() == 1; }, 60s));
  EXPECT_FALSE(warned("GpuAnnotationChanged")) << "nobody changed any";
}

/// A lease in our namespace that names a pod of another scheduler is not ours to delete, nor to act upon.
/// Somebody else bound it to node-b, when such a call leaves: what was leased for the decision here is not
/// what it has.
class BoundByOthers : public Guards, public ::testing::WithParamInterface<const char*> {
 protected:
  void bindWith(json::Object notes) {
    const std::string when = GetParam();
    atFirst(
        [when](const Call& call) { return when == "lease" ? createsLease(call) : call.subresource == when; },
        [this, notes = std::move(notes)] {
          const json::Object meta{{"name", "p"}, {"annotations", notes}};
          const json::Object target{{"kind", "Node"}, {"name", "node-b"}};
          const json::Value binding = json::Object{{"metadata", meta}, {"target", target}};
          EXPECT_EQ(world.request("POST", kPods + "p/binding", binding).code, 201);
        });
    world.create(pod("p", "", 2));
    ASSERT_TRUE(eventually([&] { return nodeOf("p") == "node-b"; }));
  }
};

TEST_P(BoundByOthers, WithoutNamesKeepsNoLeasesOfADecisionThatCameToNothing) {
  bindWith({});
  ASSERT_TRUE(eventually([&] { return leases() == 0; })) << "its Binding was not taken, so they go";
  EXPECT_EQ(allocated("p"), "");
  expectSettled();
  EXPECT_FALSE(warned("GpuAnnotationChanged")) << "nobody changed any";
}

/// As another leader does, whose leases are not heard of yet.
TEST_P(BoundByOthers, WithOtherNamesHasLeasesOfThoseOnly) {
  bindWith({{"gpu.scheduling/allocated", "node-b:2,3"},
            {"gpu.scheduling/visible-devices", "2,3"},
            {"gpu.scheduling/reservation", "theirs"}});
  const auto has = [&](const char* name) { return readTruth(world).leases.contains(name); };
  EXPECT_TRUE(eventually([&] { return has("default/gpu-node-b-2") && has("default/gpu-node-b-3"); }));
  expectSettled();
  EXPECT_EQ(leases(), 2U);
  EXPECT_FALSE(warned("GpuAnnotationChanged")) << "nobody changed any";
}
INSTANTIATE_TEST_SUITE_P(When, BoundByOthers, ::testing::Values("lease", "binding"));

/// Its node counts its GPUs and nobody names them. A lease that an earlier leader sent for it, and that lands
/// now, is not what it has.
TEST_F(Guards, ALeaseThatLandsLateIsNotWhatAPodOfACountHas) {
  world.create(*json::parse(
      R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"counted","labels":{"counts":"yes"}},
      "status":{"allocatable":{"cpu":"8","memory":"8Gi","pods":"10","nvidia.com/gpu":"2"},
                "conditions":[{"type":"Ready","status":"True"}]}})"));
  json::Value p = pod("p", "", 1);
  p.child("spec").set("nodeSelector", json::Object{{"counts", "yes"}});
  world.create(p);
  ASSERT_TRUE(eventually([&] { return nodeOf("p") == "counted"; })) << whyWaiting("p");
  EXPECT_EQ(allocated("p"), "");
  world.run(2s);  // objects say seconds
  world.create(leaseOf("p", "counted", 0));
  EXPECT_TRUE(eventually([&] { return leases() == 0; }, 70s));
  EXPECT_FALSE(warned("GpuAnnotationChanged")) << "nobody changed any";
}

/// A pod with a reservation and no ids may be one of a count, or one whose author took its ids away: leases
/// that were there when it was bound stay, else its GPUs would be given to others while its containers have
/// them.
TEST_F(Guards, WhoTakesHisIdsAndHisReservationAwayFreesNothing) {
  world.create(pod("p", "", 2));
  ASSERT_TRUE(eventually([&] { return !allocated("p").empty(); }));
  patch(kPods + "p",
        json::Object{{"metadata",
                      json::Object{{"annotations", json::Object{{"gpu.scheduling/allocated", nullptr},
                                                                {"gpu.scheduling/reservation", "mine"}}}}}});
  world.run(70s);
  EXPECT_EQ(leases(), 2U);
}

/// Whether the agent says which GPU the other pod got, or nobody does.
class Overtaken : public Guards, public ::testing::WithParamInterface<bool> {};

TEST_P(Overtaken, APodWhoseGpusOthersTookWhileItsLeasesWereWrittenIsDecidedAnew) {
  world.machines().setAgentDown("node-a", !GetParam());
  world.run(1s);
  json::Value theirs = pod("theirs", "", 1);
  theirs.child("spec").set("schedulerName", "default-scheduler");
  theirs.child("spec").set("nodeName", "node-a");
  const Mono until = world.now().mono + 1200ms;  // by then its agent has seen it
  judge([&, done = false](const Call& call) mutable {
    const bool reads = call.verb == kapi::Verb::Get && call.kind == kapi::kLease && world.now().mono < until;
    if (reads) { return sandbox::CallFault{.how = sandbox::CallFault::How::LostBefore}; }
    if (!createsLease(call) || std::exchange(done, true)) { return sandbox::CallFault{}; }
    world.after({}, [&] { world.create(theirs); });
    return sandbox::CallFault{.how = sandbox::CallFault::How::LostAfter};
  });
  world.create(claim("all", 4));
  json::Value p = pod("p", "all");
  p.child("spec").set("nodeSelector", json::Object{{"kubernetes.io/hostname", "node-a"}});
  world.create(p);
  world.run(60s);
  EXPECT_EQ(nodeOf("p"), "") << "4 GPUs, and another pod has one of them";
  EXPECT_EQ(bindings(), 0);
  finish("theirs");
  EXPECT_TRUE(eventually([&] { return nodeOf("p") == "node-a"; }, 180s)) << whyWaiting("p");
}
INSTANTIATE_TEST_SUITE_P(Named, Overtaken, ::testing::Bool());

TEST_F(Guards, LeasesOfPodsOfOtherSchedulersAreLeftAlone) {
  const std::size_t before = seen().size();
  for (const auto& [name, gpu] : {std::pair{"waits", 0}, std::pair{"runs", 1}, std::pair{"ended", 2}}) {
    json::Value p = pod(name, "");
    p.child("spec").set("schedulerName", "another");
    if (name == std::string{"runs"}) { p.child("spec").set("nodeName", "node-b"); }  // not where its lease is
    if (name == std::string{"ended"}) { p.child("spec").set("nodeName", "node-a"); }
    world.create(p);
    world.create(leaseOf(name, "node-a", gpu));
  }
  ASSERT_TRUE(eventually([&] { return podObject("ended")["status"]["phase"].str() == "Running"; }));
  finish("ended");
  world.run(70s);
  EXPECT_EQ(leases(), 3U);
  for (std::size_t i = before; i < seen().size(); ++i) {
    const Call& call = seen()[i];
    const bool writes = call.verb != Verb::Get && call.verb != Verb::List;
    EXPECT_FALSE(writes && (call.kind == kapi::kLease || call.kind == kapi::kPod)) << call.key.text();
  }
}

/// One node of 64 cpus, and more pods than a new leader reviews at its first event: those of the first
/// sweep's second half come after it.
class GuardsOfOneNode : public Guards {
 protected:
  static constexpr int kCandidates = 20;
  GuardsOfOneNode() : Guards{{.nodes = {kapi::defaultNodes().front()}}} {}

  static std::string nameOf(int i) { return "c" + std::to_string(i); }
  void gated(const std::string& name, const std::string& of_claim, const char* cpus) {
    json::Value p = pod(name, of_claim);
    json::Value container = p["spec"]["containers"].at(0);
    container.set("resources", json::Object{{"requests", json::Object{{"cpu", cpus}}}});
    p.child("spec").set("containers", json::Array{std::move(container)});
    p.child("spec").set("schedulingGates",
                        json::Array{json::Value{json::Object{{"name", "example.com/later"}}}});
    world.create(p);
  }
  void open(const std::string& name) {
    patch(kPods + name, json::Object{{"spec", json::Object{{"schedulingGates", json::Array{}}}}});
  }
  [[nodiscard]] std::string uidOf(const std::string& name) {
    return std::string{podObject(name)["metadata"]["uid"].str()};
  }
};

TEST_F(GuardsOfOneNode, NobodyIsPlacedBeforeAllThatWasLeftIsAdopted) {
  world.create(claim("one", 1));
  for (int i = 0; i < 1100; ++i) { gated("other" + std::to_string(i), "", "1"); }
  for (int i = 0; i < kCandidates; ++i) { gated(nameOf(i), "one", "40"); }
  std::map<std::string, std::string> names;  // by uid: so they are reviewed
  for (int i = 0; i < kCandidates; ++i) { names.emplace(uidOf(nameOf(i)), nameOf(i)); }
  const std::string left = names.rbegin()->second;
  const std::string early = names.begin()->second;
  judge([](const Call& call) { return sandbox::CallFault{.crash_before = call.subresource == "binding"}; });
  open(left);
  ASSERT_TRUE(eventually([&] { return leases() == 1 && !world.leader(); }));
  judge({});
  open(early);
  world.restart(0);
  ASSERT_TRUE(eventually([&] { return !nodeOf(left).empty() || !nodeOf(early).empty(); }));
  EXPECT_EQ(nodeOf(left), "node-a");
  EXPECT_EQ(nodeOf(early), "");
}

}  // namespace
}  // namespace gs::test
