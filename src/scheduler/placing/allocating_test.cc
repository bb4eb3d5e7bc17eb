// What is asked of a DRA driver that a file names (dra/file/driver_file.h), for a pod with a limit.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "dra/drivers.h"
#include "model/dra.h"
#include "sched/volumes/volumes_hand_test.h"
#include "scheduler/parts_test.h"
#include "scheduler/placing/binder.h"

namespace gs::scheduler {
namespace {

constexpr const char* kCards = "gpu.example.com";

Config withCards() {
  Config config = TestParts::kubes();
  config.drivers.push_back({.name = kCards,
                            .resource = model::kNvidiaGpu,
                            .device_class = "whole-cards",
                            .uuid = {},
                            .kind = {},
                            .whole = "",
                            .product = {},
                            .memory = {}});
  return config;
}

/// Node "a" with a card of that driver, and a pod that asks for one.
class AllocatingTest : public ::testing::Test {
 protected:
  AllocatingTest() {
    model::Node node = testing::makeNode("a");
    node.kubelet = "v1.36.3";
    comes(kapi::kNode, {"", "a"}, std::move(node));
    model::ResourceSlice slice;
    slice.key = {"", "slice-a"};
    slice.uid = model::Uid{"slice-a"};
    slice.driver = kCards;
    slice.pool = "a";
    slice.generation = 1;
    slice.slices = 1;
    slice.node = model::NodeName{"a"};
    slice.devices.emplace_back().name = "card-0";
    comes(kapi::kResourceSlice, slice.key, slice);
    model::Pod pod = testing::PodBuilder{"p"}.gpus(1).value();
    pod.gpu_limits = {{"main", 1}};
    comes(kapi::kPod, pod.key, pod);
  }
  template <class T>
  void comes(kapi::Kind kind, const model::ObjectKey& key, T object) {
    object.revision = ++revision_;
    const auto shared = std::make_shared<const T>(std::move(object));
    t.c.engine.apply({kind, key, {}, shared, revision_}, t.c.now.mono);
  }
  /// The one call that leaves.
  kapi::Call next() {
    t.work();
    auto calls = t.calls();
    EXPECT_EQ(calls.size(), 1U);
    return calls.empty() ? kapi::Call{} : std::move(calls.front());
  }

  TestParts t{withCards()};

 private:
  model::Revision revision_ = 1'000;
};

TEST_F(AllocatingTest, ALimitIsServedByTheClassOfItsNodesDriver) {
  const model::PodPtr pod = t.known("p");
  t.binder.begin(*pod, t.requestOf(*pod), {model::NodeName{"a"}, {0}});
  const kapi::Call lease = next();
  ASSERT_EQ(lease.kind, kapi::kLease);
  t.apply(lease);
  const kapi::Call claim = next();
  ASSERT_EQ(claim.kind, kapi::kResourceClaim) << "it was given up";
  EXPECT_EQ(claim.verb, kapi::Verb::Create);
  const json::Value& asked = claim.body["spec"]["devices"]["requests"];
  ASSERT_EQ(asked.items().size(), 1U);
  EXPECT_EQ(asked.at(0)["exactly"]["deviceClassName"].str(), "whole-cards");
  EXPECT_EQ(asked.at(0)["exactly"]["count"].integer(), 1);
}

TEST_F(AllocatingTest, ItsVolumesAreBoundBeforeItsClaimIsAllocated) {
  comes(kapi::kStorageClass, {"", "made"}, sched::makeClass("made", "driver"));
  model::PersistentVolumeClaim data = sched::makeVolumeClaim("data");
  data.storage_class = "made";
  data.selected_node = model::NodeName{"a"};
  comes(kapi::kPersistentVolumeClaim, data.key, data);
  model::Pod pod = *t.known("p");
  pod.volume_claims = {{"data", false}};
  comes(kapi::kPod, pod.key, pod);
  t.binder.begin(*t.known("p"), t.requestOf(*t.known("p")), {model::NodeName{"a"}, {0}});
  t.apply(next());
  t.work();
  EXPECT_TRUE(t.calls().empty());
  EXPECT_EQ(t.binder.stageOf(pod.uid), Stage::Volumes);
  const model::PersistentVolume volume = sched::makeVolume("pv");
  comes(kapi::kPersistentVolume, volume.key, volume);
  comes(kapi::kPersistentVolumeClaim, data.key, sched::boundTo(data, "pv"));
  t.c.reconciles.add(pod.uid);
  EXPECT_EQ(next().kind, kapi::kResourceClaim);
  EXPECT_EQ(t.binder.stageOf(pod.uid), Stage::Allocating);
  EXPECT_EQ(t.slots.used(), 1);
}

}  // namespace
}  // namespace gs::scheduler
