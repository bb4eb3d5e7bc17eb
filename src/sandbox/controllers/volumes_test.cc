// Claims and volumes that name each other, on the API server in memory.
#include "sandbox/controllers/volumes.h"

#include <gtest/gtest.h>

#include "apiserver/handlers/api.h"
#include "sandbox/controllers/controllers.h"

namespace gs::sandbox::controllers {
namespace {

using namespace std::chrono_literals;
using json::Array;
using json::Object;
using json::Value;

constexpr const char* kClaimPath = "/api/v1/namespaces/default/persistentvolumeclaims";
constexpr const char* kVolumePath = "/api/v1/persistentvolumes";
constexpr const char* kPodPath = "/api/v1/namespaces/default/pods";

class VolumesTest : public testing::Test {
 protected:
  int send(const char* method, const std::string& path, Value body = {}) {
    const auto answer = api_.handle({method, path, "application/json", std::move(body)}, clock_.now());
    EXPECT_LT(answer.code, 500) << json::print(answer.body);
    run(1s);
    return answer.code;
  }
  Value get(const std::string& path) {
    return api_.handle({"GET", path, "application/json", {}}, clock_.now()).body;
  }
  std::string phase(const std::string& path) { return std::string{get(path)["status"]["phase"].str()}; }
  void run(Duration by) {
    for (Duration passed{}; passed < by; passed += 10ms) {
      clock_.advance(10ms);
      controllers_.tick(clock_.now());
    }
  }
  int makeClaim(const char* volume) {
    Value spec = Object{{"accessModes", Array{"ReadOnlyMany"}},
                        {"storageClassName", ""},
                        {"resources", Object{{"requests", Object{{"storage", "1Gi"}}}}}};
    if (*volume != 0) { spec.set("volumeName", volume); }
    return send("POST", kClaimPath, Object{{"metadata", Object{{"name", "c"}}}, {"spec", spec}});
  }
  int makeVolume(const char* name, Value claim_ref) {
    Value spec = Object{{"accessModes", Array{"ReadOnlyMany"}},
                        {"capacity", Object{{"storage", "2Gi"}}},
                        {"csi", Object{{"driver", "d"}, {"volumeHandle", "h"}}}};
    if (!claim_ref.isNull()) { spec.set("claimRef", std::move(claim_ref)); }
    return send("POST", kVolumePath, Object{{"metadata", Object{{"name", name}}}, {"spec", spec}});
  }
  Value refTo(const std::string& uid) {
    Value out = Object{{"namespace", "default"}, {"name", "c"}};
    if (!uid.empty()) { out.set("uid", uid); }
    return out;
  }
  std::string claimUid() { return std::string{get(claim_)["metadata"]["uid"].str()}; }

  const std::string claim_ = std::string{kClaimPath} + "/c";
  const std::string volume_ = std::string{kVolumePath} + "/v";
  ManualClock clock_;
  apiserver::Api api_{Rng{1}, clock_.now()};
  Controllers controllers_{api_};
};

TEST_F(VolumesTest, AClaimAndAVolumeThatNameEachOtherAreBound) {
  ASSERT_EQ(makeClaim("v"), 201);
  EXPECT_EQ(phase(claim_), "Pending");
  ASSERT_EQ(makeVolume("v", refTo(claimUid())), 201);
  EXPECT_EQ(phase(claim_), "Bound");
  EXPECT_EQ(phase(volume_), "Bound");
  EXPECT_EQ(get(claim_)["status"]["capacity"]["storage"].str(), "2Gi");
}

TEST_F(VolumesTest, OneThatNamesAClaimWithoutItsUidIsGivenIt) {
  ASSERT_EQ(makeVolume("v", refTo("")), 201);
  EXPECT_EQ(phase(volume_), "Available");
  ASSERT_EQ(makeClaim(""), 201);
  EXPECT_EQ(phase(claim_), "Bound");
  EXPECT_EQ(get(claim_)["spec"]["volumeName"].str(), "v");
  EXPECT_EQ(get(volume_)["spec"]["claimRef"]["uid"].str(), claimUid());
}

TEST_F(VolumesTest, OneThatIsForAnotherClaimOfThatNameIsNotTaken) {
  ASSERT_EQ(makeVolume("v", refTo("another")), 201);
  ASSERT_EQ(makeClaim("v"), 201);
  EXPECT_EQ(phase(claim_), "Pending");
  EXPECT_EQ(phase(volume_), "Released");
}

TEST_F(VolumesTest, WhatPodsUseStaysUntilTheyEnd) {
  ASSERT_EQ(makeClaim("v"), 201);
  ASSERT_EQ(makeVolume("v", refTo(claimUid())), 201);
  const Value pod = Object{
      {"metadata", Object{{"name", "p"}}},
      {"spec", Object{{"nodeName", "n"},
                      {"containers", Array{Object{{"name", "c"}, {"image", "i"}}}},
                      {"volumes", Array{Object{{"name", "k"},
                                               {"persistentVolumeClaim", Object{{"claimName", "c"}}}}}}}}};
  ASSERT_EQ(send("POST", kPodPath, pod), 201);
  ASSERT_EQ(send("DELETE", claim_), 200);
  ASSERT_EQ(send("DELETE", volume_), 200);
  EXPECT_FALSE(get(claim_)["metadata"]["deletionTimestamp"].isNull());
  EXPECT_EQ(phase(volume_), "Bound");
  (void)send("DELETE", std::string{kPodPath} + "/p?gracePeriodSeconds=0");
  EXPECT_EQ(get(claim_)["code"].intOr(0), 404);
  EXPECT_EQ(get(volume_)["code"].intOr(0), 404);
}

TEST_F(VolumesTest, AVolumeWhoseClaimWentIsReleasedAndItsClaimsNextIsNotBoundToIt) {
  ASSERT_EQ(makeClaim("v"), 201);
  ASSERT_EQ(makeVolume("v", refTo(claimUid())), 201);
  ASSERT_EQ(send("DELETE", claim_), 200);
  EXPECT_EQ(phase(volume_), "Released");
  ASSERT_EQ(makeClaim("v"), 201);
  EXPECT_EQ(phase(claim_), "Pending");
}

TEST_F(VolumesTest, AClaimThatLostItsVolumeSaysSo) {
  ASSERT_EQ(makeClaim("v"), 201);
  ASSERT_EQ(makeVolume("v", refTo(claimUid())), 201);
  // The volume goes at once only by force: its finalizer is taken off.
  Value volume = get(volume_);
  volume.child("metadata").erase("finalizers");
  ASSERT_EQ(send("PUT", volume_, volume), 200);
  ASSERT_EQ(send("DELETE", volume_), 200);
  EXPECT_EQ(phase(claim_), "Lost");
  ASSERT_EQ(makeVolume("v", refTo(claimUid())), 201);
  EXPECT_EQ(phase(claim_), "Bound");
}

}  // namespace
}  // namespace gs::sandbox::controllers
