// Claims by which pods find caches, through the whole operator.
#include <gtest/gtest.h>

#include "operator/operator_hand_test.h"

namespace gs::gkm {
namespace {

using namespace std::chrono_literals;
using kcache::Remark;
using kcache::State;

const model::ObjectKey kOne{"ns", "one"};
const model::ObjectKey kWide{"", "wide"};

std::string volumeOf(const model::ObjectKey& cache, const std::string& ns) {
  return kcache::volumeName(kcache::volumeHandle(cache, ns));
}

kapi::Outcome refused(int http, const char* reason, const char* message) {
  kapi::Outcome out;
  out.result = kapi::CallResult::Refused;
  out.http = http;
  out.reason = reason;
  out.message = message;
  out.is_status = true;
  return out;
}

class OperatorVolumes : public Hand {
 protected:
  void SetUp() override {
    makeNode("node-a");
    start();
  }
  [[nodiscard]] std::string ready(const model::ObjectKey& key) const {
    return remark(key, Remark::Kind::ClaimsReady);
  }
  void makeForeignClaim(const model::ObjectKey& key) {
    server.put(kVolumeClaim,
               json::Object{{"metadata", json::Object{{"name", key.name}, {"namespace", key.ns}}}});
  }
};

TEST_F(OperatorVolumes, ACacheThatAsksForNoneHasNone) {
  makeCache(kOne);
  live();
  EXPECT_TRUE(all(kVolumeClaim).empty());
  EXPECT_EQ(ready(kOne), "");
  EXPECT_EQ(find(kcache::kCache, kOne)->find("status")->find("pvcStatus"), nullptr);
}

TEST_F(OperatorVolumes, PodsFindACacheByAClaimOfItsNameUntilItGoes) {
  makeCache(kOne);
  ask(kOne, "accessModes", json::Array{"ReadOnlyMany"});
  live();
  EXPECT_EQ(phase(kVolumeClaim, kOne), "Bound");
  const model::ObjectKey volume{"", volumeOf(kOne, "ns")};
  EXPECT_EQ(phase(kVolume, volume), "Bound");
  EXPECT_EQ(ready(kOne), "True Bound: pods find it by PersistentVolumeClaim one");
  EXPECT_EQ(remark(kOne, Remark::Kind::FieldsUnused), "");
  EXPECT_EQ(cache(kOne)->status->claims.at("ns").volume, volume.name);

  used.insert(kOne);
  server.deleteSoftly(kcache::kCache, kOne);
  live();
  EXPECT_EQ(phase(kVolumeClaim, kOne), "Bound");  // a pod has it
  EXPECT_EQ(phase(kVolume, volume), "Bound");
  used.clear();
  live(10);
  EXPECT_TRUE(all(kVolumeClaim).empty());
  EXPECT_TRUE(all(kVolume).empty());
  EXPECT_FALSE(cache(kOne).has_value());
}

TEST_F(OperatorVolumes, WhileItIsDeletedItSaysThatPodsUseIt) {
  makeCache(kOne);
  ask(kOne, "pvc", true);
  say("ns", "node-a", {{"one", kDigestA, State::Running, 1}});
  used.insert(kOne);
  live();
  server.deleteSoftly(kcache::kCache, kOne);
  live();
  EXPECT_EQ(message(kOne), "Cache instance has been deleted but PVC is still in use by one or more pods");
}

TEST_F(OperatorVolumes, FieldsThatMeanNothingAreNamed) {
  makeCache(kOne);
  ask(kOne, "accessModes", json::Array{"ReadWriteOnce"});
  ask(kOne, "storageClassName", "standard");
  ask(kOne, "podTemplate", json::Object{});
  live();
  EXPECT_EQ(phase(kVolumeClaim, kOne), "Bound");
  EXPECT_EQ(
      remark(kOne, Remark::Kind::FieldsUnused),
      "True NotNeeded: spec.accessModes other than ReadOnlyMany, spec.podTemplate, "
      "spec.storageClassName means nothing here: the files come from each node's own store, for reading, "
      "without Jobs and storage classes");
}

TEST_F(OperatorVolumes, AClusterWideCacheHasOneInEachOfItsNamespaces) {
  makeCache(kWide);
  ask(kWide, "workloadNamespaces", json::Array{"a", "b"});
  live();
  EXPECT_EQ(all(kVolumeClaim), (std::vector<model::ObjectKey>{{"a", "wide"}, {"b", "wide"}}));
  EXPECT_EQ(all(kVolume).size(), 2U);
  EXPECT_TRUE(ready(kWide).starts_with("True Bound"));
  ask(kWide, "workloadNamespaces", json::Array{"b", "c"});
  live(10);
  EXPECT_EQ(all(kVolumeClaim), (std::vector<model::ObjectKey>{{"b", "wide"}, {"c", "wide"}}));
  EXPECT_EQ(all(kVolume).size(), 2U);
  EXPECT_EQ(cache(kWide)->status->claims.size(), 2U);
}

TEST_F(OperatorVolumes, ANamespaceThatIsNotThereIsNamedAndTriedAgain) {
  bool is_there = false;
  fate = [&](const kapi::Call& call) -> std::optional<kapi::Outcome> {
    const bool is_refused = !is_there && call.verb == kapi::Verb::Create && call.key.ns == "b";
    if (!is_refused) { return std::nullopt; }
    return refused(404, "NotFound", "namespaces \"b\" not found");
  };
  makeCache(kWide);
  ask(kWide, "workloadNamespaces", json::Array{"a", "b"});
  live();
  EXPECT_EQ(message(kWide), "Workload Namespace does not exist: b");
  EXPECT_EQ(ready(kWide),
            "False NoNamespace: namespace b is not there, or is being deleted (1 of 2 namespaces are ready)");
  const int tried = written("POST persistentvolumeclaims b");
  live(20);
  EXPECT_LE(written("PATCH clustergkmcaches wide status"), 4);  // what is so is said once
  EXPECT_GT(written("POST persistentvolumeclaims b") + 1, tried);
  is_there = true;
  live(40);
  EXPECT_EQ(message(kWide), "Not yet complete");
  EXPECT_TRUE(ready(kWide).starts_with("True Bound"));
}

TEST_F(OperatorVolumes, AClusterWideCacheWithoutNamespacesSaysThatItNeedsThem) {
  makeCache(kWide);
  ask(kWide, "accessModes", json::Array{"ReadOnlyMany"});
  live();
  EXPECT_EQ(ready(kWide),
            "False NoNamespace: spec.workloadNamespaces names none: name those whose pods mount it");
}

TEST_F(OperatorVolumes, AClaimOfSomebodyElseIsLeftAloneAndNamed) {
  makeForeignClaim(kOne);
  const json::Value before = *find(kVolumeClaim, kOne);
  makeCache(kOne);
  ask(kOne, "pvc", true);
  pass(60s);
  EXPECT_EQ(json::print(*find(kVolumeClaim, kOne)), json::print(before));
  EXPECT_TRUE(all(kVolume).empty());  // nothing that the control plane could bind to it
  EXPECT_TRUE(ready(kOne).starts_with("False NotOurs: PersistentVolumeClaim ns/one is there")) << ready(kOne);
  server.remove(kVolumeClaim, kOne);
  live(40);
  EXPECT_TRUE(ready(kOne).starts_with("True Bound"));
}

TEST_F(OperatorVolumes, WhatIsDeletedByHandComesAgain) {
  makeCache(kOne);
  ask(kOne, "pvc", true);
  live();
  server.deleteSoftly(kVolumeClaim, kOne);
  live(10);
  EXPECT_EQ(phase(kVolumeClaim, kOne), "Bound");
  server.deleteSoftly(kVolume, {"", volumeOf(kOne, "ns")});  // kept: it is bound
  live(10);
  EXPECT_EQ(phase(kVolumeClaim, kOne), "Bound");
  EXPECT_EQ(phase(kVolume, {"", volumeOf(kOne, "ns")}), "Bound");
  EXPECT_TRUE((*find(kVolume, {"", volumeOf(kOne, "ns")}))["metadata"]["deletionTimestamp"].isNull());
}

TEST_F(OperatorVolumes, ANewLeaderTakesAwayWhatIsOfNoCache) {
  makeCache(kOne);
  ask(kOne, "pvc", true);
  live();
  machine().stopTaking();
  server.remove(kcache::kCache, kOne);
  start();
  live(10);
  EXPECT_TRUE(all(kVolumeClaim).empty());
  EXPECT_TRUE(all(kVolume).empty());
}

TEST_F(OperatorVolumes, WhatIsComingIsDownloading) {
  makeCache(kOne);
  ask(kOne, "pvc", true);
  say("ns", "node-a", {{"one", kDigestA, State::Pending}});
  live();
  EXPECT_EQ(message(kOne), "Job to extract Kernel Cache in progress");
  EXPECT_EQ(cache(kOne)->status->claims.at("ns").condition->state, State::Downloading);
  makeCache({"ns", "plain"});
  say("ns", "node-a", {{"one"}, {"plain", kDigestA, State::Pending}});
  live();
  EXPECT_EQ(message({"ns", "plain"}), "Not yet complete");
  EXPECT_EQ(message(kOne), "The Kernel Cache has been extracted onto the host");
}

TEST_F(OperatorVolumes, WithoutTheRightToListThemAllElseGoesOn) {
  fate = [](const kapi::Call& call) -> std::optional<kapi::Outcome> {
    if (call.kind != kVolume && call.kind != kVolumeClaim) { return std::nullopt; }
    return refused(403, "Forbidden", "may not");
  };
  start();
  makeCache(kOne);
  ask(kOne, "pvc", true);
  live();
  EXPECT_EQ(message(kOne), "Not yet complete");
  EXPECT_TRUE(machine().readiness().starts_with("1")) << machine().readiness();
  EXPECT_NE(machine().readiness().find("persistentvolumes: may not be listed"), std::string::npos)
      << machine().readiness();
}

}  // namespace
}  // namespace gs::gkm
