// A claim that is accepted although something of it does nothing: who writes it is warned by the
// sandbox's API server, and the scheduler says it in an event, once.
#include "test/world/cluster.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;
using json::Array;
using json::Object;
using json::Value;

constexpr const char* kClaims = "/apis/gpu.scheduling/v1/namespaces/default/gpuclaims";
constexpr const char* kMerge = "application/merge-patch+json";
using Texts = std::vector<std::string>;

class ClaimOddities : public Cluster {
 protected:
  ClaimOddities() : Cluster{withWebhook()} {}
  static Value spec(const char* name, Value devices, Value topology = {}) {
    Value out = claim(name, 1);
    out.set("spec", Object{{"devices", std::move(devices)}});
    if (!topology.isNull()) { out.child("spec").set("topology", std::move(topology)); }
    return out;
  }
  apiserver::Response post(const Value& object) {
    auto answer = world.request("POST", kClaims, object);
    EXPECT_EQ(answer.code, 201) << json::print(answer.body);
    return answer;
  }
  apiserver::Response patch(const std::string& name, Value devices, const char* type = kMerge) {
    Value body = Object{{"apiVersion", "gpu.scheduling/v1"},
                        {"kind", "GpuClaim"},
                        {"metadata", Object{{"name", name}}},
                        {"spec", Object{{"devices", std::move(devices)}}}};
    std::string target = std::string{kClaims} + "/" + name;
    if (type != std::string_view{kMerge}) { target += "?fieldManager=me&force=true"; }
    auto answer = world.request("PATCH", std::move(target), std::move(body), type);
    EXPECT_TRUE(answer.code == 200 || answer.code == 201) << json::print(answer.body);
    return answer;
  }
  apiserver::Response remove(const std::string& name) {
    auto answer = world.request("DELETE", std::string{kClaims} + "/" + name);
    EXPECT_EQ(answer.code, 200) << json::print(answer.body);
    return answer;
  }
  /// What events about that claim say, in order.
  Texts told(const std::string& name) {
    Texts out;
    const Value list = world.get("/apis/events.k8s.io/v1/namespaces/default/events");
    for (const auto& event : list["items"].items()) {
      if (event["regarding"]["kind"].str() != "GpuClaim" || event["regarding"]["name"].str() != name) {
        continue;
      }
      EXPECT_EQ(event["type"].str(), "Warning");
      EXPECT_TRUE(event["series"].isNull()) << "said once";
      out.emplace_back(event["note"].str());
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  void placed(const std::string& pod_name, const std::string& of_claim) {
    world.create(pod(pod_name, of_claim));
    ASSERT_TRUE(eventually([&] { return !allocated(pod_name).empty(); })) << pod_name;
  }
};

Value ids(std::initializer_list<int> list) {
  Array out;
  for (const int id : list) { out.emplace_back(id); }
  return Object{{"preferIds", std::move(out)}};
}

constexpr const char* kIdsIgnored =
    "spec.devices.preferIds [0,1] is ignored: spec.devices.policy is contiguous; set policy: preferIds, or "
    "remove preferIds";

TEST_F(ClaimOddities, EachWayToWriteOneIsWarnedOfAndAccepted) {
  EXPECT_EQ(post(claim("plain", 2)).warnings, Texts{});
  EXPECT_EQ(post(spec("made", ids({0, 1}))).warnings, Texts{kIdsIgnored});
  EXPECT_EQ(post(spec("linked", Object{}, Object{{"minBandwidthGBps", 300}})).warnings,
            Texts{"spec.topology.minBandwidthGBps 300 is only preferred: spec.topology.mode is Preferred, so "
                  "slower GPUs are given where no such are free; set mode: Required to wait for them"});
  EXPECT_EQ(patch("plain", ids({0, 1})).warnings, Texts{kIdsIgnored});
  EXPECT_EQ(patch("plain", Object{{"policy", "preferIds"}}).warnings, Texts{}) << "and it is used";
  EXPECT_EQ(patch("applied", ids({0, 1}), "application/apply-patch+yaml").warnings, Texts{kIdsIgnored});
  Value whole = world.get(std::string{kClaims} + "/made");
  whole.child("spec").child("devices").set("policy", "preferIds");
  whole.child("spec").child("devices").erase("preferIds");
  EXPECT_EQ(
      world.request("PUT", std::string{kClaims} + "/made", whole).warnings,
      Texts{"spec.devices.policy preferIds is ignored: spec.devices.preferIds names no GPU, so they are "
            "chosen as with contiguous; list their ids, or set policy: contiguous"});
}

TEST_F(ClaimOddities, AStatusWriteIsNotWarnedOf) {
  post(spec("odd", ids({0, 1})));
  const Value status = Object{{"status", Object{{"phase", "Pending"}}}};
  const auto answer = world.request("PATCH", std::string{kClaims} + "/odd/status", status, kMerge);
  EXPECT_EQ(answer.code, 200);
  EXPECT_EQ(answer.warnings, Texts{});
}

TEST_F(ClaimOddities, AnOddSpecIsOneEventAlsoOfTheNextLeader) {
  startOne();
  post(spec("odd", ids({0, 1})));
  world.run(90s);
  EXPECT_EQ(told("odd"), Texts{kIdsIgnored});
  placed("p", "odd");
  world.request("PATCH", std::string{kClaims} + "/odd",
                Object{{"metadata", Object{{"labels", Object{{"a", "b"}}}}}}, kMerge);
  world.run(90s);
  EXPECT_EQ(told("odd"), Texts{kIdsIgnored}) << "nothing of that changed";
  world.crash(0);
  world.restart(0);
  world.run(90s);
  EXPECT_EQ(told("odd"), Texts{kIdsIgnored}) << "the event has the name of its content";
}

TEST_F(ClaimOddities, AnotherOddityIsAnotherEvent) {
  startOne();
  post(spec("odd", ids({0, 1})));
  world.run(5s);
  patch("odd", ids({2}));
  world.run(5s);
  EXPECT_EQ(told("odd").size(), 2U);
  remove("odd");
  post(spec("odd", ids({2})));
  world.run(5s);
  EXPECT_EQ(told("odd").size(), 3U) << "another claim of that name";
}

TEST_F(ClaimOddities, ACountThatWasRaisedUnderARunningPod) {
  startOne();
  world.create(claim("c", 1));
  placed("p", "c");
  const char* text =
      "spec.devices.count is 2 and 1 pod with another number of GPUs runs: p (1); a running pod keeps what "
      "it "
      "was given: delete it and create it again";
  EXPECT_EQ(patch("c", Object{{"count", 2}}).warnings, Texts{text});
  EXPECT_EQ(patch("c", Object{{"policy", "spread"}}).warnings, Texts{}) << "the count stays";
  world.run(90s);
  EXPECT_EQ(told("c"), Texts{text});
  placed("q", "c");
  world.run(90s);
  EXPECT_EQ(told("c"), Texts{text}) << "pods come and go, and the count is as it was";
  EXPECT_EQ(allocated("p").find(','), std::string::npos) << "it has one GPU still";
}

TEST_F(ClaimOddities, ADeletionInUseNamesThePods) {
  startOne();
  world.create(claim("c", 1));
  world.create(claim("unused", 1));
  placed("p", "c");
  placed("q", "c");
  const char* text =
      "gpuclaim \"c\" is deleted while 2 pods have GPUs by it: p, q; what runs keeps its GPUs until it ends, "
      "and any other pod that names the claim waits: create it again for those";
  EXPECT_EQ(remove("unused").warnings, Texts{});
  EXPECT_EQ(remove("c").warnings, Texts{text});
  world.run(90s);
  EXPECT_EQ(told("c"), Texts{text});
  EXPECT_EQ(told("unused"), Texts{});
  EXPECT_FALSE(allocated("p").empty());
}

TEST_F(ClaimOddities, WhoDeletesPodsAndClaimTogetherIsNotWarned) {
  startOne();
  world.create(claim("c", 1));
  placed("p", "c");
  deletePod("p");
  EXPECT_EQ(remove("c").warnings, Texts{});
  world.run(90s);
  EXPECT_EQ(told("c"), Texts{});
}

/// However many odd claims one namespace has, another one's is said at once, and no more than ten a second.
TEST_F(ClaimOddities, ANamespaceFullOfThemKeepsNobodyWaiting) {
  startOne();
  constexpr int kMany = 300;
  for (int i = 0; i < kMany; ++i) { post(spec(("odd-" + std::to_string(i)).c_str(), ids({0, 1}))); }
  world.create(Object{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", Object{{"name", "other"}}}});
  Value others = spec("odd", ids({0, 1}));
  others.child("metadata").set("namespace", "other");
  world.create(others);
  const auto saidIn = [&](const std::string& ns) {
    std::size_t n = 0;
    const Value list = world.get("/apis/events.k8s.io/v1/namespaces/" + ns + "/events");
    for (const auto& event : list["items"].items()) { n += event["reason"].str() == "ClaimFieldIgnored"; }
    return n;
  };
  world.run(1s);
  EXPECT_EQ(saidIn("other"), 1U);
  EXPECT_LE(saidIn("default"), 11U);
  world.run(40s);
  EXPECT_EQ(saidIn("default"), std::size_t{kMany}) << "and all are said in the end";
}

}  // namespace
}  // namespace gs::test
