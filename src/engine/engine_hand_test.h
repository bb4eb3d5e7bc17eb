// An engine that is fed by hand, with a node of four GPUs, for the tests of this folder.
// Included by tests only.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "dra/drivers.h"
#include "engine/engine.h"
#include "kapi/kinds.h"
#include "testing/builders.h"

namespace gs::engine {

using namespace std::chrono_literals;
using sched::DeviceUse;
using testing::PodBuilder;

class EngineTest : public ::testing::Test {
 protected:
  explicit EngineTest(dra::Drivers drivers = dra::knownDrivers())
      : engine{sched::kDoors, std::move(drivers)} {
    nodeComes("node-a");
    statusComes(testing::makeStatus("node-a", 4));
    engine.synced(now);
  }
  template <class T>
  static model::Ptr<T> shared(T value) {
    return std::make_shared<const T>(std::move(value));
  }
  void nodeComes(const char* name) {
    engine.apply({kapi::kNode, {"", name}, {}, shared(testing::makeNode(name)), 1}, now);
  }
  void statusComes(const model::GpuNodeStatus& status) {
    engine.apply({kapi::kGpuNodeStatus, {"", status.node.text}, {}, shared(status), status.revision}, now);
  }
  void comes(const PodBuilder& pod) {
    engine.apply({kapi::kPod, pod.value().key, {}, pod.make(), pod.value().revision}, now);
  }
  void goes(const PodBuilder& pod) {
    engine.apply({kapi::kPod, pod.value().key, pod.value().uid, {}, pod.value().revision + 1}, now);
  }
  void comes(const model::Lease& lease) {
    engine.apply({kapi::kLease, lease.key, {}, shared(lease), lease.revision}, now);
  }
  void goes(const model::Lease& lease) {
    engine.apply({kapi::kLease, lease.key, lease.uid, {}, lease.revision + 1}, now);
  }
  /// The watch says so, and how it was then.
  void goesAs(const PodBuilder& pod) {
    engine.apply({kapi::kPod, pod.value().key, pod.value().uid, {}, pod.value().revision, pod.make()}, now);
  }
  /// An ended pod's GPUs are free when the agent no longer sees it.
  void agentLooks() {
    auto seen = testing::makeStatus("node-a", 4);
    seen.revision = 2;
    seen.observed_time = "t0";
    statusComes(seen);
    const auto agent = PodBuilder("agent").on("node-a").agent(true).make();
    engine.apply({kapi::kPod, {"kube-system", "agent"}, {}, agent, 1}, now);
  }
  /// Its next look: who uses GPU 1.
  void agentSeesOn1(int revision, std::vector<model::Uid> users) {
    auto seen = testing::makeStatus("node-a", 4);
    seen.revision = static_cast<model::Revision>(revision);
    seen.observed_time = "t" + std::to_string(revision);
    seen.devices[1].in_use_by = std::move(users);
    statusComes(seen);
  }
  [[nodiscard]] static model::Lease leaseOf(const PodBuilder& pod, int gpu) {
    return testing::makeLease("node-a", gpu, pod.value(), "r1", "node-a:" + std::to_string(gpu));
  }
  [[nodiscard]] const sched::NodeState& node() const {
    return *engine.ledger().find(model::NodeName{"node-a"});
  }
  [[nodiscard]] DeviceUse use(int id) const { return node().device(id)->use(); }

  Engine engine;
  Mono now{1h};
};

}  // namespace gs::engine
