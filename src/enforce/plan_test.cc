#include "enforce/plan.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/utf8.h"
#include "enforce/fixture_test.h"
#include "enforce/moves.h"
#include "enforce/variables.h"

namespace gs::enforce {
namespace {

using namespace fixture;  // NOLINT: the fixture

std::set<model::DeviceId> setOf(const Ids& ids) { return {ids.begin(), ids.end()}; }

bool has(const Plan& plan, Remark remark) {
  return std::any_of(plan.notes.begin(), plan.notes.end(),
                     [&](const Note& note) { return note.remark == remark; });
}

/// What `pod` sees in the end; `planned` is good.
std::set<model::DeviceId> seenBy(const Node& node, const rpc::nri::Container& container,
                                 const Planned& planned, bool is_nvidia = true) {
  EXPECT_TRUE(planned) << planned.error().text;
  if (!planned) { return {}; }
  const Made made = madeOf(container, planned->adjustment, node.index, {node.facts.injects_cdi, is_nvidia});
  return visible(made, node.record.devices);
}

std::string variableIn(const Node& node, const rpc::nri::Container& container, const Planned& planned,
                       const std::string& key) {
  const Made made = madeOf(container, planned->adjustment, node.index, {node.facts.injects_cdi, true});
  const auto it = made.env.find(key);
  return it == made.env.end() ? "(not set)" : it->second;
}

// ---- Each strategy of the plugin, with each kind of pod.
struct Row {
  const char* name;
  const char* said;  // annotation; "" another's pod
  Ids own;
  bool is_shared;
  Ids picked;    // by the plugin
  Ids held;      // by leases of pod "holder"
  Ids expected;  // seen in the end; of refused rows nothing
  std::optional<Reason> refused;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows{
      // name              said             own       shared picked    held                 expected   refused
      {"Ours", "node-a:1", {gpu(1)}, false, {gpu(2)}, {}, {gpu(1)}, {}},
      {"OursByLuck", "node-a:1", {gpu(1)}, false, {gpu(1)}, {}, {gpu(1)}, {}},
      {"OursTwo", "node-a:0,2", {gpu(0), gpu(2)}, false, {gpu(1), gpu(2)}, {gpu(1)}, {gpu(0), gpu(2)}, {}},
      {"Map", "0,1", {gpu(0), gpu(1)}, true, {gpu(2), gpu(0)}, {gpu(1)}, {gpu(0), gpu(1)}, {}},
      {"Shared", "node-a:2", {gpu(2)}, true, {gpu(0)}, {gpu(2)}, {gpu(2)}, {}},
      {"Mig", "node-a:3/1", {{3, 1}}, false, {{3, 0}}, {{3, 0}}, {{3, 1}}, {}},
      {"MigBesideGpu", "node-a:3/0", {{3, 0}}, false, {gpu(1)}, {gpu(1)}, {{3, 0}}, {}},
      {"ForeignFree", "", {}, false, {gpu(1)}, {gpu(0)}, {gpu(1)}, {}},
      {"ForeignHeld", "", {}, false, {gpu(0)}, {gpu(0)}, {gpu(1)}, {}},
      {"ForeignOneOfTwo", "", {}, false, {gpu(0), gpu(1)}, {gpu(0)}, {gpu(1), gpu(2)}, {}},
      {"ForeignNoneFree", "", {}, false, {gpu(0)}, {gpu(0), gpu(1), gpu(2)}, {}, Reason::NoneFree},
      {"ForeignPartition", "", {}, false, {{3, 0}}, {{3, 1}}, {{3, 0}}, {}},
      {"ForeignHeldPartition", "", {}, false, {{3, 0}}, {{3, 0}}, {}, Reason::NoneFree},
  };
  return kRows;
}

using StrategyCase = std::tuple<Plugin, std::size_t, bool>;  // and whether the image says "all" too
class Strategies : public ::testing::TestWithParam<StrategyCase> {};

TEST_P(Strategies, EachContainerSeesWhatItMay) {
  const auto [plugin, at, image_says_all] = GetParam();
  const Row& row = rows().at(at);
  Node node{4, true};
  node.holds("holder", row.held);
  if (!row.own.empty()) { node.holds("p", row.own, row.is_shared); }
  auto container = containerOf("c1");
  if (image_says_all) { container.env.emplace_back("NVIDIA_VISIBLE_DEVICES=all"); }
  std::vector<NodeDevice> picked;
  for (const model::DeviceId id : row.picked) { picked.push_back(node.device(id)); }
  pluginGives(plugin, picked, container);
  const Planned planned = node.planOf(podOf("p", row.said), container);
  if (row.refused) {
    ASSERT_FALSE(planned);
    EXPECT_EQ(planned.error().reason, *row.refused) << planned.error().text;
    return;
  }
  EXPECT_EQ(seenBy(node, container, planned), setOf(row.expected));
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->devices, row.expected);
  EXPECT_EQ(planned->moves.empty(), !row.own.empty() || row.picked == row.expected);
}

INSTANTIATE_TEST_SUITE_P(Table, Strategies,
                         ::testing::Combine(::testing::ValuesIn(kPlugins),
                                            ::testing::Range(std::size_t{0}, rows().size()),
                                            ::testing::Bool()),
                         [](const auto& info) {
                           return std::string{nameOf(std::get<0>(info.param))} + "_" +
                                  rows().at(std::get<1>(info.param)).name +
                                  (std::get<2>(info.param) ? "_ImageSaysAll" : "");
                         });

// ---- Without a plugin, and what images and pods say themselves.
TEST(Plan, APodWithoutPluginGetsItsOwnByCdi) {
  Node node;
  node.holds("p", {gpu(2)});
  const auto container = containerOf("c1");
  const Planned planned = node.planOf(podOf("p", "node-a:2"), container);
  ASSERT_TRUE(planned) << planned.error().text;
  EXPECT_EQ(planned->adjustment.cdi_devices, (std::vector<std::string>{"nvidia.com/gpu=GPU-2"}));
  EXPECT_TRUE(has(*planned, Remark::Adjusted));
  EXPECT_EQ(seenBy(node, container, planned), setOf({gpu(2)}));
}

TEST(Plan, VariablesAreRightInsideWhateverWasThere) {
  Node node;
  node.holds("p", {gpu(1), gpu(3)});
  const std::vector<std::vector<std::string>> envs{
      {},
      {"CUDA_VISIBLE_DEVICES=1,3"},
      {"CUDA_VISIBLE_DEVICES=7", "NVIDIA_VISIBLE_DEVICES=GPU-0"},
      {"CUDA_VISIBLE_DEVICES=0", "CUDA_VISIBLE_DEVICES=1,3"},
      {"NVIDIA_VISIBLE_DEVICES=all", "CUDA_VISIBLE_DEVICES=", "NVIDIA_VISIBLE_DEVICES=0"},
  };
  for (const auto& env : envs) {
    const auto container = containerOf("c1", env);
    const Planned planned = node.planOf(podOf("p", "node-a:1,3"), container);
    EXPECT_EQ(seenBy(node, container, planned), setOf({gpu(1), gpu(3)}));
    const std::string cuda = variableIn(node, container, planned, "CUDA_VISIBLE_DEVICES");
    EXPECT_TRUE(cuda == "GPU-1,GPU-3" || cuda == "0,1") << cuda;
    EXPECT_EQ(variableIn(node, container, planned, "NVIDIA_VISIBLE_DEVICES"), "void");
  }
}

TEST(Plan, AVariableThatStandsTwiceIsPutRightByOurCdiDeviceOrRefused) {
  Node node;
  node.holds("p", {gpu(1)});
  const auto container = containerOf("c1", {"CUDA_VISIBLE_DEVICES=9", "CUDA_VISIBLE_DEVICES=3"});
  const Planned planned = node.planOf(podOf("p", "node-a:1"), container);
  ASSERT_TRUE(planned) << planned.error().text;
  EXPECT_EQ(planned->adjustment.cdi_devices.back(), "agent.gpu.scheduling/told=1");
  EXPECT_EQ(variableIn(node, container, planned, "CUDA_VISIBLE_DEVICES"), "0");

  node.index = indexOf(node.record.devices, {true, false, true});
  const Planned refused = node.planOf(podOf("p", "node-a:1"), container);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, Reason::StandsTwice);
  EXPECT_NE(refused.error().text.find("the runtime keeps '3', and it is to be 'GPU-1'"), std::string::npos)
      << refused.error().text;
}

TEST(Plan, AContainerWithoutGpusThatAsksForAllGetsNone) {
  Node node;
  node.holds("holder", {gpu(0)});
  const std::vector<std::vector<std::string>> envs{
      {"NVIDIA_VISIBLE_DEVICES=all"},
      {"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_VISIBLE_DEVICES=all"},
      {"CUDA_VERSION=12.4"},
      {"NVIDIA_VISIBLE_DEVICES=nvidia.com/gpu=all"},
  };
  for (const auto& env : envs) {
    const auto container = containerOf("c1", env);
    const Planned planned = node.planOf(podOf("p"), container);
    EXPECT_EQ(seenBy(node, container, planned), setOf({})) << env.front();
    EXPECT_TRUE(has(*planned, Remark::Hidden));
    EXPECT_EQ(variableIn(node, container, planned, "NVIDIA_VISIBLE_DEVICES"), "void");
  }
}

TEST(Plan, AContainerThatSaysNothingIsLeftAsItIs) {
  Node node;
  node.holds("holder", {gpu(0)});
  for (const char* line : {"PATH=/bin", "NVIDIA_VISIBLE_DEVICES=void", "NVIDIA_VISIBLE_DEVICES=none",
                           "NVIDIA_VISIBLE_DEVICES="}) {
    const Planned planned = node.planOf(podOf("p"), containerOf("c1", {line}));
    ASSERT_TRUE(planned) << planned.error().text;
    EXPECT_EQ(planned->adjustment, rpc::nri::Adjustment{}) << line;
    EXPECT_TRUE(planned->notes.empty());
  }
}

TEST(Plan, APrivilegedContainerIsSaidAndNotChanged) {
  Node node;
  node.holds("holder", {gpu(0)});
  auto container = containerOf("c1", {"NVIDIA_VISIBLE_DEVICES=all"});
  makePrivileged(container);
  for (const NodeDevice& device : node.record.devices) {
    for (const auto& one : nodesOf(device)) { putNode(one, container); }
  }
  const Planned planned = node.planOf(podOf("p"), container);
  ASSERT_TRUE(planned) << planned.error().text;
  EXPECT_EQ(planned->adjustment, rpc::nri::Adjustment{});
  EXPECT_TRUE(has(*planned, Remark::Privileged));

  node.holds("ours", {gpu(1)});
  const Planned ours = node.planOf(podOf("ours", "node-a:1"), container);
  ASSERT_TRUE(ours) << ours.error().text;
  EXPECT_TRUE(ours->adjustment.devices.empty());
  EXPECT_TRUE(ours->adjustment.denied_devices.empty());
  EXPECT_EQ(variableIn(node, container, ours, "CUDA_VISIBLE_DEVICES"), "GPU-1");
}

TEST(Plan, ATrustedNamespaceIsLetAloneUnlessItsPodHoldsGpus) {
  Node node;
  node.holds("holder", {gpu(0)});
  node.facts.trusted_namespaces = {"ns"};
  const auto container = containerOf("c1", {"NVIDIA_VISIBLE_DEVICES=all"});
  const Planned planned = node.planOf(podOf("p"), container);
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->adjustment, rpc::nri::Adjustment{});
  EXPECT_TRUE(has(*planned, Remark::Trusted));
  EXPECT_EQ(seenBy(node, container, node.planOf(podOf("holder", "node-a:0"), container)), setOf({gpu(0)}));
}

// ---- Who may not start.
TEST(Plan, RecordAndAnnotationMustSayTheSame) {
  Node node{4, true};
  node.holds("p", {gpu(1)});
  for (const char* said : {"node-a:2", "node-b:1", "node-a:1,2", "node-a:1/0", "node-a:x", "node-a:", ","}) {
    const Planned planned = node.planOf(podOf("p", said), containerOf("c1"));
    ASSERT_FALSE(planned) << said;
    EXPECT_EQ(planned.error().reason, Reason::Differs);
    EXPECT_NE(planned.error().text.find(said), std::string::npos) << planned.error().text;
    EXPECT_NE(planned.error().text.find("give the pod 1"), std::string::npos) << planned.error().text;
  }
  EXPECT_EQ(node.planOf(podOf("p"), containerOf("c1")).error().reason, Reason::Differs);
  EXPECT_TRUE(node.planOf(podOf("p", "1"), containerOf("c1")));
  EXPECT_TRUE(node.planOf(podOf("p", "node-a: 1"), containerOf("c1")));
}

TEST(Plan, NobodyStartsOnAnUnsureRecord) {
  Node node;
  node.holds("p", {gpu(1)});
  Holding& holding = node.record.holdings[model::Uid{"p"}];
  holding.hold = Hold::Unverified;
  holding.why = "the lease of GPU 1 was not read yet";
  auto planned = node.planOf(podOf("p", "node-a:1"), containerOf("c1"));
  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error(),
            (Refusal{Reason::Unverified, "container main of pod ns/p: the lease of GPU 1 was not read yet"}));
  holding.hold = Hold::Refuted;
  EXPECT_EQ(node.planOf(podOf("p", "node-a:1"), containerOf("c1")).error().reason, Reason::Refuted);
  node.record.holdings.clear();
  EXPECT_EQ(node.planOf(podOf("p", "node-a:1"), containerOf("c1")).error().reason, Reason::NotKnown);
}

TEST(Plan, ALongAnnotationIsCutBetweenCharacters) {
  Node node;
  const std::string umlaut = "\xC3\xBC";
  const std::string said = "node-a:" + std::string(192, 'x') + umlaut;  // whose second byte is the 201st
  const Planned planned = node.planOf(podOf("p", said), containerOf("c1"));
  ASSERT_FALSE(planned);
  EXPECT_TRUE(isUtf8(planned.error().text)) << planned.error().text;
}

TEST(Plan, AnotherPodsLeaseOnItsDeviceIsAContradiction) {
  Node node;
  node.holds("p", {gpu(1)});
  node.record.held[gpu(1)] = model::Uid{"other"};
  const Planned planned = node.planOf(podOf("p", "node-a:1"), containerOf("c1"));
  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error().reason, Reason::HeldByOther);
  node.record.holdings[model::Uid{"p"}].is_shared = true;
  EXPECT_TRUE(node.planOf(podOf("p", "node-a:1"), containerOf("c1")));
}

TEST(Plan, WhileThePodsAreNotKnownNoPluginsGpuIsGiven) {
  Node node;
  node.record.knows_pods = false;
  auto container = containerOf("c1");
  EXPECT_TRUE(node.planOf(podOf("p"), container)) << "it has no GPU";
  pluginGives(Plugin::Envvar, {node.device(gpu(0))}, container);
  EXPECT_EQ(node.planOf(podOf("p"), container).error().reason, Reason::NotKnown);
}

TEST(Plan, WhatTheRecordDoesNotHaveIsRefused) {
  Node node;
  EXPECT_EQ(node.planOf(podOf("p"), containerOf("c1", {"NVIDIA_VISIBLE_DEVICES=GPU-9"})).error().reason,
            Reason::UnknownDevice);
  auto container = containerOf("c2");
  putNode(nodeOf("/dev/nvidia9", 195, 9), container);
  EXPECT_EQ(node.planOf(podOf("p"), container).error().reason, Reason::UnknownDevice);
  node.holds("ours", {gpu(9)});
  EXPECT_EQ(node.planOf(podOf("ours", "node-a:9"), containerOf("c3")).error().reason, Reason::UnknownDevice);
}

TEST(Plan, WithoutAWayInItIsRefusedAndSaysWhatToDo) {
  Node node;
  node.index = indexOf(node.record.devices, {false, true, true});
  node.holds("p", {gpu(1)});
  const Planned planned = node.planOf(podOf("p", "node-a:1"), containerOf("c1"));
  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error().reason, Reason::NoWay);
  EXPECT_NE(planned.error().text.find("nvidia-ctk cdi generate"), std::string::npos) << planned.error().text;
  node.facts.is_nvidia_runtime = true;
  const auto container = containerOf("c1");
  EXPECT_EQ(seenBy(node, container, node.planOf(podOf("p", "node-a:1"), container)), setOf({gpu(1)}));
}

// ---- The annotations of NVIDIA's plugin.
TEST(Plan, NvidiasAnnotationMayNameThePodsOwnGpuOnly) {
  Node node;
  node.holds("p", {gpu(1)});
  struct Case {
    const char* key;
    const char* value;
    bool may_start;
  };
  for (const Case& one : {Case{"nvidia.cdi.k8s.io/container.main", "nvidia.com/gpu=GPU-1", true},
                          Case{"nvidia.cdi.k8s.io/container.main", "nvidia.com/gpu=GPU-0", false},
                          Case{"nvidia.cdi.k8s.io/container.main", "- nvidia.com/gpu=all", false},
                          Case{"nvidia.cdi.k8s.io/container.main", "nvidia.com/gpu=9", false},
                          Case{"nvidia.cdi.k8s.io/container.side", "nvidia.com/gpu=GPU-0", true},
                          Case{"nvidia.cdi.k8s.io/pod", "nvidia.com/gds=all,nvidia.com/gpu=GPU-2", false},
                          Case{"nvidia.cdi.k8s.io/pod", "nvidia.com/gds=all", true}}) {
    auto pod = podOf("p", "node-a:1");
    pod.annotations[one.key] = one.value;
    const Planned planned = node.planOf(pod, containerOf("c1"));
    EXPECT_EQ(planned.has_value(), one.may_start) << one.key << " " << one.value;
    if (!planned) {
      EXPECT_EQ(planned.error().reason, Reason::CdiAnnotation);
      EXPECT_NE(planned.error().text.find(one.key), std::string::npos) << planned.error().text;
    }
  }
  auto foreign = podOf("q");
  foreign.annotations["nvidia.cdi.k8s.io/pod"] = "nvidia.com/gpu=GPU-0";
  EXPECT_EQ(node.planOf(foreign, containerOf("c2")).error().reason, Reason::CdiAnnotation);
}

/// As NVIDIA's DRA driver writes them: devices of another kind, with the same nodes.
TEST(Plan, NvidiasAnnotationMayNotNameAnothersGpuByACdiDeviceOfAnotherKind) {
  Node node;
  node.holds("p", {gpu(1)});
  auto spec = std::make_shared<cdi::Spec>();
  spec->file = "/var/run/cdi/dra.json";
  spec->kind = {"k8s.gpu.nvidia.com", "device"};
  for (const int id : {0, 1}) {
    cdi::Device device;
    device.name = "gpu-" + std::to_string(id);
    device.edits.device_nodes = nodesOf(node.device(gpu(id)));
    spec->devices.push_back(device);
  }
  const std::vector<cdi::SpecFile> files{{0, vendorSpec(node.record.devices, true)}, {0, spec}};
  node.index = cdi::Index{files};
  auto pod = podOf("p", "node-a:1");
  const char* key = "nvidia.cdi.k8s.io/container.main";
  pod.annotations[key] = "k8s.gpu.nvidia.com/device=gpu-1,k8s.gpu.nvidia.com/device=unknown";
  EXPECT_TRUE(node.planOf(pod, containerOf("c1")));
  pod.annotations[key] = "k8s.gpu.nvidia.com/device=gpu-0";
  const Planned planned = node.planOf(pod, containerOf("c1"));
  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error().reason, Reason::CdiAnnotation);
}

// ---- What is free.
TEST(Plan, ADeviceInTheirPlaceIsTheLowestThatNobodyHas) {
  Node node{6};
  node.holds("holder", {gpu(0)});
  node.containers.set("other", {model::Uid{"q"}, {gpu(1)}, {}});
  node.record.devices[2].uuid.clear();
  auto container = containerOf("c1");
  pluginGives(Plugin::Envvar, {node.device(gpu(0))}, container);
  const Planned planned = node.planOf(podOf("p"), container);
  ASSERT_TRUE(planned) << planned.error().text;
  EXPECT_EQ(planned->moves, (std::vector<Move>{{gpu(0), gpu(3)}}));
  EXPECT_EQ(planned->adjustment.annotations.at(kMovedAnnotation), "GPU-0>GPU-3") << "for who answers later";
  EXPECT_TRUE(has(*planned, Remark::Moved));
}

TEST(Plan, WhatAPodClaimsWhoseLeasesWereNotReadIsGivenToNobodyElse) {
  Node node;
  node.holds("p", {gpu(1)});
  node.record.held = {{gpu(0), model::Uid{"holder"}}};
  Hold& hold = node.record.holdings[model::Uid{"p"}].hold;
  hold = Hold::Unverified;
  auto claimed = containerOf("c1");
  pluginGives(Plugin::Envvar, {node.device(gpu(1))}, claimed);
  const Planned refused = node.planOf(podOf("q"), claimed);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, Reason::Unverified);
  EXPECT_NE(refused.error().text.find("the device plugin gave it GPU 1 of node node-a"), std::string::npos)
      << refused.error().text;
  auto held = containerOf("c2");
  pluginGives(Plugin::Envvar, {node.device(gpu(0))}, held);
  const Planned moved = node.planOf(podOf("q"), held);
  ASSERT_TRUE(moved) << moved.error().text;
  EXPECT_EQ(moved->moves, (std::vector<Move>{{gpu(0), gpu(2)}}));
  hold = Hold::Refuted;
  EXPECT_TRUE(node.planOf(podOf("q"), claimed));
}

TEST(Plan, ContainersOfAPodAreMovedToTheSameDevice) {
  Node node{4};
  node.holds("holder", {gpu(0)});
  node.containers.set("before", {model::Uid{"p"}, {gpu(2)}, {{gpu(0), gpu(2)}}});
  auto container = containerOf("c1");
  pluginGives(Plugin::CdiCri, {node.device(gpu(0))}, container);
  EXPECT_EQ(seenBy(node, container, node.planOf(podOf("p"), container)), setOf({gpu(2)}));
}

TEST(Plan, WhatWasLentToAnotherPodIsNotHandedOutAgain) {
  Node node{4};
  node.holds("holder", {gpu(0)});
  node.containers.set("moved", {model::Uid{"q"}, {gpu(1)}, {{gpu(0), gpu(1)}}});
  auto container = containerOf("c1");
  pluginGives(Plugin::Envvar, {node.device(gpu(1))}, container);
  const Planned planned = node.planOf(podOf("p"), container);
  ASSERT_TRUE(planned) << planned.error().text;
  EXPECT_EQ(planned->moves, (std::vector<Move>{{gpu(1), gpu(2)}}));
}

TEST(Plan, AForeignContainerOnTheDeviceIsSaid) {
  Node node;
  node.holds("p", {gpu(1)});
  node.containers.set("foreign", {model::Uid{"q"}, {gpu(1)}, {}});
  const Planned planned = node.planOf(podOf("p", "node-a:1"), containerOf("c1"));
  ASSERT_TRUE(planned) << planned.error().text;
  EXPECT_TRUE(has(*planned, Remark::StillInUse));
}

TEST(Plan, AForeignContainerIsSaidThoughAnotherSharerUsesTheDeviceToo) {
  Node node;
  node.holds("p", {gpu(1)}, true);
  node.holds("sharer", {gpu(1)}, true);
  node.containers.set("a", {model::Uid{"sharer"}, {gpu(1)}, {}});
  const Planned alone = node.planOf(podOf("p", "node-a:1"), containerOf("c1"));
  ASSERT_TRUE(alone) << alone.error().text;
  EXPECT_FALSE(has(*alone, Remark::StillInUse));
  node.containers.set("b", {model::Uid{"foreign"}, {gpu(1)}, {}});
  const Planned beside = node.planOf(podOf("p", "node-a:1"), containerOf("c1"));
  ASSERT_TRUE(beside) << beside.error().text;
  EXPECT_TRUE(has(*beside, Remark::StillInUse));
}

// ---- Other ways in, and other vendors.
TEST(Plan, AMountThatListsAGpuIsReadByItsCleanPath) {
  Node node;
  node.holds("holder", {gpu(0)});
  for (const char* path :
       {"/var/run//nvidia-container-devices/GPU-0", "/var/run/./nvidia-container-devices/x/../GPU-0",
        "/var/run/nvidia-container-devices/GPU-0/"}) {
    auto container = containerOf("c1", {"NVIDIA_VISIBLE_DEVICES=/var/run/nvidia-container-devices"});
    container.mounts.push_back({path, "bind", "/dev/null", {"rbind"}});
    const Planned planned = node.planOf(podOf("p"), container);
    EXPECT_EQ(seenBy(node, container, planned), setOf({gpu(1)})) << path;
    EXPECT_EQ(planned->adjustment.remove_mounts, (std::vector<std::string>{path}));
  }
}

TEST(Plan, ARuntimeWithoutCdiGetsTheEditsWrittenOut) {
  Node node;
  node.facts.injects_cdi = false;
  node.holds("p", {gpu(1)});
  auto container = containerOf("c1");
  pluginGives(Plugin::DeviceSpecs, {node.device(gpu(3))}, container);
  const Planned planned = node.planOf(podOf("p", "node-a:1"), container);
  EXPECT_EQ(seenBy(node, container, planned, false), setOf({gpu(1)}));
  EXPECT_TRUE(planned->adjustment.cdi_devices.empty());
}

TEST(Plan, VolumeMountsNameTheChosenWhereTheRuntimeReadsThem) {
  Node node;
  node.index = indexOf(node.record.devices, {false, true, true});
  node.holds("p", {gpu(1)});
  auto container = containerOf("c1");
  pluginGives(Plugin::VolumeMounts, {node.device(gpu(3))}, container);
  const Planned planned = node.planOf(podOf("p", "node-a:1"), container);
  EXPECT_EQ(seenBy(node, container, planned, true), setOf({gpu(1)}));
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->adjustment.remove_mounts,
            (std::vector<std::string>{"/var/run/nvidia-container-devices/GPU-3"}));
  ASSERT_EQ(planned->adjustment.mounts.size(), 1U);
  EXPECT_EQ(planned->adjustment.mounts.front().destination, "/var/run/nvidia-container-devices/GPU-1");
}

TEST(Plan, AmdsAreGivenByTheirRenderNodesAndCountFrom0) {
  Node node{0};
  for (int id = 0; id < 2; ++id) {
    NodeDevice device;
    device.id = gpu(id);
    device.uuid = "GPU-amd" + std::to_string(id);
    device.vendor = model::Vendor::Amd;
    device.render_node = "/dev/dri/renderD" + std::to_string(128 + id);
    node.record.devices.push_back(device);
  }
  node.index = {};
  node.holds("p", {gpu(1)});
  auto container = containerOf("c1", {"CUDA_VISIBLE_DEVICES=1"});
  putNode(nodeOf("/dev/kfd", 234, 0), container);
  putNode(nodeOf("/dev/dri/renderD128", 226, 128), container);
  putNode(nodeOf("/dev/dri/card1", 226, 1), container);
  const Planned planned = node.planOf(podOf("p", "node-a:1"), container);
  ASSERT_TRUE(planned) << planned.error().text;
  const Made made = madeOf(container, planned->adjustment, node.index, {true, false});
  EXPECT_EQ(made.nodes.at("/dev/dri/renderD129"), (Numbers{226, 129}));
  EXPECT_EQ(made.nodes.at("/dev/kfd"), (Numbers{234, 0}));
  EXPECT_FALSE(made.rights.contains(Numbers{226, 128}));
  EXPECT_FALSE(made.rights.contains(Numbers{226, 1}));
  EXPECT_EQ(made.nodes.at("/dev/dri/renderD128"), (Numbers{1, 0})) << "nothing is there";
  EXPECT_EQ(made.env.at("CUDA_VISIBLE_DEVICES"), "0");
  EXPECT_EQ(made.env.at("ROCR_VISIBLE_DEVICES"), "0");
}

TEST(Plan, NodesOfOtherVendorsStay) {
  Node node;
  node.holds("p", {gpu(1)});
  auto container = containerOf("c1");
  putNode(nodeOf("/dev/dri/renderD140", 226, 140), container);
  putNode(nodeOf("/dev/dri/card9", 226, 9), container);
  const Planned planned = node.planOf(podOf("p", "node-a:1"), container);
  ASSERT_TRUE(planned) << planned.error().text;
  EXPECT_TRUE(planned->adjustment.devices.empty());
  EXPECT_TRUE(planned->adjustment.denied_devices.empty());
}

TEST(Plan, WhatAllGpusShareStays) {
  Node node;
  node.holds("p", {gpu(1)});
  auto container = containerOf("c1");
  pluginGives(Plugin::DeviceSpecs, {node.device(gpu(3))}, container);
  for (const auto& one : {nodeOf("/dev/nvidia-uvm", 510, 0), nodeOf("/dev/nvidia-uvm-tools", 510, 1),
                          nodeOf("/dev/nvidia-modeset", 195, 254)}) {
    putNode(one, container);
  }
  const Planned planned = node.planOf(podOf("p", "node-a:1"), container);
  ASSERT_TRUE(planned) << planned.error().text;
  const Made made = madeOf(container, planned->adjustment, node.index, {true, false});
  EXPECT_EQ(made.nodes.at("/dev/nvidiactl"), (Numbers{195, 255}));
  EXPECT_EQ(made.nodes.at("/dev/nvidia-uvm"), (Numbers{510, 0}));
  EXPECT_TRUE(made.rights.contains(Numbers{195, 254}));
}

TEST(Plan, WhereADriverPreparesTheGpusNothingIsChanged) {
  Node node;
  node.holds("q", {gpu(1)});
  node.record.by_driver = true;
  auto container = containerOf("c1");
  pluginGives(Plugin::DeviceSpecs, {node.device(gpu(1))}, container);
  const Planned planned = node.planOf(podOf("p", "node-a:1"), container);
  ASSERT_TRUE(planned) << planned.error().text;
  EXPECT_EQ(planned->adjustment, rpc::nri::Adjustment{});
  EXPECT_TRUE(planned->notes.empty());
}

}  // namespace
}  // namespace gs::enforce
