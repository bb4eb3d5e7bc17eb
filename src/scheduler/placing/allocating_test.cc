// What is asked of a DRA driver that a file names (dra/file/driver_file.h), for a pod with a limit.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "dra/drivers.h"
#include "model/dra.h"
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

}  // namespace
}  // namespace gs::scheduler
