// Pods whose claims of volumes are not bound yet: their leases, then their volumes, then the Binding.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/annotations.h"
#include "sched/volumes/volumes_hand_test.h"
#include "scheduler/parts_test.h"
#include "scheduler/placing/binder.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;

std::string sentAs(const kapi::Call& call) {
  const std::string kind{call.kind->plural};
  switch (call.verb) {
    case kapi::Verb::Get: return "get " + kind;
    case kapi::Verb::Create: return "create " + (call.subresource.empty() ? kind : call.subresource);
    case kapi::Verb::Update: return "update " + kind;
    case kapi::Verb::Delete: return "delete " + kind;
    default: return "patch " + kind;
  }
}

/// Pod p has been given GPU 0 of node a, and claims "data", whose volume is made by a driver.
class BindingVolumes : public ::testing::Test {
 protected:
  BindingVolumes() {
    t.claim("one", 1);
    t.node("a", 4);
    comes(kapi::kStorageClass, sched::makeClass("made", "driver"));
    claim.storage_class = "made";
    claim = comes(kapi::kPersistentVolumeClaim, claim);
    pod = testing::PodBuilder{"p"}.claim("one").value();
    pod.volume_claims = {{"data", false}};
  }
  template <class T>
  T comes(kapi::Kind kind, T object) {
    object.revision = ++revision_;
    t.c.engine.apply({kind, object.key, {}, sched::kept(object), revision_}, t.c.now.mono);
    return object;
  }
  /// Decided, and its lease is held.
  void begin() {
    pod = comes(kapi::kPod, pod);
    t.binder.begin(pod, t.requestOf(pod), {model::NodeName{"a"}, {0}});
    EXPECT_EQ(leaving(), "create leases");
    t.apply(call);
  }
  /// Until its volume is waited for.
  void waits() {
    begin();
    EXPECT_EQ(leaving(), "patch persistentvolumeclaims");
    claim.selected_node = model::NodeName{"a"};
    t.answer(call, kapi::CallResult::Applied, 200, model::Object{sched::kept(claim)});
    claim = comes(kapi::kPersistentVolumeClaim, claim);
    EXPECT_EQ(leaving(), "");
    EXPECT_EQ(t.binder.stageOf(pod.uid), Stage::Volumes);
  }
  void boundTo(const model::VolumeAffinity& affinity) {
    model::PersistentVolume volume = sched::makeVolume("pv");
    volume.affinity = affinity;
    volume.claim = model::ClaimRef{claim.key, claim.uid};
    volume.is_available = false;
    comes(kapi::kPersistentVolume, volume);
    claim = comes(kapi::kPersistentVolumeClaim, sched::boundTo(claim, "pv"));
  }
  /// What leaves now; the last one is `call`.
  std::string leaving() {
    t.c.reconciles.add(t.c.engine.takeTouched());
    t.work();
    std::string out;
    for (auto& one : t.calls()) {
      if (one.kind == kapi::kEvent) { continue; }
      out += (out.empty() ? "" : ", ") + sentAs(one);
      call = std::move(one);
    }
    return out;
  }
  /// Everything was given back.
  void expectGivenBack() {
    EXPECT_EQ(leaving(), "delete leases");
    t.apply(call);
    EXPECT_EQ(leaving(), "");
    EXPECT_FALSE(t.binder.has(pod.uid));
    EXPECT_EQ(t.freeOn("a"), 4);
    EXPECT_EQ(t.c.engine.volumes().assumed(pod.uid), nullptr);
    EXPECT_EQ(t.slots.used(), 0);
  }

  TestParts t{Config{}};
  model::PersistentVolumeClaim claim = sched::makeVolumeClaim("data");
  model::Pod pod;
  kapi::Call call;

 private:
  model::Revision revision_ = 1'000;
};

TEST_F(BindingVolumes, ComeAfterTheLeasesAndBeforeTheBinding) {
  waits();
  boundTo({});
  EXPECT_EQ(leaving(), "create binding");
  EXPECT_EQ(t.binder.stageOf(pod.uid), Stage::Binding);
  t.apply(call);
  EXPECT_EQ(t.binder.stageOf(pod.uid), Stage::Bound);
  EXPECT_EQ(t.freeOn("a"), 3);
}

TEST_F(BindingVolumes, CostNothingWhereTheyAreBound) {
  boundTo({});
  begin();
  EXPECT_EQ(leaving(), "create binding");
}

// Its GPU is its own, and of its namespace's places it has none.
TEST_F(BindingVolumes, HoldNoPlaceWhileTheyAreWaitedFor) {
  waits();
  EXPECT_EQ(t.freeOn("a"), 3);
  EXPECT_EQ(t.slots.used(), 0);
  EXPECT_EQ(t.slots.free("default"), Slots::kFirst);
  EXPECT_FALSE(t.binder.underWay()) << "who stops leaves it to the next leader";
  EXPECT_FALSE(t.binder.writes(pod.uid));
  EXPECT_FALSE(t.binder.reserved(pod.uid));
  t.pass(1s);
  EXPECT_TRUE(t.binder.reserved(pod.uid));
  boundTo({});
  EXPECT_EQ(leaving(), "create binding");
  EXPECT_EQ(t.slots.used(), 1);
  EXPECT_TRUE(t.binder.underWay());
}

TEST_F(BindingVolumes, GiveBackWhatWasDecidedWhereNoneCouldBeMade) {
  waits();
  claim.selected_node.reset();
  claim = comes(kapi::kPersistentVolumeClaim, claim);
  expectGivenBack();
  EXPECT_FALSE(t.pending.mayTry(pod.uid)) << "not at once";
  EXPECT_EQ(t.pending.whyWaiting(pod.uid).find("no volume could be made"), 0U)
      << t.pending.whyWaiting(pod.uid);
}

TEST_F(BindingVolumes, GiveBackWhatWasDecidedWhereItsNodeDoesNotReachThem) {
  waits();
  boundTo(sched::onlyWith("zone", {"elsewhere"}));
  expectGivenBack();
}

TEST_F(BindingVolumes, AreWaitedForNoLongerThanTenMinutes) {
  waits();
  t.pass(VolumeDesk::kWaitAtMost - 1s);
  EXPECT_EQ(leaving(), "");
  t.pass(1s);
  expectGivenBack();
  EXPECT_EQ(t.pending.whyWaiting(pod.uid), "PersistentVolumeClaim default/data was not bound within 600 s");
}

// The pod is being told something, so that its Binding cannot leave yet.
TEST_F(BindingVolumes, GiveBackWhatWasDecidedWhereTheyAreBoundNoMoreBeforeTheBinding) {
  bool is_told = false;
  t.pending.alsoWrites([&](const model::Uid& /*uid*/) { return is_told; });
  waits();
  is_told = true;
  boundTo({});
  EXPECT_EQ(leaving(), "");
  EXPECT_EQ(t.binder.stageOf(pod.uid), Stage::Volumes);
  claim.is_lost = true;
  claim = comes(kapi::kPersistentVolumeClaim, claim);
  is_told = false;
  expectGivenBack();
}

TEST_F(BindingVolumes, AreNotWaitedForOnceThePodIsDeleted) {
  waits();
  pod.deleting = true;
  pod = comes(kapi::kPod, pod);
  expectGivenBack();
}

// Somebody else leads, and decides about it.
TEST_F(BindingVolumes, AreNotWaitedForOnceThePodIsFenced) {
  waits();
  pod.annotations[model::kFenceKey] = "of another leader";
  pod = comes(kapi::kPod, pod);
  expectGivenBack();
}

TEST_F(BindingVolumes, AMissingRightIsTold) {
  begin();
  EXPECT_EQ(leaving(), "patch persistentvolumeclaims");
  t.refuse(call, 403);
  expectGivenBack();
  EXPECT_NE(t.pending.whyWaiting(pod.uid).find("the right to patch persistentvolumeclaims"),
            std::string::npos)
      << t.pending.whyWaiting(pod.uid);
}

TEST_F(BindingVolumes, KeepTheirLeases) {
  waits();
  const auto key = t.c.leaseKey(model::NodeName{"a"}, 0);
  const model::Uid lease = t.c.cache().lease(key)->uid;
  t.c.engine.leaseGone(key, lease);
  t.c.reconciles.add(pod.uid);
  EXPECT_EQ(leaving(), "create leases");
  EXPECT_EQ(t.slots.used(), 1);
  t.apply(call);
  EXPECT_EQ(leaving(), "");
  EXPECT_EQ(t.binder.stageOf(pod.uid), Stage::Volumes);
  EXPECT_EQ(t.slots.used(), 0);
  boundTo({});
  EXPECT_EQ(leaving(), "create binding");
}

TEST_F(BindingVolumes, AreWaitedForByTheNextLeader) {
  waits();
  t.binder.reset();
  t.volumes.reset();
  t.desk.reset();
  t.slots.reset();
  EXPECT_EQ(t.freeOn("a"), 3) << "its lease names it";
  ASSERT_TRUE(t.leftovers.adopt(*t.known("p")));
  EXPECT_EQ(leaving(), "update leases");
  t.apply(call);
  EXPECT_EQ(leaving(), "") << "its claim was told the node";
  EXPECT_EQ(t.binder.stageOf(pod.uid), Stage::Volumes);
  boundTo({});
  EXPECT_EQ(leaving(), "create binding");
}

TEST_F(BindingVolumes, OfAnotherNodeAreNotAdopted) {
  waits();
  t.binder.reset();
  t.volumes.reset();
  t.desk.reset();
  t.slots.reset();
  claim.selected_node = model::NodeName{"b"};
  claim = comes(kapi::kPersistentVolumeClaim, claim);
  EXPECT_FALSE(t.leftovers.adopt(*t.known("p")));
}

// What it was decided by is not so any more: it is decided anew, a while later.
TEST_F(BindingVolumes, NothingBeginsWhereTheNodeDoesNotTakeThem) {
  pod = comes(kapi::kPod, pod);
  const sched::PodRequest request = t.requestOf(pod);
  claim.selected_node = model::NodeName{"b"};
  claim = comes(kapi::kPersistentVolumeClaim, claim);
  t.binder.begin(pod, request, {model::NodeName{"a"}, {0}});
  EXPECT_FALSE(t.binder.has(pod.uid));
  EXPECT_FALSE(t.pending.mayTry(pod.uid));
  EXPECT_EQ(t.freeOn("a"), 4);
  EXPECT_EQ(leaving(), "");
}

TEST(BindingVolumesOfOthers, AreSeenToByTheirKubeScheduler) {
  TestParts t;
  t.claim("one", 1);
  t.node("a", 4);
  model::Pod pod = testing::PodBuilder{"p"}.scheduler("kube").claim("one").value();
  pod.volume_claims = {{"nobody-knows-it", false}};
  const auto shared = std::make_shared<const model::Pod>(pod);
  t.c.engine.apply({kapi::kPod, pod.key, {}, shared, 1'000}, t.c.now.mono);
  t.binder.begin(pod, t.requestOf(pod), {model::NodeName{"a"}, {0}});
  t.work();
  auto calls = t.calls();
  ASSERT_EQ(calls.size(), 1U);
  t.apply(calls.front());
  t.work();
  calls = t.calls();
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls.front().subresource, "binding");
}

}  // namespace
}  // namespace gs::scheduler
