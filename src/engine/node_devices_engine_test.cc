// What DRA drivers publish, as the engine's ledger has it.
#include <optional>
#include <string_view>

#include "engine/dra_nodes_hand_test.h"

namespace gs::engine {
namespace {

using model::Health;

/// Without an agent the slices alone say what there is.
TEST_F(DraNodes, SlicesAreDevicesOfTheNode) {
  sliceComes(slice("node-d", {gpu(0), gpu(1)}));
  EXPECT_TRUE(node().has_status);
  EXPECT_TRUE(node().enforces);
  EXPECT_EQ(node().dra_resource, "nvidia.com/gpu");
  EXPECT_EQ(node().whole, 2);
  EXPECT_EQ(node().device(1)->facts.dra, (model::DeviceName{"gpu.nvidia.com", "node-d", "gpu-1"}));
  moves();
  EXPECT_FALSE(node().has_status);
  EXPECT_EQ(node().dra_resource, "");
  EXPECT_EQ(node().whole, 0);
}

/// Whatever came first, and when the agent's status goes, what the driver publishes stays.
TEST_F(DraNodes, SlicesAndTheAgentsStatusAreOne) {
  for (const bool slice_first : {true, false}) {
    auto status = testing::makeStatus("node-d", 2);
    status.revision = ++revision;
    status.devices[0].uuid = "GPU-d-1";
    status.devices[1].uuid = "GPU-d-0";
    if (slice_first) { sliceComes(slice("node-d", {gpu(0), gpu(1)})); }
    statusComes(status);
    if (!slice_first) { sliceComes(slice("node-d", {gpu(0), gpu(1)})); }
    EXPECT_EQ(node().device(0)->facts.dra.device, "gpu-1");
    EXPECT_EQ(node().device(1)->facts.dra.device, "gpu-0");
    EXPECT_EQ(node().whole, 2);
    engine.apply({kapi::kGpuNodeStatus, {"", "node-d"}, {}, {}, ++revision}, now);
    ASSERT_TRUE(node().has_status);
    EXPECT_EQ(node().device(0)->facts.dra.device, "gpu-0") << "in PCI order";
    moves();
    EXPECT_FALSE(node().has_status);
  }
}

/// Of the agent's status the newest counts, whatever the slices do beside it.
TEST(NodeDevicesTest, AnOlderReportChangesNothing) {
  NodeDevices devices;
  const auto report = [](const char* uid, model::Revision revision) {
    auto status = testing::makeStatus("node-d", 1);
    status.uid = model::Uid{uid};
    status.revision = revision;
    return std::make_shared<const model::GpuNodeStatus>(status);
  };
  EXPECT_FALSE(devices.report(kDraNode, nullptr));
  EXPECT_TRUE(devices.report(kDraNode, report("u", 5)));
  for (const model::Revision revision : {4U, 5U}) {
    EXPECT_FALSE(devices.report(kDraNode, report("u", revision)));
  }
  EXPECT_EQ(devices.of(kDraNode)->revision, 5U);
  EXPECT_TRUE(devices.report(kDraNode, report("u", 6)));
  EXPECT_TRUE(devices.report(kDraNode, report("v", 3))) << "another object of the name";
  EXPECT_EQ(devices.of(kDraNode)->uid, model::Uid{"v"});
  EXPECT_TRUE(devices.report(kDraNode, nullptr));
  EXPECT_EQ(devices.of(kDraNode), nullptr);
}

/// Who keeps it repeats what the driver publishes, or has yet to look: nothing is decided by it, and when the
/// first look comes it counts as any.
TEST_F(DraNodes, AStatusWithoutALookIsAsGoodAsNone) {
  const auto holder = PodBuilder("p").on("node-d").allocated("node-d:0");
  comes(holder);
  for (const bool with_slices : {false, true}) {
    if (with_slices) { sliceComes(slice("node-d", {gpu(0), gpu(1)})); }
    const std::string before = engine.ledger().dump();
    for (const auto writer : {model::Writer::Scheduler, model::Writer::Agent}) {
      auto status = testing::makeStatus("node-d", 4);
      status.revision = ++revision;
      status.writer = writer;
      statusComes(status);
      EXPECT_EQ(engine.ledger().dump(), before);
      EXPECT_EQ(engine.nodeDevices().reported(kDraNode), nullptr);
      ASSERT_NE(engine.nodeDevices().kept(kDraNode), nullptr);
      EXPECT_EQ(engine.nodeDevices().kept(kDraNode)->writer, writer);
      EXPECT_TRUE(engine.nodeDevices().ofDrivers().contains(kDraNode));
      engine.apply({kapi::kGpuNodeStatus, {"", "node-d"}, {}, {}, ++revision}, now);
      EXPECT_EQ(engine.ledger().dump(), before);
      EXPECT_EQ(engine.nodeDevices().kept(kDraNode), nullptr);
    }
    auto status = testing::makeStatus("node-d", 4);
    status.revision = ++revision;
    status.writer = model::Writer::Scheduler;
    statusComes(status);
    status.revision = ++revision;
    status.observed_time = "t1";
    statusComes(status);
    EXPECT_EQ(engine.nodeDevices().kept(kDraNode), nullptr);
    EXPECT_NE(engine.nodeDevices().reported(kDraNode), nullptr);
    EXPECT_NE(engine.ledger().dump(), before);
    engine.apply({kapi::kGpuNodeStatus, {"", "node-d"}, {}, {}, ++revision}, now);
  }
}

/// A pod that ends there waits as it would without such a status, and a node counts as one without an agent.
TEST_F(DraNodes, AStatusWithoutALookFreesNothing) {
  sliceComes(slice("node-d", {gpu(0)}));
  auto status = testing::makeStatus("node-d", 1);
  status.revision = ++revision;
  status.writer = model::Writer::Scheduler;
  statusComes(status);
  const auto pod = PodBuilder("p").on("node-d").allocated("node-d:0");
  comes(pod);
  ASSERT_EQ(node().free_devices, 0);
  goes(pod);
  status.revision = ++revision;
  statusComes(status);
  engine.tick(now);
  EXPECT_EQ(node().free_devices, 0) << "nobody says that its containers ended";
  now += kAgentGone + 1s;
  engine.tick(now);
  EXPECT_EQ(node().free_devices, 1);
}

TEST_F(DraNodes, ANodeIsTouchedBySlicesStatusesAndItself) {
  const auto touched = [this] { return engine.takeTouchedNodes().contains(kDraNode); };
  (void)touched();
  EXPECT_FALSE(touched());
  sliceComes(slice("node-d", {gpu(0)}));
  EXPECT_TRUE(touched());
  auto status = testing::makeStatus("node-d", 1);
  status.revision = ++revision;
  statusComes(status);
  EXPECT_TRUE(touched());
  ruleComes("");
  EXPECT_TRUE(touched());
  sliceGoes("node-d");
  EXPECT_TRUE(touched());
  engine.apply({kapi::kNode, {"", "node-d"}, {}, {}, ++revision}, now);
  EXPECT_TRUE(touched());
  nodeComes("node-d");
  engine.forgetTouched();
  EXPECT_FALSE(touched()) << "who does not lead writes nothing";
}

/// A device that vanished is what a lost GPU is: who has it keeps it, and nobody else gets it.
TEST_F(DraNodes, ADeviceThatVanishedIsHeldByWhoHasIt) {
  sliceComes(slice("node-d", {gpu(0), gpu(1)}));
  const auto pod = PodBuilder("p").on("node-d");
  comes(pod);
  comes(testing::makeLease("node-d", 1, pod.value(), "r-1", "node-d:1"));
  ASSERT_EQ(node().device(1)->holders.size(), 1U);
  sliceComes(slice("node-d", {gpu(0)}));
  ASSERT_NE(node().device(1), nullptr);
  EXPECT_FALSE(node().device(1)->listed);
  EXPECT_EQ(node().device(1)->holders.size(), 1U);
  EXPECT_EQ(node().free_devices, 1);
}

TEST_F(DraNodes, ATaintRuleCountsWhileItIsThere) {
  sliceComes(slice("node-d", {gpu(0), gpu(1)}));
  ruleComes("node-d");
  EXPECT_EQ(health(0), Health::Unhealthy);
  EXPECT_EQ(node().device(0)->facts.health_reason, "device taint fan:NoSchedule, by DeviceTaintRule rule");
  ruleComes("another");
  EXPECT_EQ(health(0), Health::Healthy);
  ruleComes("");
  EXPECT_EQ(health(0), Health::Unhealthy);
  ruleGoes();
  EXPECT_EQ(health(0), Health::Healthy);
}

/// A rule for all devices of a large cluster: no event looks at all of its nodes.
TEST_F(DraNodes, ARuleForManyNodesIsSpreadOverTurns) {
  constexpr int kNodes = 600;
  for (int i = 0; i < kNodes; ++i) {
    const std::string name = "n-" + std::to_string(i);
    nodeComes(name.c_str());
    sliceComes(slice(name, {gpu(0)}));
  }
  const auto unhealthy = [&] {
    int count = 0;
    for (int i = 0; i < kNodes; ++i) {
      const auto* device = node(model::NodeName{"n-" + std::to_string(i)}).device(0);
      count += device->facts.health == Health::Unhealthy ? 1 : 0;
    }
    return count;
  };
  ruleComes("");
  EXPECT_EQ(unhealthy(), 0);
  int turns = 0;
  while (engine.nextDue() && *engine.nextDue() <= now) {
    const int before = unhealthy();
    engine.tick(now);
    EXPECT_LE(unhealthy() - before, 256);
    ASSERT_LT(++turns, 10);
  }
  EXPECT_EQ(unhealthy(), kNodes);
  EXPECT_EQ(turns, 3);
}

/// A driver that a file names (dra/file/driver_file.h), with two cards and a half on node-d. What containers
/// call its GPUs is the parameter.
class DraNodesOfAFile : public DraNodes, public ::testing::WithParamInterface<const char*> {
 protected:
  static constexpr const char* kDriver = "gpu.example.com";

  DraNodesOfAFile() : DraNodes{ofAFile()} {
    model::Node node = testing::makeNode("node-d");
    node.revision = 2;
    node.kubelet = "v1.36.3";
    engine.apply({kapi::kNode, {"", "node-d"}, {}, shared(node), node.revision}, now);
    auto published = slice("node-d", {card(0, "card"), card(1, "card"), card(2, "half")});
    published.driver = kDriver;
    sliceComes(published);
  }
  static dra::Drivers ofAFile() {
    auto drivers = dra::knownDrivers();
    drivers.push_back({.name = kDriver,
                       .resource = GetParam(),
                       .device_class = "cards",
                       .uuid = {kDriver, "serial"},
                       .kind = {kDriver, "kind"},
                       .whole = "card",
                       .product = {},
                       .memory = {}});
    return drivers;
  }
  static model::SliceDevice card(int i, const std::string& kind) {
    model::SliceDevice d;
    d.name = "card-" + std::to_string(i);
    d.attributes[{kDriver, "kind"}] = kind;
    d.attributes[{kDriver, "serial"}] = "SN-" + std::to_string(i);
    return d;
  }
  std::optional<sched::Placed> decided(const PodBuilder& pod) {
    const auto read = sched::readPod(pod.value(), engine.deviceClaims().asked(pod.value()), engine.doors());
    const auto* request = std::get_if<sched::PodRequest>(&read);
    EXPECT_NE(request, nullptr) << std::get<sched::Blocked>(read).text;
    if (request == nullptr) { return std::nullopt; }
    return engine.decider().decide(engine.decider().classOf(*request));
  }
};
INSTANTIATE_TEST_SUITE_P(OfEachResource, DraNodesOfAFile,
                         ::testing::Values(model::kNvidiaGpu, "example.com/gpu"),
                         [](const auto& info) { return info.index == 0 ? "Served" : "NotServed"; });

TEST_P(DraNodesOfAFile, ItsWholeGpusAreThoseOfTheNode) {
  EXPECT_EQ(engine.drivers().size(), dra::knownDrivers().size() + 1);
  EXPECT_EQ(node().dra_resource, GetParam());
  EXPECT_EQ(node().whole, 2);
  EXPECT_EQ(node().device(1)->facts.dra, (model::DeviceName{kDriver, "node-d", "card-1"}));
  EXPECT_EQ(node().device(1)->facts.uuid, "SN-1");
  EXPECT_EQ(node().device(2), nullptr);
}

/// Pods ask by limits of nvidia.com/gpu only.
TEST_P(DraNodesOfAFile, LimitsAreServedWhereTheyAreOfItsResource) {
  const bool serves = std::string_view{GetParam()} == model::kNvidiaGpu;
  const auto placed = decided(PodBuilder("p").gpus(2));
  ASSERT_EQ(placed.has_value(), serves);
  if (serves) {
    EXPECT_EQ(placed->node, kDraNode);
    EXPECT_EQ(placed->ids, (std::vector{0, 1}));
  }
  EXPECT_FALSE(decided(PodBuilder("q").gpus(3))) << "a half is no GPU";
}

TEST_P(DraNodesOfAFile, ResourceClaimsAreServed) {
  model::DeviceClass cards;
  cards.key = {"", "cards"};
  cards.revision = ++revision;
  cards.selectors = {"device.driver == 'gpu.example.com'"};
  engine.apply({kapi::kDeviceClass, cards.key, {}, shared(cards), cards.revision}, now);
  model::DeviceSubRequest two;
  two.device_class = "cards";
  two.count = 2;
  model::ResourceClaim claim;
  claim.key = {"default", "c"};
  claim.uid = model::Uid{"uid-c"};
  claim.revision = ++revision;
  claim.requests = {{"r", {two}}};
  engine.apply({kapi::kResourceClaim, claim.key, {}, shared(claim), claim.revision}, now);
  const auto placed = decided(PodBuilder("p").resourceClaim("c"));
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->node, kDraNode);
  EXPECT_EQ(placed->ids, (std::vector{0, 1}));
}

}  // namespace
}  // namespace gs::engine
