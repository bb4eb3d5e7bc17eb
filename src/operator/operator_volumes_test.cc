// Claims by which pods find caches, through the whole operator.
#include <gtest/gtest.h>

#include "operator/operator_hand_test.h"

namespace gs::gkm {
namespace {

using namespace std::chrono_literals;
using kcache::Remark;
using kcache::State;

const model::ObjectKey kFound{"ns", "one"};
const model::ObjectKey kFoundWide{"", "wide"};

std::string volumeNameOf(const model::ObjectKey& cache, const std::string& ns) {
  return kcache::volumeName(kcache::volumeHandle(cache, ns));
}

kapi::Outcome refusal(int http, const char* reason, const char* message) {
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
  makeCache(kFound);
  live();
  EXPECT_TRUE(all(kVolumeClaim).empty());
  EXPECT_EQ(ready(kFound), "");
  EXPECT_EQ(find(kcache::kCache, kFound)->find("status")->find("pvcStatus"), nullptr);
}

TEST_F(OperatorVolumes, PodsFindACacheByAClaimOfItsNameUntilItGoes) {
  makeCache(kFound);
  ask(kFound, "accessModes", json::Array{"ReadOnlyMany"});
  live();
  EXPECT_EQ(phase(kVolumeClaim, kFound), "Bound");
  const model::ObjectKey volume{"", volumeNameOf(kFound, "ns")};
  EXPECT_EQ(phase(kVolume, volume), "Bound");
  EXPECT_EQ(ready(kFound), "True Bound: pods find it by PersistentVolumeClaim one");
  EXPECT_EQ(remark(kFound, Remark::Kind::FieldsUnused), "");
  EXPECT_EQ(cache(kFound)->status->claims.at("ns").volume, volume.name);

  used.insert(kFound);
  conductAll();
  server.deleteSoftly(kcache::kCache, kFound);
  live();
  EXPECT_EQ(phase(kVolumeClaim, kFound), "Bound");  // a pod has it
  EXPECT_EQ(phase(kVolume, volume), "Bound");
  used.clear();
  live(10);
  EXPECT_TRUE(all(kVolumeClaim).empty());
  EXPECT_TRUE(all(kVolume).empty());
  EXPECT_FALSE(cache(kFound).has_value());
}

TEST_F(OperatorVolumes, WhileItIsDeletedItSaysThatPodsUseIt) {
  makeCache(kFound);
  ask(kFound, "pvc", true);
  say("ns", "node-a", {{"one", kDigestA, State::Running, 1}});
  used.insert(kFound);
  live();
  server.deleteSoftly(kcache::kCache, kFound);
  live();
  EXPECT_EQ(message(kFound), "Cache instance has been deleted but PVC is still in use by one or more pods");
}

TEST_F(OperatorVolumes, FieldsThatMeanNothingAreNamed) {
  makeCache(kFound);
  ask(kFound, "accessModes", json::Array{"ReadWriteOnce"});
  ask(kFound, "storageClassName", "standard");
  ask(kFound, "podTemplate", json::Object{});
  live();
  EXPECT_EQ(phase(kVolumeClaim, kFound), "Bound");
  EXPECT_EQ(
      remark(kFound, Remark::Kind::FieldsUnused),
      "True NotNeeded: spec.accessModes other than ReadOnlyMany, spec.podTemplate, "
      "spec.storageClassName means nothing here: the files come from each node's own store, for reading, "
      "without Jobs and storage classes");
}

// The shapes of GKM's newest examples (test/testbed/contract/gkm-head), which real nodes get too.
TEST_F(OperatorVolumes, CachesOfTheNewestExamplesGetWhatTheirPodsName) {
  struct Row {
    model::ObjectKey cache;
    json::Value spec;
    std::vector<model::ObjectKey> claims;
    const char* unused;
  };
  const std::vector<Row> rows{
      {{"caches-1", "vector-add"},
       json::Object{{"image", "registry.example/caches/vector-add:v1"},
                    {"accessModes", json::Array{"ReadOnlyMany"}}},
       {{"caches-1", "vector-add"}},
       ""},
      {{"", "vector-add-everywhere"},
       json::Object{{"image", "registry.example/caches/vector-add:v1"},
                    {"workloadNamespaces", json::Array{"caches-1", "caches-2"}}},
       {{"caches-1", "vector-add-everywhere"}, {"caches-2", "vector-add-everywhere"}},
       ""},
      {{"caches-1", "all-fields"},
       json::Object{{"image", "registry.example/caches/vector-add:v1"},
                    {"accessModes", json::Array{"ReadWriteOnce"}},
                    {"storageClassName", "standard"},
                    {"podTemplate", json::Object{{"spec", json::Object{{"tolerations", json::Array{}}}}}}},
       {{"caches-1", "all-fields"}},
       "True NotNeeded: spec.accessModes other than ReadOnlyMany, spec.podTemplate, spec.storageClassName"},
      {{"caches-1", "llama"}, json::Object{{"image", "registry.example/caches/llama:v1"}}, {}, ""},
  };
  std::size_t claims = 0;
  for (const Row& row : rows) {
    makeCache(row.cache);
    for (const auto& [field, value] : row.spec.members()) { ask(row.cache, field, value); }
    live();
    for (const auto& claim : row.claims) { EXPECT_EQ(phase(kVolumeClaim, claim), "Bound") << claim.text(); }
    claims += row.claims.size();
    EXPECT_EQ(all(kVolumeClaim).size(), claims) << row.cache.text() << ": no others";
    EXPECT_EQ(ready(row.cache).starts_with("True Bound"), !row.claims.empty()) << ready(row.cache);
    EXPECT_TRUE(remark(row.cache, Remark::Kind::FieldsUnused).starts_with(row.unused)) << row.cache.text();
    if (*row.unused == '\0') { EXPECT_EQ(remark(row.cache, Remark::Kind::FieldsUnused), ""); }
  }
}

TEST_F(OperatorVolumes, AClusterWideCacheHasOneInEachOfItsNamespaces) {
  makeCache(kFoundWide);
  ask(kFoundWide, "workloadNamespaces", json::Array{"a", "b"});
  live();
  EXPECT_EQ(all(kVolumeClaim), (std::vector<model::ObjectKey>{{"a", "wide"}, {"b", "wide"}}));
  EXPECT_EQ(all(kVolume).size(), 2U);
  EXPECT_TRUE(ready(kFoundWide).starts_with("True Bound"));
  ask(kFoundWide, "workloadNamespaces", json::Array{"b", "c"});
  live(10);
  EXPECT_EQ(all(kVolumeClaim), (std::vector<model::ObjectKey>{{"b", "wide"}, {"c", "wide"}}));
  EXPECT_EQ(all(kVolume).size(), 2U);
  EXPECT_EQ(cache(kFoundWide)->status->claims.size(), 2U);
}

TEST_F(OperatorVolumes, ANamespaceThatIsNotThereIsNamedAndTriedAgain) {
  bool is_there = false;
  fate = [&](const kapi::Call& call) -> std::optional<kapi::Outcome> {
    const bool is_refused = !is_there && call.verb == kapi::Verb::Create && call.key.ns == "b";
    if (!is_refused) { return std::nullopt; }
    return refusal(404, "NotFound", "namespaces \"b\" not found");
  };
  makeCache(kFoundWide);
  ask(kFoundWide, "workloadNamespaces", json::Array{"a", "b"});
  live();
  EXPECT_EQ(message(kFoundWide), "Workload Namespace does not exist: b");
  EXPECT_EQ(ready(kFoundWide),
            "False NoNamespace: namespace b is not there, or is being deleted (1 of 2 namespaces are ready)");
  const int tried = written("POST persistentvolumeclaims b");
  live(20);
  EXPECT_LE(written("PATCH clustergkmcaches wide status"), 4);  // what is so is said once
  EXPECT_GT(written("POST persistentvolumeclaims b") + 1, tried);
  is_there = true;
  live(40);
  EXPECT_EQ(message(kFoundWide), "Not yet complete");
  EXPECT_TRUE(ready(kFoundWide).starts_with("True Bound"));
}

TEST_F(OperatorVolumes, AClusterWideCacheWithoutNamespacesSaysThatItNeedsThem) {
  makeCache(kFoundWide);
  ask(kFoundWide, "accessModes", json::Array{"ReadOnlyMany"});
  live();
  EXPECT_EQ(ready(kFoundWide),
            "False NoNamespace: spec.workloadNamespaces names none: name those whose pods mount it");
}

TEST_F(OperatorVolumes, AClaimOfSomebodyElseIsLeftAloneAndNamed) {
  makeForeignClaim(kFound);
  const json::Value before = *find(kVolumeClaim, kFound);
  makeCache(kFound);
  ask(kFound, "pvc", true);
  pass(60s);
  EXPECT_EQ(json::print(*find(kVolumeClaim, kFound)), json::print(before));
  EXPECT_TRUE(all(kVolume).empty());  // nothing that the control plane could bind to it
  EXPECT_TRUE(ready(kFound).starts_with("False NotOurs: PersistentVolumeClaim ns/one is there"))
      << ready(kFound);
  server.remove(kVolumeClaim, kFound);
  live(40);
  EXPECT_TRUE(ready(kFound).starts_with("True Bound"));
}

// The operator has a cache from its own write's answer, and from its watch: in any order it is the same one.
TEST_F(OperatorVolumes, ACacheIsNotTakenForAnotherOfItsNameWhateverComesFirst) {
  for (const bool is_first : {false, true}) {
    news_first = [is_first] { return is_first; };
    const model::ObjectKey key{"", is_first ? "first" : "second"};
    makeCache(key);
    ask(key, "workloadNamespaces", json::Array{"a", "b"});
    live(20);
    EXPECT_TRUE(ready(key).starts_with("True Bound")) << ready(key);
  }
}

TEST_F(OperatorVolumes, WhatLostItsLabelIsNamedAndTakenBackWithIt) {
  const model::ObjectKey volume{"", volumeNameOf(kFound, "ns")};
  makeCache(kFound);
  ask(kFound, "pvc", true);
  live();
  const auto setLabels = [&](kapi::Kind kind, const model::ObjectKey& key, json::Value labels) {
    json::Value object = *find(kind, key);
    object.child("metadata").set("labels", std::move(labels));
    server.put(kind, std::move(object));
  };
  const json::Value labelled = json::Object{{"gkm.io/managed", "true"}};
  const std::string volume_uid{(*find(kVolume, volume))["metadata"]["uid"].str()};
  setLabels(kVolume, volume, json::Object{});
  live();
  EXPECT_EQ((*find(kVolume, volume))["metadata"]["uid"].str(), volume_uid);
  EXPECT_TRUE(machine().readiness().ready);
  setLabels(kVolume, volume, labelled);
  setLabels(kVolumeClaim, kFound, json::Object{});
  live();
  EXPECT_NE(ready(kFound).find("kubectl -n ns label PersistentVolumeClaim one gkm.io/managed=true"),
            std::string::npos)
      << ready(kFound);
  setLabels(kVolumeClaim, kFound, labelled);
  live();
  EXPECT_TRUE(ready(kFound).starts_with("True Bound")) << ready(kFound);
  EXPECT_EQ(all(kVolume).size(), 1U);

  const model::ObjectKey other{"ns", "two"};
  server.put(kVolume, json::Object{{"metadata", json::Object{{"name", volumeNameOf(other, "ns")}}}});
  makeCache(other);
  ask(other, "pvc", true);
  live();
  EXPECT_NE(ready(other).find("kubectl label PersistentVolume " + volumeNameOf(other, "ns")),
            std::string::npos)
      << ready(other);
}

TEST_F(OperatorVolumes, WhatIsDeletedByHandComesAgain) {
  makeCache(kFound);
  ask(kFound, "pvc", true);
  live();
  server.deleteSoftly(kVolumeClaim, kFound);
  live(10);
  EXPECT_EQ(phase(kVolumeClaim, kFound), "Bound");
  server.deleteSoftly(kVolume, {"", volumeNameOf(kFound, "ns")});  // kept: it is bound
  live(10);
  EXPECT_EQ(phase(kVolumeClaim, kFound), "Bound");
  EXPECT_EQ(phase(kVolume, {"", volumeNameOf(kFound, "ns")}), "Bound");
  EXPECT_TRUE((*find(kVolume, {"", volumeNameOf(kFound, "ns")}))["metadata"]["deletionTimestamp"].isNull());
}

TEST_F(OperatorVolumes, ANewLeaderTakesAwayWhatIsOfNoCache) {
  makeCache(kFound);
  ask(kFound, "pvc", true);
  live();
  machine().stopTaking();
  server.remove(kcache::kCache, kFound);
  start();
  live(10);
  EXPECT_TRUE(all(kVolumeClaim).empty());
  EXPECT_TRUE(all(kVolume).empty());
}

TEST_F(OperatorVolumes, WhatIsComingIsDownloading) {
  makeCache(kFound);
  ask(kFound, "pvc", true);
  say("ns", "node-a", {{"one", kDigestA, State::Pending}});
  live();
  EXPECT_EQ(message(kFound), "Job to extract Kernel Cache in progress");
  EXPECT_EQ(cache(kFound)->status->claims.at("ns").condition->state, State::Downloading);
  makeCache({"ns", "plain"});
  say("ns", "node-a", {{"one"}, {"plain", kDigestA, State::Pending}});
  live();
  EXPECT_EQ(message({"ns", "plain"}), "Not yet complete");
  EXPECT_EQ(message(kFound), "The Kernel Cache has been extracted onto the host");
}

TEST_F(OperatorVolumes, WithoutTheRightToListThemAllElseGoesOn) {
  fate = [](const kapi::Call& call) -> std::optional<kapi::Outcome> {
    if (call.kind != kVolume && call.kind != kVolumeClaim) { return std::nullopt; }
    return refusal(403, "Forbidden", "may not");
  };
  start();
  makeCache(kFound);
  ask(kFound, "pvc", true);
  live();
  EXPECT_EQ(message(kFound), "Not yet complete");
  EXPECT_TRUE(machine().readiness().ready) << machine().readiness().text();
  EXPECT_NE(machine().readiness().text().find("persistentvolumes: may not be listed"), std::string::npos)
      << machine().readiness().text();
}

}  // namespace
}  // namespace gs::gkm
