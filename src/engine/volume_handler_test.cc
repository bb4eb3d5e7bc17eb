#include "engine/volume_handler.h"

#include <gtest/gtest.h>

#include "engine/engine_hand_test.h"

namespace gs::engine {
namespace {

class VolumesOfAnEngine : public EngineTest {
 protected:
  VolumesOfAnEngine() {
    model::StorageClass of;
    of.key = {"", "fast"};
    of.provisioner = "d";
    of.waits = true;
    engine.apply({kapi::kStorageClass, of.key, {}, shared(of), 1}, now);
  }
  static model::PersistentVolumeClaim claim(const char* volume = "") {
    model::PersistentVolumeClaim c;
    c.key = {"default", "data"};
    c.uid = model::Uid{"c"};
    c.storage_class = "fast";
    c.volume = volume;
    c.bind_completed = *volume != '\0';
    return c;
  }
  void comesClaim(const model::PersistentVolumeClaim& c) {
    engine.apply({kapi::kPersistentVolumeClaim, c.key, {}, shared(c), ++revision}, now);
  }
  void comesPod(const model::Pod& pod) {
    engine.apply({kapi::kPod, pod.key, {}, shared(pod), pod.revision}, now);
  }
  static model::Pod pod() {
    model::Pod out = PodBuilder{"p"}.value();
    out.volume_claims = {{"data", false}};
    return out;
  }
  model::Revision revision = 10;
};

TEST_F(VolumesOfAnEngine, AWaitingPodIsTouchedByItsClaim) {
  comesPod(pod());
  engine.forgetTouched();
  EXPECT_EQ(engine.askedOfVolumes(pod()).blocked.kind, "VolumeClaimMissing");
  comesClaim(claim());
  EXPECT_TRUE(engine.takeTouched().contains(pod().uid));
  EXPECT_NE(engine.askedOfVolumes(pod()).selection, nullptr);
  engine.apply({kapi::kPersistentVolumeClaim, {"default", "data"}, model::Uid{"c"}, {}, ++revision}, now);
  EXPECT_TRUE(engine.takeTouched().contains(pod().uid));
  EXPECT_EQ(engine.askedOfVolumes(pod()).blocked.kind, "VolumeClaimMissing");
}

TEST_F(VolumesOfAnEngine, ABoundVolumeIsReachedFromItsNodes) {
  comesClaim(claim("pv"));
  EXPECT_EQ(engine.askedOfVolumes(pod()).blocked.text, "persistentvolume \"pv\" not found");
  model::PersistentVolume volume;
  volume.key = {"", "pv"};
  volume.affinity = {true, {}};
  engine.apply({kapi::kPersistentVolume, volume.key, {}, shared(volume), 5}, now);
  const auto said = engine.askedOfVolumes(pod());
  ASSERT_NE(said.selection, nullptr);
  EXPECT_TRUE(said.selection->refuse(sched::VolumeSelection::Filter::Binding, node().node));
}

/// What we may not list may be there.
TEST_F(VolumesOfAnEngine, SaysWhichRightIsMissing) {
  comesPod(pod());
  engine.forgetTouched();
  engine.mayList(kapi::kPersistentVolumeClaim, false);
  EXPECT_TRUE(engine.takeTouched().contains(pod().uid));
  const auto said = engine.askedOfVolumes(pod());
  EXPECT_EQ(said.blocked.kind, "MayNotList:persistentvolumeclaims");
  EXPECT_EQ(said.blocked.text,
            "gpu-scheduler may not list persistentvolumeclaims: give its ClusterRole a rule with apiGroups "
            "[\"\"], resources [persistentvolumeclaims] and verbs [list, watch]");
  EXPECT_EQ(engine.askedOfVolumes(PodBuilder{"without"}.value()).blocked.kind, "");
  engine.mayList(kapi::kPersistentVolumeClaim, false);
  EXPECT_FALSE(engine.takeTouched().contains(pod().uid)) << "that is no news";
  engine.mayList(kapi::kPersistentVolumeClaim, true);
  EXPECT_TRUE(engine.takeTouched().contains(pod().uid));
  EXPECT_EQ(engine.askedOfVolumes(pod()).blocked.kind, "VolumeClaimMissing");
}

/// Nobody would know how many volumes its node takes.
TEST_F(VolumesOfAnEngine, NeedsTheRightToEachOfTheirKinds) {
  comesClaim(claim());
  for (const kapi::Kind kind :
       {kapi::kPersistentVolume, kapi::kPersistentVolumeClaim, kapi::kStorageClass, kapi::kCsiNode,
        kapi::kCsiDriver, kapi::kCsiStorageCapacity, kapi::kVolumeAttachment}) {
    engine.mayList(kind, false);
    EXPECT_EQ(engine.askedOfVolumes(pod()).blocked.kind, "MayNotList:" + std::string{kind->plural});
    engine.mayList(kind, true);
    EXPECT_EQ(engine.askedOfVolumes(pod()).blocked.kind, "");
  }
  engine.mayList(kapi::kDisruptionBudget, false);
  EXPECT_EQ(engine.askedOfVolumes(pod()).blocked.kind, "");
}

TEST_F(VolumesOfAnEngine, WhatIsChosenIsKeptUntilItIsForgotten) {
  comesClaim(claim());
  const auto choices = engine.volumes().choose(pod(), node().node);
  ASSERT_TRUE(choices);
  engine.volumeChoices().assume(pod(), node().node.name, *choices);
  ASSERT_NE(engine.volumes().assumed(pod().uid), nullptr);
  EXPECT_EQ(engine.volumes().assumed(pod().uid)->to_make,
            (std::vector<model::ObjectKey>{{"default", "data"}}));
  engine.volumeChoices().forget(pod().uid);
  EXPECT_EQ(engine.volumes().assumed(pod().uid), nullptr);
}

}  // namespace
}  // namespace gs::engine
