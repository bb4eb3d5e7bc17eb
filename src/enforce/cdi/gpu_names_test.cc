#include "enforce/cdi/gpu_names.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "enforce/cdi/vendor_specs_test.h"

namespace gs::enforce::cdi {
namespace {

Index indexOf(const std::vector<std::string>& texts) {
  std::vector<SpecFile> files;
  for (const std::string& text : texts) {
    auto spec = readSpec(fmt::format("/etc/cdi/{}", files.size()), text);
    EXPECT_TRUE(spec) << spec.error().message;
    if (spec) { files.push_back({files.size(), std::make_shared<const Spec>(*std::move(spec))}); }
  }
  return Index{files};
}

Gpu nvidiaGpu(const char* uuid, std::optional<int> index, std::optional<int> minor) {
  Gpu gpu;
  gpu.uuid = uuid;
  gpu.index = index;
  gpu.minor = minor;
  return gpu;
}

Gpu amdGpu(int index, std::optional<int> render) {
  Gpu gpu;
  gpu.vendor = GpuVendor::Amd;
  gpu.index = index;
  gpu.render = render;
  return gpu;
}

/// nvidia.com/gpu with one device, of these edits.
std::string nvidiaSpec(const std::string& name, const std::string& edits, const std::string& of_all = "{}") {
  return fmt::format(
      "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: '{}'\n  containerEdits: "
      "{}\ncontainerEdits: {}\n",
      name, edits, of_all);
}

struct Case {
  const char* name;
  std::vector<std::string> files;
  Gpu gpu;
  std::vector<std::string> names;
  std::vector<const char*> refused;  // a part of each sentence, in order
};
class CdiGpuNames : public ::testing::TestWithParam<Case> {};
TEST_P(CdiGpuNames, MeanThatGpuAlone) {
  const GpuNames found = devicesOf(indexOf(GetParam().files), GetParam().gpu);
  EXPECT_EQ(found.names, GetParam().names);
  ASSERT_EQ(found.refused.size(), GetParam().refused.size())
      << fmt::format("{}", fmt::join(found.refused, "\n"));
  for (std::size_t i = 0; i < found.refused.size(); ++i) {
    EXPECT_NE(found.refused[i].find(GetParam().refused[i]), std::string::npos) << found.refused[i];
  }
}

const std::string kPlugin0 = fmt::format("k8s.device-plugin.nvidia.com/gpu={}", kUuid0);
const std::string kCtk0 = fmt::format("nvidia.com/gpu={}", kUuid0);
const std::string kCtkMig = fmt::format("nvidia.com/gpu={}", kMigUuid);

INSTANTIATE_TEST_SUITE_P(
    Vendors, CdiGpuNames,
    ::testing::Values(
        Case{"UuidBeforeIndex",
             {kNvidiaCtkYaml, kDevicePluginJson},
             nvidiaGpu(kUuid0, 0, 0),
             {kPlugin0, kCtk0, "nvidia.com/gpu=0"},
             {}},
        Case{"ByIndexAlone", {kNvidiaCtkYaml}, nvidiaGpu("", 0, 0), {"nvidia.com/gpu=0"}, {}},
        Case{"ByUuidWithoutAMinor", {kDevicePluginJson}, nvidiaGpu(kUuid0, {}, {}), {kPlugin0}, {}},
        Case{"AnIndexIsNoMinor",
             {kNvidiaCtkYaml},
             nvidiaGpu("", 0, 3),
             {},
             {"nvidia.com/gpu=0 of /etc/cdi/0 is not used for GPU 0: it has /dev/nvidia0 of another GPU"}},
        Case{"AnIndexThatNothingConfirms",
             {kNvidiaCtkYaml},
             nvidiaGpu("", 0, {}),
             {},
             {"nothing shows that this index is that GPU's"}},
        Case{"AStaleUuid",
             {kDevicePluginJson},
             nvidiaGpu(kUuid0, 0, 7),
             {},
             {"it has /dev/nvidia0 of another GPU; let the vendor's tool write the file anew"}},
        Case{"Partition", {kNvidiaCtkYaml}, nvidiaGpu(kMigUuid, {}, 2), {kCtkMig}, {}},
        Case{"PartitionOfAnotherGpu",
             {kNvidiaCtkYaml},
             nvidiaGpu(kMigUuid, {}, 0),
             {},
             {"it has /dev/nvidia2 of another GPU"}},
        Case{"NumbersInTheFile", {kNvidiaCtkJson}, nvidiaGpu("", 1, 1), {"nvidia.com/gpu=1"}, {}},
        Case{"NobodyIsNamedSo",
             {kManagementYaml, kNvidiaCtkYaml},
             nvidiaGpu("GPU-5", 5, 5),
             {},
             {"no CDI device of k8s.device-plugin.nvidia.com/gpu or nvidia.com/gpu is named after GPU GPU-5; "
              "let"}},
        Case{"ManagementIsNeverOne", {kManagementYaml}, nvidiaGpu("", 0, 0), {}, {"is named after GPU 0"}},
        Case{"AmdByIndex", {kAmdJson}, amdGpu(1, 136), {"amd.com/gpu=1"}, {}},
        Case{"AmdOfAnotherRenderNode",
             {kAmdJson},
             amdGpu(1, 128),
             {},
             {"it has /dev/dri/renderD136 of another GPU"}},
        Case{"AmdWithoutARenderNode", {kAmdJson}, amdGpu(0, {}), {}, {"nothing shows that this index"}},
        Case{"AmdWithNodesOfNvidia",
             {"{cdiVersion: 0.5.0, kind: amd.com/gpu, devices: [{name: '0', containerEdits: {deviceNodes: "
              "[{path: /dev/dri/renderD128}, {path: /dev/nvidia0}]}}]}"},
             amdGpu(0, 128),
             {},
             {"it has device nodes of NVIDIA's"}},
        Case{"AmdIsNotNvidia",
             {kNvidiaCtkYaml},
             amdGpu(0, 128),
             {},
             {"no CDI device of amd.com/gpu is named"}}),
    [](const auto& info) { return std::string{info.param.name}; });

INSTANTIATE_TEST_SUITE_P(
    Nodes, CdiGpuNames,
    ::testing::Values(
        Case{"TypeIndex",
             {nvidiaSpec("gpu0", "{deviceNodes: [{path: /dev/nvidia0}]}")},
             nvidiaGpu("", 0, 0),
             {"nvidia.com/gpu=gpu0"},
             {}},
        Case{"WhatItIsOnTheHostCounts",
             {nvidiaSpec("0", "{deviceNodes: [{path: /dev/nvidia0, hostPath: /dev/nvidia1}]}")},
             nvidiaGpu("", 0, 0),
             {},
             {"it has /dev/nvidia1 of another GPU"}},
        Case{"BehindARoot",
             {nvidiaSpec("0",
                         "{deviceNodes: [{path: /dev/nvidia0, hostPath: /run/nvidia/driver/dev/nvidia0}]}")},
             nvidiaGpu("", 0, 0),
             {"nvidia.com/gpu=0"},
             {}},
        Case{"ARenamedTwin",
             {nvidiaSpec("0", "{deviceNodes: [{path: /dev/nvidia0, hostPath: /dev/null}]}")},
             nvidiaGpu("", 0, 0),
             {"nvidia.com/gpu=0"},
             {}},
        Case{"NumbersSayMoreThanPaths",
             {nvidiaSpec("0", "{deviceNodes: [{path: /dev/nvidia0, type: c, major: 195, minor: 1}]}")},
             nvidiaGpu("", 0, 0),
             {},
             {"it has /dev/nvidia1 of another GPU"}},
        Case{"ControlNodesAreNoGpu",
             {nvidiaSpec("0",
                         "{deviceNodes: [{path: /dev/nvidia0}, {path: /dev/nvidiactl, type: c, major: 195, "
                         "minor: 255}, {path: /dev/nvidia-uvm}, {path: /dev/nvidia-caps/nvidia-cap1}]}")},
             nvidiaGpu("", 0, 0),
             {"nvidia.com/gpu=0"},
             {}},
        Case{"TwoGpusUnderOneName",
             {nvidiaSpec(kUuid0, "{deviceNodes: [{path: /dev/nvidia0}, {path: /dev/nvidia1}]}")},
             nvidiaGpu(kUuid0, {}, {}),
             {},
             {"it has the device nodes of 2 GPUs"}},
        Case{"AnotherGpuForWhoeverGetsAny",
             {nvidiaSpec(kUuid0, "{deviceNodes: [{path: /dev/nvidia0}]}",
                         "{deviceNodes: [{path: /dev/nvidia1}]}")},
             nvidiaGpu(kUuid0, {}, 0),
             {},
             {"it has /dev/nvidia1 of another GPU"}},
        Case{"AnotherRenderNode",
             {nvidiaSpec(kUuid0, "{deviceNodes: [{path: /dev/nvidia0}, {path: /dev/dri/renderD130}]}")},
             [] {
               Gpu gpu = nvidiaGpu(kUuid0, {}, 0);
               gpu.render = 129;
               return gpu;
             }(),
             {},
             {"it has /dev/dri/renderD130 of another GPU"}},
        Case{"AUuidNeedsNoNodes",
             {nvidiaSpec(kUuid0, "{deviceNodes: [{path: /dev/dxg}]}")},
             nvidiaGpu(kUuid0, 0, 0),
             {kCtk0},
             {}},
        Case{"AnAddress",
             {nvidiaSpec("0000:1b:00.0", "{deviceNodes: [{path: /dev/nvidia0}]}")},
             [] {
               Gpu gpu = nvidiaGpu("", {}, 0);
               gpu.pci_bus_id = "00000000:1B:00.0";
               return gpu;
             }(),
             {"nvidia.com/gpu=0000:1b:00.0"},
             {}}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(CdiGpuNamesOfAConflict, AreSaid) {
  std::vector<SpecFile> files;
  for (const char* file : {"/etc/cdi/a", "/etc/cdi/b"}) {
    files.push_back({0, std::make_shared<const Spec>(*readSpec(file, kDevicePluginJson))});
  }
  const GpuNames found = devicesOf(Index{files}, nvidiaGpu(kUuid0, {}, 0));
  EXPECT_TRUE(found.names.empty());
  ASSERT_EQ(found.refused.size(), 1U);
  EXPECT_NE(found.refused[0].find("is defined by /etc/cdi/a and by /etc/cdi/b"), std::string::npos);
}

}  // namespace
}  // namespace gs::enforce::cdi
