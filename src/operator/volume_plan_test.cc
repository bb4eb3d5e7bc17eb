#include "operator/volume_plan.h"

#include <gtest/gtest.h>

#include "kapi/decode.h"
#include "kcache/kinds/claims.h"

namespace gs::gkm {
namespace {

kcache::Cache claimingCache(const std::string& ns, const char* uid) {
  kcache::Cache out;
  out.key = {ns, "one"};
  out.uid = model::Uid{uid};
  out.wish.is_wanted = true;
  if (ns.empty()) { out.wish.namespaces = {"ns"}; }
  return out;
}

VolumeClaim claimOf(const kcache::Cache& cache, const char* uid) {
  VolumeClaim out;
  out.key = {"ns", "one"};
  out.uid = model::Uid{uid};
  out.handle = kcache::volumeHandle(cache.key, "ns");
  out.cache = cache.uid;
  out.volume = kcache::volumeName(out.handle);
  return out;
}

Volume volumeOf(const VolumeClaim& claim) {
  Volume out;
  out.key = {"", claim.volume};
  out.handle = claim.handle;
  out.cache = claim.cache;
  out.claim = claim.uid;
  return out;
}

const kcache::Cache kOwnCache = claimingCache("ns", "own");
const kcache::Cache kWideCache = claimingCache("", "wide");

TEST(VolumePlan, MakesTheClaimThenItsVolumeAndIsDone) {
  VolumeSlot slot{.ns = "ns", .own = &kOwnCache};
  EXPECT_EQ(planOf(slot).act, VolumeAct::CreateClaim);
  const VolumeClaim claim = claimOf(kOwnCache, "c1");
  slot.claim = &claim;
  EXPECT_EQ(planOf(slot).act, VolumeAct::CreateVolume);
  const Volume volume = volumeOf(claim);
  slot.volumes = {&volume};
  EXPECT_EQ(planOf(slot).act, VolumeAct::Nothing);
}

TEST(VolumePlan, OfNobodyTheClaimGoesFirstAndTheVolumeWhenItIsFree) {
  VolumeClaim claim = claimOf(kOwnCache, "c1");
  Volume volume = volumeOf(claim);
  volume.is_bound = true;
  VolumeSlot slot{.ns = "ns", .claim = &claim, .volumes = {&volume}};
  EXPECT_EQ(planOf(slot).act, VolumeAct::DeleteClaim);
  claim.is_deleting = true;  // pods use it
  EXPECT_EQ(planOf(slot).act, VolumeAct::Nothing);
  slot.claim = nullptr;  // the control plane has not seen that yet
  EXPECT_EQ(planOf(slot).act, VolumeAct::Nothing);
  volume.is_bound = false;
  EXPECT_EQ(planOf(slot).act, VolumeAct::DeleteVolume);
  volume.is_deleting = true;
  EXPECT_EQ(planOf(slot).act, VolumeAct::Nothing);
}

TEST(VolumePlan, ACacheOfTheSameNameMadeAnewGetsItsOwn) {
  const VolumeClaim before = claimOf(kOwnCache, "c1");
  const Volume volume = volumeOf(before);
  const kcache::Cache again = claimingCache("ns", "own-2");
  VolumeSlot slot{.ns = "ns", .own = &again, .claim = &before, .volumes = {&volume}};
  EXPECT_EQ(planOf(slot).act, VolumeAct::DeleteClaim);
  slot.claim = nullptr;
  EXPECT_EQ(planOf(slot).act, VolumeAct::DeleteVolume);
  slot.volumes.clear();
  EXPECT_EQ(planOf(slot).act, VolumeAct::CreateClaim);
}

TEST(VolumePlan, AClaimThatWasDeletedByHandComesAgainWithAVolumeOfItsOwn) {
  const VolumeClaim before = claimOf(kOwnCache, "c1");
  Volume volume = volumeOf(before);
  VolumeSlot slot{.ns = "ns", .own = &kOwnCache, .volumes = {&volume}};
  EXPECT_EQ(planOf(slot).act, VolumeAct::CreateClaim);
  const VolumeClaim again = claimOf(kOwnCache, "c2");
  slot.claim = &again;
  volume.is_bound = true;  // not seen yet
  EXPECT_EQ(planOf(slot).act, VolumeAct::Nothing);
  volume.is_bound = false;
  EXPECT_EQ(planOf(slot).act, VolumeAct::DeleteVolume);
  slot.volumes.clear();
  EXPECT_EQ(planOf(slot).act, VolumeAct::CreateVolume);
}

TEST(VolumePlan, AVolumeWhoseClaimIsGoneGoesWhoeverHasTheNameNow) {
  const VolumeClaim before = claimOf(kOwnCache, "c1");
  Volume volume = volumeOf(before);
  volume.is_released = true;
  const VolumeSlot slot{.ns = "ns", .own = &kOwnCache, .volumes = {&volume}};
  EXPECT_EQ(planOf(slot).act, VolumeAct::DeleteVolume);
}

TEST(VolumePlan, AVolumeThatSomebodyDeletesTakesItsClaimAlong) {
  const VolumeClaim claim = claimOf(kOwnCache, "c1");
  Volume volume = volumeOf(claim);
  volume.is_deleting = volume.is_bound = true;
  const VolumeSlot slot{.ns = "ns", .own = &kOwnCache, .claim = &claim, .volumes = {&volume}};
  EXPECT_EQ(planOf(slot).act, VolumeAct::DeleteClaim);
}

TEST(VolumePlan, OfTwoCachesTheOneThatHasTheClaimKeepsIt) {
  const VolumeClaim of_wide = claimOf(kWideCache, "c1");
  VolumeSlot slot{.ns = "ns", .own = &kOwnCache, .wide = &kWideCache};
  EXPECT_EQ(claimantOf(slot), &kOwnCache);
  slot.claim = &of_wide;
  EXPECT_EQ(claimantOf(slot), &kWideCache);
  EXPECT_EQ(standingOf(slot, kOwnCache).state, ClaimState::NotOurs);
  EXPECT_EQ(standingOf(slot, kWideCache).state, ClaimState::Waiting);
  kcache::Cache gone = kWideCache;
  gone.is_deleting = true;
  slot.wide = &gone;
  EXPECT_EQ(claimantOf(slot), &kOwnCache);
  EXPECT_EQ(planOf(slot).act, VolumeAct::DeleteClaim);
}

TEST(VolumePlan, ACacheAsksForNamespacesOfItsOwnOnly) {
  EXPECT_TRUE(wantsClaim(kOwnCache, "ns"));
  EXPECT_FALSE(wantsClaim(kOwnCache, "other"));
  EXPECT_TRUE(wantsClaim(kWideCache, "ns"));
  EXPECT_FALSE(wantsClaim(kWideCache, "other"));
}

TEST(VolumeKinds, AVolumeIsForThatClaimAndReadOnly) {
  kcache::Cache cache = kWideCache;
  cache.key.name = std::string(253, 'a');
  const kapi::Call claim_call = createClaim(cache, "ns", 0);
  EXPECT_EQ(claim_call.body["spec"]["resources"]["requests"]["storage"].str(), "1024Mi");
  EXPECT_EQ(claim_call.body["metadata"]["ownerReferences"].at(0)["kind"].str(), "ClusterGKMCache");
  json::Value as_kept = claim_call.body;
  as_kept.child("metadata").set("uid", "c1");
  const auto claim = kapi::decodeObject(kVolumeClaim, as_kept).as<VolumeClaim>();
  ASSERT_NE(claim, nullptr);
  EXPECT_EQ(claim->handle, kcache::volumeHandle(cache.key, "ns"));

  const kapi::Call call = createVolume(cache, *claim);
  const json::Value& spec = call.body["spec"];
  EXPECT_EQ(spec["claimRef"]["uid"].str(), "c1");
  EXPECT_EQ(spec["capacity"]["storage"].str(), "1024Mi") << "what the claim asks for";
  EXPECT_EQ(json::print(spec["csi"]["volumeAttributes"]),
            json::print(json::Object{{"csi.gkm.io/GKMCache", cache.key.name}}));
  EXPECT_TRUE(spec["csi"]["readOnly"].isNull())
      << "each pod writes for itself, as by a volume of its own spec";
  const auto volume = kapi::decodeObject(kVolume, call.body).as<Volume>();
  ASSERT_NE(volume, nullptr);
  EXPECT_EQ(volume->handle, claim->handle);
  EXPECT_EQ(volume->key.name, claim->volume);
}

TEST(VolumeKinds, WhatIsOnlyLabelledLikeOursIsNobodys) {
  const kcache::Cache cache = kOwnCache;
  json::Value claim = createClaim(cache, "ns", 0).body;
  claim.child("metadata").set("name", "other");
  EXPECT_EQ(kapi::decodeObject(kVolumeClaim, claim).as<VolumeClaim>()->handle, "");
  json::Value volume = createVolume(cache, claimOf(cache, "c")).body;
  volume.child("spec").child("csi").set("driver", "csi.example.com");
  EXPECT_EQ(kapi::decodeObject(kVolume, volume).as<Volume>()->handle, "");
}

}  // namespace
}  // namespace gs::gkm
