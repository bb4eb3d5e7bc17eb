// Claims of devices and their pods, on the API server in memory.
#include "sandbox/controllers/device_claims.h"

#include <gtest/gtest.h>

#include <string>

#include "apiserver/handlers/api.h"
#include "sandbox/controllers/controllers.h"

namespace gs::sandbox::controllers {
namespace {

using namespace std::chrono_literals;
using json::Object;
using json::Value;

class DeviceClaimsTest : public testing::Test {
 protected:
  static constexpr const char* kGroup = "/apis/resource.k8s.io/v1/namespaces/default/";

  static Value read(const std::string& text) { return json::parse(text).value(); }
  int send(const char* method, const std::string& path, Value body = {},
           const char* type = "application/json") {
    const auto answer = api_.handle({method, path, type, std::move(body)}, clock_.now());
    EXPECT_LT(answer.code, 400) << path << json::print(answer.body);
    for (Duration passed{}; passed < 1s; passed += 10ms) {
      clock_.advance(10ms);
      controllers_.tick(clock_.now());
    }
    return answer.code;
  }
  void merge(const std::string& path, const char* body) {
    send("PATCH", path, read(body), "application/merge-patch+json");
  }
  Value get(const std::string& path) {
    return api_.handle({"GET", path, "application/json", {}}, clock_.now()).body;
  }
  static std::string podPath(const char* name) {
    return std::string{"/api/v1/namespaces/default/pods/"} + name;
  }
  static std::string claimPath(const std::string& name) {
    return std::string{kGroup} + "resourceclaims/" + name;
  }
  bool isThere(const std::string& path) { return get(path)["kind"].str() != "Status"; }

  void makePod(const char* name, const char* claims) {
    Value pod = read(R"({"spec": {"containers": [{"name": "m", "image": "i", "resources":
        {"limits": {"x.io/gpu": 1}}}]}})");
    pod.set("metadata", Object{{"name", name}});
    pod.child("spec").set("resourceClaims", read(claims));
    send("POST", "/api/v1/namespaces/default/pods", std::move(pod));
  }
  void makeTemplate() {
    send("POST", std::string{kGroup} + "resourceclaimtemplates",
         read(R"({"metadata": {"name": "t"}, "spec": {"metadata": {"labels": {"l": "m"},
              "annotations": {"a": "b"}}, "spec": {"devices": {"requests": [{"name": "r", "exactly":
              {"deviceClassName": "gpu"}}]}}}})"));
  }
  void makeClaim(const char* name, const char* more = "{}") {
    Value claim = read(R"({"spec": {"devices": {"requests": [{"name": "r", "exactly":
        {"deviceClassName": "gpu"}}]}}})");
    Value meta = read(more);
    meta.set("name", name);
    claim.set("metadata", std::move(meta));
    send("POST", std::string{kGroup} + "resourceclaims", std::move(claim));
  }
  /// For these pods, as a scheduler does it.
  void allocate(const std::string& claim, const std::vector<const char*>& pods) {
    merge(claimPath(claim), R"({"metadata": {"finalizers": ["resource.kubernetes.io/delete-protection"]}})");
    Value now = get(claimPath(claim));
    now.set("status", read(R"({"allocation": {"devices": {"results": [{"request": "r", "driver": "d",
        "pool": "n", "device": "g"}]}}})"));
    for (const char* pod : pods) {
      now.child("status")
          .child("reservedFor")
          .array()
          .emplace_back(
              Object{{"resource", "pods"}, {"name", pod}, {"uid", get(podPath(pod))["metadata"]["uid"]}});
    }
    send("PUT", claimPath(claim) + "/status", std::move(now));
  }
  void bindPod(const char* pod) {
    send("POST", podPath(pod) + "/binding",
         Object{{"metadata", Object{{"name", pod}}}, {"target", Object{{"name", "n"}}}});
  }
  void finish(const char* pod) { merge(podPath(pod) + "/status", R"({"status": {"phase": "Succeeded"}})"); }
  std::string generated(const char* pod) {
    return std::string{get(podPath(pod))["status"]["resourceClaimStatuses"].at(0)["resourceClaimName"].str()};
  }
  std::size_t consumers(const std::string& claim) {
    return get(claimPath(claim))["status"]["reservedFor"].items().size();
  }

  ManualClock clock_;
  apiserver::Api api_{Rng{1}, clock_.now()};
  Controllers controllers_{api_};
};

TEST_F(DeviceClaimsTest, APodOfATemplateGetsAClaimOfItsOwn) {
  makeTemplate();
  makePod("p", R"([{"name": "c", "resourceClaimTemplateName": "t"}])");
  const std::string name = generated("p");
  EXPECT_TRUE(name.starts_with("p-c-")) << name;
  const Value claim = get(claimPath(name));
  const Value& meta = claim["metadata"];
  EXPECT_EQ(json::print(meta["annotations"]), R"({"a":"b","resource.kubernetes.io/pod-claim-name":"c"})");
  EXPECT_EQ(json::print(meta["labels"]), R"({"l":"m"})");
  EXPECT_EQ(meta["ownerReferences"].at(0)["uid"], get(podPath("p"))["metadata"]["uid"]);
  EXPECT_TRUE(meta["ownerReferences"].at(0)["controller"].boolOr(false));
  EXPECT_EQ(claim["spec"]["devices"]["requests"].items().size(), 1U);
  EXPECT_EQ(get(std::string{kGroup} + "resourceclaims")["items"].items().size(), 1U);
}

TEST_F(DeviceClaimsTest, ItGetsItLateWhereTheTemplateComesLate) {
  makePod("p", R"([{"name": "c", "resourceClaimTemplateName": "t"}])");
  EXPECT_EQ(generated("p"), "");
  const Value events = get("/api/v1/namespaces/default/events");
  EXPECT_EQ(events["items"].at(0)["message"].str(),
            "PodResourceClaim c: resource claim template \"t\": resourceclaimtemplate.resource.k8s.io \"t\" "
            "not found");
  makeTemplate();
  send("GET", podPath("p"));
  EXPECT_NE(generated("p"), "");
}

TEST_F(DeviceClaimsTest, AClaimThatIsThereIsNamedAgainAndOneThatIsGoneIsMadeAnew) {
  makeTemplate();
  makePod("p", R"([{"name": "c", "resourceClaimTemplateName": "t"}])");
  const std::string first = generated("p");
  merge(podPath("p") + "/status", R"({"status": {"resourceClaimStatuses": []}})");
  EXPECT_EQ(generated("p"), first);
  send("DELETE", claimPath(first));
  merge(podPath("p"), R"({"metadata": {"labels": {"a": "b"}}})");
  EXPECT_NE(generated("p"), first);
  EXPECT_TRUE(isThere(claimPath(generated("p"))));
}

TEST_F(DeviceClaimsTest, AStatusWithoutANameSaysThatNoneIsNeeded) {
  makePod("p", R"([{"name": "c", "resourceClaimTemplateName": "t"}])");
  merge(podPath("p") + "/status", R"({"status": {"resourceClaimStatuses": [{"name": "c"}]}})");
  makeTemplate();
  for (int i = 0; i < 60; ++i) { send("GET", podPath("p")); }
  EXPECT_EQ(get(std::string{kGroup} + "resourceclaims")["items"].items().size(), 0U);
}

TEST_F(DeviceClaimsTest, TheClaimOfAPodThatEndedGoes) {
  makeTemplate();
  makePod("p", R"([{"name": "c", "resourceClaimTemplateName": "t"}])");
  const std::string name = generated("p");
  allocate(name, {"p"});
  bindPod("p");
  EXPECT_EQ(consumers(name), 1U);
  finish("p");
  EXPECT_FALSE(isThere(claimPath(name)));
  EXPECT_TRUE(isThere(podPath("p")));
}

TEST_F(DeviceClaimsTest, ASharedClaimIsGivenBackWithItsLastPod) {
  makeClaim("shared");
  for (const char* pod : {"p", "q"}) {
    makePod(pod, R"([{"name": "c", "resourceClaimName": "shared"}])");
    bindPod(pod);
  }
  allocate("shared", {"p", "q"});
  finish("p");
  EXPECT_EQ(consumers("shared"), 1U);
  EXPECT_TRUE(get(claimPath("shared"))["status"]["allocation"].isObject());
  send("DELETE", podPath("q") + "?gracePeriodSeconds=0");
  const Value claim = get(claimPath("shared"));
  EXPECT_EQ(json::print(claim["status"]), "{}");
  EXPECT_EQ(claim["metadata"]["finalizers"].items().size(), 0U);
}

TEST_F(DeviceClaimsTest, WhoUsesAnAllocatedClaimReservesItWhenBound) {
  makeClaim("shared");
  makePod("p", R"([{"name": "c", "resourceClaimName": "shared"}])");
  allocate("shared", {});
  EXPECT_EQ(consumers("shared"), 0U);
  bindPod("p");
  EXPECT_EQ(consumers("shared"), 1U);
}

TEST_F(DeviceClaimsTest, AnExtendedClaimGoesWithItsPod) {
  makePod("p", "null");
  const Value uid = get(podPath("p"))["metadata"]["uid"];
  makeClaim("e", (R"({"annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
                "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "controller": true,
                "uid": ")" +
                  std::string{uid.str()} + R"("}]})")
                     .c_str());
  allocate("e", {"p"});
  merge(podPath("p") + "/status",
        R"({"status": {"extendedResourceClaimStatus": {"resourceClaimName": "e", "requestMappings": [
            {"containerName": "m", "resourceName": "x.io/gpu", "requestName": "r"}]}}})");
  bindPod("p");
  EXPECT_TRUE(isThere(claimPath("e")));
  finish("p");
  EXPECT_FALSE(isThere(claimPath("e")));
}

TEST_F(DeviceClaimsTest, OneThatIsInUseIsNotDeletedBefore) {
  makeClaim("c");
  makePod("p", R"([{"name": "c", "resourceClaimName": "c"}])");
  allocate("c", {"p"});
  send("DELETE", claimPath("c"));
  EXPECT_TRUE(isThere(claimPath("c")));
  send("DELETE", podPath("p"));
  EXPECT_FALSE(isThere(claimPath("c")));
}

TEST_F(DeviceClaimsTest, WhatIsNoPodStays) {
  makeClaim("c");
  allocate("c", {});
  merge(claimPath("c") + "/status",
        R"({"status": {"reservedFor": [{"apiGroup": "x.io", "resource": "things", "name": "a", "uid": "b"},
            {"resource": "pods", "name": "gone", "uid": "u"}]}})");
  EXPECT_EQ(consumers("c"), 1U);
  EXPECT_TRUE(get(claimPath("c"))["status"]["allocation"].isObject());
}

}  // namespace
}  // namespace gs::sandbox::controllers
