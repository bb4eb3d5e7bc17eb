#include "sched/volumes/volumes.h"

#include <gtest/gtest.h>

#include <string>

#include "model/gate.h"
#include "sched/volumes/volume_selections.h"
#include "sched/volumes/volumes_hand_test.h"

namespace gs::sched {
namespace {

using model::AccessMode;
using model::ObjectKey;
using model::Uid;
using Nodes = VolumesWithNodes;

model::Pod withEphemeral(const std::string& name, const std::string& volume) {
  model::Pod pod = mounting(name, {});
  pod.volume_claims.push_back({name + "-" + volume, true});
  return pod;
}

model::Pod withDisk(const std::string& name, model::InlineDisk disk) {
  model::Pod pod = mounting(name, {});
  pod.disks.push_back(std::move(disk));
  return pod;
}

// ---- Whether the pod can be placed at all

TEST(VolumesAsk, SaysWhatKubeSchedulerSays) {
  Nodes n;
  const auto pod = mounting("p", {"data"});
  EXPECT_EQ(n.blocked(pod), "persistentvolumeclaim \"data\" not found");
  n.has(makeVolumeClaim("data"));
  EXPECT_EQ(n.blocked(pod), "pod has unbound immediate PersistentVolumeClaims") << "its class is not there";
  auto immediate = makeClass("local");
  immediate.waits = false;
  n.has(immediate);
  EXPECT_EQ(n.blocked(pod), "pod has unbound immediate PersistentVolumeClaims");
  n.has(makeClass("local"));
  EXPECT_EQ(n.blocked(pod), "");
  auto meant = makeVolumeClaim("data");
  meant.volume = "pv";
  n.has(meant);
  EXPECT_EQ(n.blocked(pod), "pod has unbound immediate PersistentVolumeClaims") << "somebody named a volume";
  n.has(boundTo(makeVolumeClaim("data"), "pv"));
  EXPECT_EQ(n.blocked(pod), "persistentvolume \"pv\" not found");
  n.has(makeVolume("pv"));
  EXPECT_EQ(n.blocked(pod), "");
  auto going = boundTo(makeVolumeClaim("data"), "pv");
  going.deleting = true;
  n.has(going);
  EXPECT_EQ(n.blocked(pod), "persistentvolumeclaim \"data\" is being deleted");
  going.is_lost = true;
  n.has(going);
  EXPECT_EQ(n.blocked(pod), "persistentvolumeclaim \"data\" bound to non-existent persistentvolume \"pv\"");
}

TEST(VolumesAsk, OfEphemeralVolumesAsksWhoseTheClaimIs) {
  Nodes n;
  n.has(makeClass("local", "p"));
  const auto pod = withEphemeral("p", "scratch");
  EXPECT_EQ(n.blocked(pod),
            "waiting for ephemeral volume controller to create the persistentvolumeclaim \"p-scratch\"");
  auto claim = makeVolumeClaim("p-scratch");
  n.has(claim);
  EXPECT_EQ(n.blocked(pod), "PVC default/p-scratch was not created for pod default/p (pod is not owner)");
  claim.owner = pod.uid;
  n.has(claim);
  EXPECT_EQ(n.blocked(pod), "");
  claim = boundTo(claim, "gone");
  n.has(claim);
  EXPECT_EQ(n.blocked(pod), "");
  EXPECT_EQ(n.refused(pod, "a"), Reason::VolumeMissing) << "only of others the pod is told so at once";
}

/// Anybody may write a claim, and a pod that names it 256 times.
TEST(VolumesAsk, OfAllItsSelectorsTogetherSoMuchIsLookedAt) {
  using Op = model::LabelRequirement::Op;
  Nodes n;
  n.has(makeClass("local"));
  n.has(makeVolume("pv"));
  auto claim = makeVolumeClaim("data");
  claim.selector = model::LabelSelector{};
  for (int i = 0; i < 64; ++i) {
    claim.selector->requirements.push_back({std::to_string(i), Op::DoesNotExist, {}});
  }
  n.has(claim);
  EXPECT_EQ(n.takers(mounting("p", {"data"})), "abc");
  EXPECT_EQ(n.blocked(mounting("p", std::vector<std::string>(4, "data"))), "");
  EXPECT_EQ(
      n.blocked(mounting("p", std::vector<std::string>(5, "data"))),
      "spec.selector of its PersistentVolumeClaims have 320 labels and expressions together, and at most 256 "
      "are looked at: leave some out");
}

TEST(VolumesAsk, WithoutVolumesIsNothing) {
  Nodes n;
  const auto answer = n.volumes.ask(mounting("p", {}));
  ASSERT_TRUE(std::holds_alternative<VolumeAsk>(answer));
  EXPECT_TRUE(std::get<VolumeAsk>(answer).empty());
}

// ---- VolumeRestrictions

struct DiskCase {
  const char* name;
  model::InlineDisk there;
  model::InlineDisk comes;
  bool fits;
};
class DisksOfANode : public ::testing::TestWithParam<DiskCase> {};
TEST_P(DisksOfANode, AreSharedOrNot) {
  Nodes n;
  n.runs(withDisk("other", GetParam().there), "a");
  const auto pod = withDisk("p", GetParam().comes);
  EXPECT_EQ(n.refused(pod, "a"), GetParam().fits ? std::nullopt : std::optional{Reason::DiskInUse});
  EXPECT_EQ(n.refused(pod, "b"), std::nullopt);
}
using DiskKind = model::InlineDisk::Kind;
INSTANTIATE_TEST_SUITE_P(
    Table, DisksOfANode,
    ::testing::Values(
        DiskCase{"Gce",
                 {DiskKind::GcePersistentDisk, "d", false, {}},
                 {DiskKind::GcePersistentDisk, "d", true, {}},
                 false},
        DiskCase{"GceRead",
                 {DiskKind::GcePersistentDisk, "d", true, {}},
                 {DiskKind::GcePersistentDisk, "d", true, {}},
                 true},
        DiskCase{"GceOther",
                 {DiskKind::GcePersistentDisk, "d", false, {}},
                 {DiskKind::GcePersistentDisk, "e", false, {}},
                 true},
        DiskCase{"EbsRead",
                 {DiskKind::AwsElasticBlockStore, "d", true, {}},
                 {DiskKind::AwsElasticBlockStore, "d", true, {}},
                 false},
        DiskCase{"Iscsi", {DiskKind::Iscsi, "q", false, {}}, {DiskKind::Iscsi, "q", false, {}}, false},
        DiskCase{"RbdOneMonitor",
                 {DiskKind::Rbd, "p/i", false, {"m1", "m2"}},
                 {DiskKind::Rbd, "p/i", true, {"m2"}},
                 false},
        DiskCase{"RbdOtherMonitors",
                 {DiskKind::Rbd, "p/i", false, {"m1"}},
                 {DiskKind::Rbd, "p/i", false, {"m2"}},
                 true},
        DiskCase{"RbdRead", {DiskKind::Rbd, "p/i", true, {"m1"}}, {DiskKind::Rbd, "p/i", true, {"m1"}}, true},
        DiskCase{"Cinder", {DiskKind::Cinder, "d", false, {}}, {DiskKind::Cinder, "d", false, {}}, true}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(VolumesRestrictions, OneOfOnePodIsThatPodsAlone) {
  Nodes n;
  n.has(makeClass("local", "p"));
  auto claim = makeVolumeClaim("data");
  claim.modes = static_cast<model::AccessModes>(AccessMode::ReadWriteOncePod);
  n.has(claim);
  const auto pod = mounting("p", {"data"});
  n.volumes.podChanged(pod, true, false);
  EXPECT_EQ(n.takers(pod), "abc");
  EXPECT_EQ(n.runs(mounting("other", {"data"}), "a"), Volumes::Pods{pod.uid}) << "is to be asked anew";
  for (const char* node : {"a", "b", "c"}) { EXPECT_EQ(n.refused(pod, node), Reason::VolumeOfOnePod); }
  EXPECT_EQ(n.volumes.podChanged(mounting("other", {"data"}), false, false), Volumes::Pods{pod.uid});
  EXPECT_EQ(n.takers(pod), "abc");
}

// ---- NodeVolumeLimits

struct LimitedNode : Nodes {
  LimitedNode() {
    has(makeClass("local", "d"));
    model::CsiNode node;
    node.key = {"", "a"};
    node.drivers = {{"d", 1}};
    has(node);
  }
  void bound(const char* name, const char* handle) {
    auto volume = makeVolume(std::string{"pv-"} + name);
    volume.driver = "d";
    volume.handle = handle;
    volume.claim = model::ClaimRef{{"default", name}, {}};
    has(volume);
    has(boundTo(makeVolumeClaim(name), volume.key.name));
  }
};

TEST(VolumesLimits, CountEachVolumeOnce) {
  LimitedNode n;
  n.bound("one", "h1");
  n.bound("two", "h2");
  n.bound("same", "h1");
  EXPECT_EQ(n.takers(mounting("p", {"one"})), "abc");
  EXPECT_EQ(n.refused(mounting("p", {"one", "two"}), "a"), Reason::TooManyVolumes);
  EXPECT_EQ(n.refused(mounting("p", {"one", "one", "same"}), "a"), std::nullopt);
  n.runs(mounting("other", {"one"}), "a");
  EXPECT_EQ(n.takers(mounting("p", {"one"})), "abc") << "it is there already";
  EXPECT_EQ(n.takers(mounting("p", {"same"})), "abc");
  EXPECT_EQ(n.refused(mounting("p", {"two"}), "a"), Reason::TooManyVolumes);
  EXPECT_EQ(n.refused(mounting("p", {"two"}), "b"), std::nullopt) << "a node without limits";
}

TEST(VolumesLimits, CountClaimsWithoutAVolumeByTheirClass) {
  LimitedNode n;
  n.has(makeVolumeClaim("late"));
  n.has(makeVolumeClaim("later"));
  EXPECT_EQ(n.refused(mounting("p", {"late"}), "a"), std::nullopt);
  EXPECT_EQ(n.refused(mounting("p", {"late", "later"}), "a"), Reason::TooManyVolumes);
  n.runs(mounting("other", {"late"}), "a");
  EXPECT_EQ(n.refused(mounting("p", {"late"}), "a"), std::nullopt) << "the same claim";
  EXPECT_EQ(n.refused(mounting("p", {"later"}), "a"), Reason::TooManyVolumes);
}

TEST(VolumesLimits, CountWhatIsAttachedStill) {
  LimitedNode n;
  n.bound("one", "h1");
  n.bound("two", "h2");
  model::VolumeAttachment attachment;
  attachment.key = {"", "va"};
  attachment.attacher = "d";
  attachment.node = model::NodeName{"a"};
  attachment.volume = "pv-two";
  n.has(attachment);
  EXPECT_EQ(n.refused(mounting("p", {"one"}), "a"), Reason::TooManyVolumes);
  EXPECT_EQ(n.refused(mounting("p", {"two"}), "a"), Reason::TooManyVolumes) << "as kube-scheduler counts it";
  n.runs(mounting("other", {"two"}), "a");
  EXPECT_EQ(n.refused(mounting("p", {"two"}), "a"), std::nullopt);
  n.volumes.putAttachment("va", nullptr);
  n.volumes.podChanged(mounting("other", {"two"}), false, false);
  EXPECT_EQ(n.refused(mounting("p", {"one"}), "a"), std::nullopt);
}

TEST(VolumesLimits, FormerTypesCountForTheirDriver) {
  LimitedNode n;
  model::CsiNode node;
  node.key = {"", "b"};
  node.drivers = {{"pd.csi.storage.gke.io", 1}};
  n.has(node);
  const auto pod = withDisk("p", {DiskKind::GcePersistentDisk, "x", true, {}});
  EXPECT_EQ(n.refused(pod, "b"), std::nullopt);
  n.runs(withDisk("other", {DiskKind::GcePersistentDisk, "y", true, {}}), "b");
  EXPECT_EQ(n.refused(pod, "b"), Reason::TooManyVolumes);
}

TEST(VolumesLimits, ADriverMayHaveToBeThere) {
  LimitedNode n;
  n.bound("one", "h1");
  model::CsiDriver driver;
  driver.key = {"", "d"};
  driver.must_be_installed = true;
  n.has(driver);
  EXPECT_EQ(n.takers(mounting("p", {"one"})), "a");
  EXPECT_EQ(n.refused(mounting("p", {"one"}), "b"), Reason::NoSuchDriver);
  n.volumes.setRules(volumeRulesOf(36));
  EXPECT_EQ(n.takers(mounting("p", {"one"})), "abc");
}

/// kube-scheduler looks for no driver of an inline volume; on a node without this one the pod never starts.
TEST(VolumesLimits, AGateNeedsItsDriverOnTheNode) {
  Nodes n;
  auto pod = mounting("p", {});
  EXPECT_EQ(n.takers(pod), "abc");
  pod.has_gate = true;
  EXPECT_EQ(n.takers(pod), "");
  EXPECT_EQ(n.refused(pod, "a"), Reason::NoGate);
  model::CsiNode node;
  node.key = {"", "a"};
  node.drivers = {{"csi.gkm.io", std::nullopt}};
  n.has(node);
  EXPECT_EQ(n.takers(pod), "") << "another driver is none";
  node.drivers.push_back({model::kGateDriver, std::nullopt});
  n.has(node);
  EXPECT_EQ(n.takers(pod), "a");
  n.volumes.putCsiNode(model::NodeName{"a"}, nullptr);
  EXPECT_EQ(n.takers(pod), "") << "its agent went";
}

TEST(VolumesLimits, PodsWithAGateAreOfOneClassApartFromOthers) {
  Nodes n;
  VolumeSelections selections{n.volumes};
  auto pod = mounting("p", {});
  EXPECT_EQ(selections.of(pod).selection, nullptr);
  pod.has_gate = true;
  const auto one = selections.of(pod).selection;
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(selections.of(pod).selection, one);
  EXPECT_EQ(one->keptFromNewNodes(), std::nullopt) << "an agent comes to a new node";
}

// ---- VolumeBinding

TEST(VolumesBinding, BoundVolumesAreReachedFromSomeNodes) {
  Nodes n;
  auto volume = makeVolume("pv");
  volume.affinity = onlyWith("zone", {"1"});
  n.has(volume);
  n.has(boundTo(makeVolumeClaim("data"), "pv"));
  EXPECT_EQ(n.takers(mounting("p", {"data"})), "ab");
  EXPECT_EQ(n.refused(mounting("p", {"data"}), "c"), Reason::VolumeElsewhere);
  volume.affinity = {true, {}};
  n.has(volume);
  EXPECT_EQ(n.takers(mounting("p", {"data"})), "");
}

TEST(VolumesBinding, AVolumesFieldsHoldOnEveryNode) {
  Nodes n;
  auto volume = makeVolume("pv");
  volume.affinity = {true, {{{}, {{"metadata.name", model::NodeRequirement::Op::In, {"a"}}}}}};
  n.has(volume);
  n.has(boundTo(makeVolumeClaim("data"), "pv"));
  EXPECT_EQ(n.takers(mounting("p", {"data"})), "abc") << "kube-scheduler compares them with no name";
}

TEST(VolumesBinding, TheDriversKeyCountsWhereItServes) {
  Nodes n;
  auto volume = makeVolume("pv");
  volume.migrated = {"kubernetes.io/gce-pd", "h", onlyWith("zone", {"2"}), ""};
  volume.affinity = onlyWith("zone", {"1"});
  n.has(volume);
  n.has(boundTo(makeVolumeClaim("data"), "pv"));
  model::CsiNode node;
  node.migrated = {"kubernetes.io/gce-pd"};
  for (const char* name : {"b", "c"}) {
    node.key = {"", name};
    n.has(node);
  }
  EXPECT_EQ(n.takers(mounting("p", {"data"})), "ac");
}

TEST(VolumesBinding, TakesTheSmallestThatServes) {
  Nodes n;
  n.has(makeClass("local"));
  for (const auto& [name, size] : {std::pair{"v30", 30}, {"v10", 10}, {"v20", 20}, {"w20", 20}}) {
    n.has(makeVolume(name, size));
  }
  n.has(makeVolumeClaim("large", 15));
  n.has(makeVolumeClaim("small", 5));
  const auto choices = n.volumes.choose(mounting("p", {"large", "small"}), n.node("a"));
  ASSERT_TRUE(choices);
  EXPECT_EQ(*choices, (VolumeChoices{{{{"default", "small"}, Uid{"claim-small"}, "v10"},
                                      {{"default", "large"}, Uid{"claim-large"}, "v20"}},
                                     {}}))
      << "the smallest claim first";
}

TEST(VolumesBinding, TakesOnlyWhatHasItsForm) {
  struct Row {
    const char* name;
    void (*change)(model::PersistentVolume&);
    bool fits;
  };
  for (const Row& row : {
           Row{"as it is", [](auto&) {}, true},
           Row{"too small",
               [](auto& v) {
                 v.capacity = {9, 999'999'999};
               },
               false},
           Row{"of another class", [](auto& v) { v.storage_class = "x"; }, false},
           Row{"a block device", [](auto& v) { v.is_block = true; }, false},
           Row{"of another mode", [](auto& v) { v.modes = 4; }, false},
           Row{"of more modes", [](auto& v) { v.modes = 3; }, true},
           Row{"going", [](auto& v) { v.deleting = true; }, false},
           Row{"released", [](auto& v) { v.is_available = false; }, false},
           Row{"of attributes", [](auto& v) { v.attributes_class = "gold"; }, false},
           Row{"another's",
               [](auto& v) {
                 v.claim = model::ClaimRef{{"default", "other"}, {}};
               },
               false},
           Row{"of a former claim",
               [](auto& v) {
                 v.claim = model::ClaimRef{{"default", "data"}, Uid{"x"}};
               },
               false},
           Row{"meant for it",
               [](auto& v) {
                 v.claim = model::ClaimRef{{"default", "data"}, {}};
               },
               true},
           Row{"elsewhere", [](auto& v) { v.affinity = onlyWith("zone", {"2"}); }, false},
           Row{"here", [](auto& v) { v.affinity = onlyWith("host", {"a"}); }, true},
       }) {
    Nodes n;
    n.has(makeClass("local"));
    n.has(makeVolumeClaim("data"));
    auto volume = makeVolume("pv");
    row.change(volume);
    n.has(volume);
    EXPECT_EQ(n.refused(mounting("p", {"data"}), "a"),
              row.fits ? std::nullopt : std::optional{Reason::NoVolumeToBind})
        << row.name;
  }
}

TEST(VolumesBinding, ASelectorChooses) {
  Nodes n;
  n.has(makeClass("local"));
  auto claim = makeVolumeClaim("data");
  claim.selector = model::LabelSelector{{{"tier", model::LabelRequirement::Op::In, {"fast"}}}};
  n.has(claim);
  n.has(makeVolume("pv"));
  EXPECT_EQ(n.takers(mounting("p", {"data"})), "");
  auto fast = makeVolume("fast", 100);
  fast.labels = {{"tier", "fast"}};
  n.has(fast);
  EXPECT_EQ(n.takers(mounting("p", {"data"})), "abc");
}

TEST(VolumesBinding, WhatIsMeantForAClaimCountsBeforeAllElse) {
  Nodes n;
  n.has(makeClass("local"));
  n.has(makeVolumeClaim("data"));
  auto meant = makeVolume("meant", 50);
  meant.is_available = false;
  meant.affinity = onlyWith("zone", {"2"});
  meant.claim = model::ClaimRef{{"default", "data"}, Uid{"claim-data"}};
  n.has(meant);
  n.has(makeVolume("pv"));
  EXPECT_EQ(n.takers(mounting("p", {"data"})), "c") << "not where it cannot be reached, though another can";
}

TEST(VolumesBinding, WhatIsNotThereIsMade) {
  Nodes n;
  auto of = makeClass("local", "d");
  of.topologies = {{{{"zone", model::LabelRequirement::Op::In, {"1"}}}}};
  n.has(of);
  n.has(makeVolumeClaim("data"));
  EXPECT_EQ(n.takers(mounting("p", {"data"})), "ab");
  EXPECT_EQ(n.refused(mounting("p", {"data"}), "c"), Reason::NoVolumeToBind);
  const auto choices = n.volumes.choose(mounting("p", {"data"}), n.node("a"));
  ASSERT_TRUE(choices);
  EXPECT_EQ(*choices, (VolumeChoices{{}, {{"default", "data"}}}));
  of.topologies = {{}};
  n.has(of);
  EXPECT_EQ(n.takers(mounting("p", {"data"})), "") << "an empty term matches nothing";
}

TEST(VolumesBinding, ASelectedNodeStays) {
  Nodes n;
  n.has(makeClass("local", "d"));
  auto claim = makeVolumeClaim("data");
  claim.selected_node = model::NodeName{"b"};
  n.has(claim);
  n.has(makeVolume("pv"));
  EXPECT_EQ(n.takers(mounting("p", {"data"})), "b");
  const auto choices = n.volumes.choose(mounting("p", {"data"}), n.node("b"));
  ASSERT_TRUE(choices);
  EXPECT_TRUE(choices->matches.empty()) << "its volume is being made";
}

TEST(VolumesBinding, StorageMayBeUsedUp) {
  Nodes n;
  n.has(makeClass("local", "d"));
  n.has(makeVolumeClaim("data", 10));
  model::CsiDriver driver;
  driver.key = {"", "d"};
  driver.tells_capacity = true;
  n.has(driver);
  EXPECT_EQ(n.refused(mounting("p", {"data"}), "a"), Reason::TooLittleStorage);
  model::CsiStorageCapacity room;
  room.key = {"ns", "room"};
  room.storage_class = "local";
  room.nodes = model::LabelSelector{{{"host", model::LabelRequirement::Op::In, {"a"}}}};
  room.most = 9;
  n.has(room);
  EXPECT_EQ(n.takers(mounting("p", {"data"})), "");
  room.most = 10;
  n.has(room);
  EXPECT_EQ(n.takers(mounting("p", {"data"})), "a");
  room.nodes = model::LabelSelector{};
  n.has(room);
  EXPECT_EQ(n.takers(mounting("p", {"data"})), "abc");
  n.volumes.putCapacity(room.key, nullptr);
  EXPECT_EQ(n.takers(mounting("p", {"data"})), "");
  auto any = makeVolumeClaim("data");
  any.size = std::nullopt;
  n.has(any);
  EXPECT_EQ(n.takers(mounting("p", {"data"})), "abc") << "who asks for no size is not asked for one";
}

// ---- VolumeZone

TEST(VolumesZone, LabelsOfAVolumeAreANodesToo) {
  struct Row {
    model::Labels node;
    bool fits;
  };
  Nodes n;
  auto volume = makeVolume("pv");
  volume.zones = {{model::kBetaZoneLabel, {"z1", "z2"}}};
  n.has(volume);
  n.has(boundTo(makeVolumeClaim("data"), "pv"));
  for (const Row& row : {Row{{}, true}, Row{{{model::kBetaZoneLabel, "z1"}}, true},
                         Row{{{model::kBetaZoneLabel, "z3"}}, false}, Row{{{model::kZoneLabel, "z2"}}, true},
                         Row{{{model::kZoneLabel, "z3"}}, false}, Row{{{model::kRegionLabel, "r"}}, false}}) {
    model::Node node = n.node("a");
    node.labels = row.node;
    n.comes(node);
    EXPECT_EQ(n.refused(mounting("p", {"data"}), "a"),
              row.fits ? std::nullopt : std::optional{Reason::VolumeInOtherZone});
  }
}

// ---- What was chosen

TEST(VolumesAssume, OthersDoNotChooseTheSame) {
  Nodes n;
  n.has(makeClass("local"));
  n.has(makeVolumeClaim("one"));
  n.has(makeVolumeClaim("two"));
  n.has(makeVolume("pv"));
  const auto first = mounting("first", {"one"});
  const auto choices = n.volumes.choose(first, n.node("a"));
  ASSERT_TRUE(choices);
  n.volumes.assume(first, model::NodeName{"a"}, *choices);
  ASSERT_NE(n.volumes.assumed(first.uid), nullptr);
  EXPECT_EQ(n.takers(mounting("second", {"two"})), "");
  EXPECT_EQ(n.takers(mounting("with", {"one"})), "abc") << "the same claim has the same volume";
  n.volumes.forget(first.uid);
  EXPECT_EQ(n.volumes.assumed(first.uid), nullptr);
  EXPECT_EQ(n.takers(mounting("second", {"two"})), "abc");
  n.volumes.forget(first.uid);
}

TEST(VolumesAssume, AClaimIsMadeForOneNode) {
  Nodes n;
  n.has(makeClass("local", "d"));
  n.has(makeVolumeClaim("shared"));
  const auto first = mounting("first", {"shared"});
  const auto second = mounting("second", {"shared"});
  n.volumes.podChanged(second, true, false);
  const auto choices = n.volumes.choose(first, n.node("b"));
  ASSERT_TRUE(choices);
  EXPECT_EQ(n.volumes.assume(first, model::NodeName{"b"}, *choices), Volumes::Pods{second.uid});
  EXPECT_EQ(n.takers(second), "b");
  EXPECT_EQ(n.volumes.forget(first.uid), Volumes::Pods{second.uid});
  EXPECT_EQ(n.takers(second), "abc");
}

TEST(VolumesAssume, CountsUntilThePodRuns) {
  LimitedNode n;
  n.bound("one", "h1");
  n.bound("two", "h2");
  const auto first = mounting("first", {"one"});
  n.volumes.assume(first, model::NodeName{"a"}, {});
  EXPECT_EQ(n.refused(mounting("p", {"two"}), "a"), Reason::TooManyVolumes);
  n.runs(first, "a");
  n.volumes.forget(first.uid);
  EXPECT_EQ(n.refused(mounting("p", {"two"}), "a"), Reason::TooManyVolumes) << "it is there";
  n.volumes.podChanged(first, false, false);
  EXPECT_EQ(n.refused(mounting("p", {"two"}), "a"), std::nullopt);
}

// ---- Selections

TEST(VolumeSelections, ArePodsOfOneSetTogether) {
  Nodes n;
  n.has(makeClass("local", "d"));
  VolumeSelections all{n.volumes};
  for (const char* name : {"data-0", "data-1"}) { n.has(makeVolumeClaim(name)); }
  const auto zero = all.of(mounting("0", {"data-0"}));
  const auto one = all.of(mounting("1", {"data-1"}));
  ASSERT_NE(zero.selection, nullptr);
  EXPECT_EQ(zero.selection, one.selection);
  EXPECT_EQ(all.of(mounting("x", {"missing"})).blocked.kind, "VolumeClaimMissing");
  EXPECT_EQ(all.of(mounting("none", {})).selection, nullptr);
  for (const char* name : {"data-0", "data-1"}) {
    auto volume = makeVolume(std::string{"pv-"} + name);
    volume.driver = "d";
    volume.handle = name;
    volume.claim = model::ClaimRef{{"default", name}, {}};
    volume.affinity = onlyWith("zone", {"1"});
    n.has(volume);
    n.has(boundTo(makeVolumeClaim(name), volume.key.name));
  }
  const auto bound = all.of(mounting("0", {"data-0"}));
  EXPECT_NE(bound.selection, zero.selection);
  EXPECT_EQ(bound.selection, all.of(mounting("1", {"data-1"})).selection);
  n.runs(mounting("other", {"data-1"}), "a");
  EXPECT_NE(bound.selection, all.of(mounting("1", {"data-1"})).selection)
      << "where it is attached already it counts once";
}

TEST(VolumeSelections, AreForgottenWhenNobodyHasThem) {
  Nodes n;
  n.has(makeClass("local", "d"));
  VolumeSelections all{n.volumes};
  for (int i = 0; i < 1000; ++i) {
    n.has(makeVolumeClaim("data", i + 1));
    EXPECT_NE(all.of(mounting("p", {"data"})).selection, nullptr);
  }
  EXPECT_LT(all.known(), 130U);
}

}  // namespace
}  // namespace gs::sched
