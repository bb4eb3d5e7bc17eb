#include "scheduler/volumes/volume_step.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "sched/volumes/volumes_hand_test.h"

namespace gs::scheduler {
namespace {

/// Of class "local" volumes are there; those of class "made" are made by a driver. Nodes a, b and c.
class VolumeStepTest : public ::testing::Test {
 protected:
  VolumeStepTest() {
    w.has(sched::makeClass("local"));
    w.has(sched::makeClass("made", "driver"));
  }
  static model::PersistentVolumeClaim ofClass(const std::string& name, const char* storage_class) {
    auto claim = sched::makeVolumeClaim(name);
    claim.storage_class = storage_class;
    return claim;
  }
  /// What is chosen for a pod of these claims that comes to node a.
  [[nodiscard]] ChosenVolumes chosenFor(const std::vector<std::string>& claims) const {
    const model::Pod pod = sched::mounting("p", claims);
    const auto choices = w.volumes.choose(pod, w.node("a"));
    EXPECT_TRUE(choices) << "node a does not take it";
    return chosenVolumes(w.volumes, pod, choices ? *choices : sched::VolumeChoices{});
  }
  /// "bound"; "wait data", "write data", by the claim; "lost: why", "lost, elsewhere: why".
  [[nodiscard]] std::string next(const ChosenVolumes& chosen) const {
    const VolumeStep step = nextVolumeStep(w.volumes, chosen, &w.node("a"));
    switch (step.what) {
      case VolumeStep::What::Bound: return "bound";
      case VolumeStep::What::Wait: return "wait " + chosen[step.which].claim.name;
      case VolumeStep::What::Write: return "write " + chosen[step.which].claim.name;
      case VolumeStep::What::Lost: break;
    }
    return (step.elsewhere ? "lost, elsewhere: " : "lost: ") + step.why;
  }
  /// The volume as it is after it was written.
  static model::PersistentVolume meant(model::PersistentVolume volume,
                                       const model::PersistentVolumeClaim& claim) {
    volume.claim = model::ClaimRef{claim.key, claim.uid};
    volume.is_available = false;
    ++volume.revision;
    return volume;
  }
  static model::PersistentVolumeClaim toldNode(model::PersistentVolumeClaim claim, const char* node) {
    claim.selected_node = model::NodeName{node};
    ++claim.revision;
    return claim;
  }

  sched::VolumesWithNodes w;
};

TEST_F(VolumeStepTest, AVolumeThatIsThereIsWrittenAndThenWaitedFor) {
  const auto volume = sched::makeVolume("v");
  const auto claim = ofClass("data", "local");
  w.has(volume);
  w.has(claim);
  ChosenVolumes chosen = chosenFor({"data"});
  ASSERT_EQ(chosen.size(), 1U);
  EXPECT_EQ(chosen[0].how, ChosenVolume::How::Match);
  EXPECT_EQ(chosen[0].volume, "v");
  EXPECT_EQ(next(chosen), "write data");
  chosen[0].written = 2;
  EXPECT_EQ(next(chosen), "wait data") << "the watch has not brought it yet";
  w.has(meant(volume, claim));
  EXPECT_EQ(next(chosen), "wait data") << "it is not bound yet";
  w.has(sched::boundTo(claim, "v"));
  EXPECT_EQ(next(chosen), "bound");
}

// The next leader goes on from there.
TEST_F(VolumeStepTest, WhatIsWrittenAlreadyIsWaitedFor) {
  const auto claim = ofClass("data", "local");
  w.has(claim);
  w.has(meant(sched::makeVolume("v"), claim));
  EXPECT_EQ(next(chosenFor({"data"})), "wait data");
  const auto made = ofClass("scratch", "made");
  w.has(toldNode(made, "a"));
  EXPECT_EQ(next(chosenFor({"scratch"})), "wait scratch");
}

TEST_F(VolumeStepTest, AVolumeThatWasMeantForAClaimOfThatNameIsWritten) {
  const auto claim = ofClass("data", "local");
  w.has(claim);
  auto volume = sched::makeVolume("v");
  volume.claim = model::ClaimRef{claim.key, {}};
  w.has(volume);
  const ChosenVolumes chosen = chosenFor({"data"});
  EXPECT_EQ(next(chosen), "write data");
  w.has(meant(volume, claim));
  EXPECT_EQ(next(chosen), "wait data");
}

TEST_F(VolumeStepTest, AVolumeThatCannotBeHadIsLost) {
  const auto volume = sched::makeVolume("v");
  w.has(volume);
  w.has(ofClass("data", "local"));
  ChosenVolumes chosen = chosenFor({"data"});
  auto other = volume;
  other.deleting = true;
  w.has(other);
  const std::string gone =
      "lost: volume v, which was chosen for PersistentVolumeClaim default/data, is gone or is being deleted";
  EXPECT_EQ(next(chosen), gone);
  other = volume;
  other.uid = model::Uid{"another"};
  w.has(other);
  EXPECT_EQ(next(chosen), gone);
  other = volume;
  other.claim = model::ClaimRef{{"default", "theirs"}, model::Uid{"x"}};
  w.has(other);
  EXPECT_EQ(next(chosen),
            "lost: volume v, which was chosen for PersistentVolumeClaim default/data, was taken by "
            "default/theirs meanwhile");
  other = volume;
  other.affinity = sched::onlyWith("host", {"b"});
  w.has(other);
  EXPECT_EQ(next(chosen),
            "lost, elsewhere: volume v of PersistentVolumeClaim default/data cannot be reached from node a");
  w.has(volume);
  chosen[0].written = 1;
  EXPECT_EQ(next(chosen), "lost: volume v was taken from PersistentVolumeClaim default/data again");
  w.volumes.putVolume("v", nullptr);
  EXPECT_EQ(next(chosen), gone);
}

TEST_F(VolumeStepTest, AClaimWhoseVolumeIsMadeIsToldTheNodeAndThenWaitedFor) {
  const auto claim = ofClass("data", "made");
  w.has(claim);
  ChosenVolumes chosen = chosenFor({"data"});
  ASSERT_EQ(chosen.size(), 1U);
  EXPECT_EQ(chosen[0].how, ChosenVolume::How::Make);
  EXPECT_EQ(next(chosen), "write data");
  chosen[0].written = 2;
  EXPECT_EQ(next(chosen), "wait data") << "the watch has not brought it yet";
  auto told = toldNode(claim, "a");
  w.has(told);
  EXPECT_EQ(next(chosen), "wait data");
  told.volume = "pv";
  ++told.revision;
  w.has(told);
  EXPECT_EQ(next(chosen), "wait data") << "its volume is not known yet";
  w.has(sched::makeVolume("pv"));
  EXPECT_EQ(next(chosen), "wait data") << "it is not bound completely";
  told.bind_completed = true;
  w.has(told);
  EXPECT_EQ(next(chosen), "bound");
}

TEST_F(VolumeStepTest, AVolumeThatIsNotMadeOrIsMadeElsewhereIsLost) {
  const auto claim = ofClass("data", "made");
  w.has(claim);
  ChosenVolumes chosen = chosenFor({"data"});
  chosen[0].written = 2;
  auto later = claim;
  later.revision = 3;
  w.has(later);
  EXPECT_EQ(next(chosen),
            "lost, elsewhere: no volume could be made for PersistentVolumeClaim default/data on node a: its "
            "provisioner took the node back; the claim's events say why");
  w.has(toldNode(later, "b"));
  EXPECT_EQ(next(chosen),
            "lost, elsewhere: the volume of PersistentVolumeClaim default/data is to be made for node b, by "
            "volume.kubernetes.io/selected-node");
  auto made = toldNode(later, "a");
  made.volume = "pv";
  w.has(made);
  auto volume = sched::makeVolume("pv");
  volume.affinity = sched::onlyWith("zone", {"2"});
  w.has(volume);
  EXPECT_EQ(next(chosen),
            "lost, elsewhere: volume pv of PersistentVolumeClaim default/data cannot be reached from node a");
}

TEST_F(VolumeStepTest, ClaimsThatAreBoundNeedNothing) {
  w.has(sched::makeVolume("v"));
  const auto claim = ofClass("data", "local");
  w.has(sched::boundTo(claim, "v"));
  const ChosenVolumes chosen = chosenFor({"data"});
  ASSERT_EQ(chosen.size(), 1U);
  EXPECT_EQ(chosen[0].how, ChosenVolume::How::Keep);
  EXPECT_EQ(next(chosen), "bound");
  EXPECT_EQ(next(chosenFor({})), "bound");
  w.has(claim);
  EXPECT_EQ(next(chosen), "lost: PersistentVolumeClaim default/data is not bound any more");
  auto without = sched::boundTo(claim, "v");
  without.is_lost = true;
  w.has(without);
  EXPECT_EQ(next(chosen), "lost: volume v of PersistentVolumeClaim default/data is gone");
}

TEST_F(VolumeStepTest, AnotherClaimOfTheNameIsAnother) {
  const auto claim = ofClass("data", "made");
  w.has(claim);
  const ChosenVolumes chosen = chosenFor({"data"});
  const std::string gone = "lost: PersistentVolumeClaim default/data is gone or is being deleted";
  auto other = claim;
  other.uid = model::Uid{"another"};
  w.has(other);
  EXPECT_EQ(next(chosen), gone);
  other = claim;
  other.deleting = true;
  w.has(other);
  EXPECT_EQ(next(chosen), gone);
  w.volumes.putClaim(claim.key, nullptr);
  EXPECT_EQ(next(chosen), gone);
}

TEST_F(VolumeStepTest, OfSeveralTheVolumesThatAreThereAreWrittenFirst) {
  const auto made = ofClass("a-made", "made");
  const auto there = ofClass("there", "local");
  const auto volume = sched::makeVolume("v");
  w.has(made);
  w.has(there);
  w.has(volume);
  const ChosenVolumes chosen = chosenFor({"a-made", "there", "a-made"});
  ASSERT_EQ(chosen.size(), 2U) << "a claim that is mounted twice is one";
  EXPECT_EQ(next(chosen), "write there");
  w.has(meant(volume, there));
  EXPECT_EQ(next(chosen), "write a-made") << "it does not wait for the others";
  w.has(toldNode(made, "a"));
  EXPECT_EQ(next(chosen), "wait there");
}

TEST_F(VolumeStepTest, NothingIsWrittenWhereOneOfThemIsLost) {
  const auto made = ofClass("made", "made");
  w.has(made);
  w.has(ofClass("there", "local"));
  w.has(sched::makeVolume("v"));
  const ChosenVolumes chosen = chosenFor({"there", "made"});
  w.has(toldNode(made, "c"));
  EXPECT_EQ(next(chosen).find("lost"), 0U) << next(chosen);
}

TEST_F(VolumeStepTest, WithoutItsNodeAllIsLost) {
  const VolumeStep step = nextVolumeStep(w.volumes, {}, nullptr);
  EXPECT_EQ(step.what, VolumeStep::What::Lost);
  EXPECT_TRUE(step.elsewhere);
}

}  // namespace
}  // namespace gs::scheduler
