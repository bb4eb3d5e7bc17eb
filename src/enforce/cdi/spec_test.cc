#include "enforce/cdi/spec.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "enforce/cdi/vendor_specs_test.h"

namespace gs::enforce::cdi {
namespace {

/// Why it cannot be read; "" it can.
std::string mistakeIn(const std::string& text) {
  const auto spec = readSpec("/etc/cdi/x.yaml", text);
  if (spec) { return ""; }
  EXPECT_EQ(spec.error().code, Code::Invalid);
  EXPECT_EQ(spec.error().message.rfind("/etc/cdi/x.yaml: ", 0), 0U) << spec.error().message;
  return spec.error().message;
}

/// A file of that version with one device, which has these edits.
std::string withEdits(const std::string& version, const std::string& edits) {
  return fmt::format("cdiVersion: {}\nkind: v.com/c\ndevices:\n- name: a\n  containerEdits: {}\n", version,
                     edits);
}

TEST(CdiSpec, ReadsWhatNvidiaCtkWrites) {
  const auto spec = readSpec("/var/run/cdi/nvidia.yaml", kNvidiaCtkYaml);
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->file, "/var/run/cdi/nvidia.yaml");
  EXPECT_EQ(spec->version, "0.5.0");
  EXPECT_EQ(spec->kind.text(), "nvidia.com/gpu");
  std::vector<std::string> names;
  for (const Device& device : spec->devices) { names.push_back(device.name); }
  EXPECT_EQ(names, (std::vector<std::string>{"0", kUuid0, "0:1", kMigUuid, "all"}));
  ASSERT_EQ(spec->devices[0].edits.device_nodes.size(), 3U);
  EXPECT_EQ(spec->devices[0].edits.device_nodes[2].path, "/dev/nvidia0");
  EXPECT_EQ(spec->devices[0].edits.device_nodes[2].onHost(), "/dev/nvidia0");
  ASSERT_EQ(spec->devices[0].edits.hooks.size(), 1U);
  EXPECT_EQ(spec->devices[0].edits.hooks[0].kind, HookKind::CreateContainer);
  EXPECT_EQ(spec->devices[0].edits.hooks[0].args.size(), 4U);
  EXPECT_EQ(spec->edits.env, (std::vector<std::string>{"NVIDIA_VISIBLE_DEVICES=void"}));
  EXPECT_EQ(spec->edits.device_nodes.size(), 4U);
  ASSERT_EQ(spec->edits.mounts.size(), 2U);
  EXPECT_EQ(
      spec->edits.mounts[0],
      (Mount{
          "/usr/bin/nvidia-smi", "/usr/bin/nvidia-smi", {"ro", "nosuid", "nodev", "rbind", "rprivate"}, ""}));
}

TEST(CdiSpec, ReadsEveryFieldFromJson) {
  const auto spec = readSpec("/var/run/cdi/nvidia.json", kNvidiaCtkJson);
  ASSERT_TRUE(spec) << spec.error().message;
  const Edits& edits = spec->devices.at(0).edits;
  DeviceNode node;
  node.path = "/dev/nvidia1";
  node.host_path = "/run/nvidia/driver/dev/nvidia1";
  node.type = "c";
  node.major = 195;
  node.minor = 1;
  node.file_mode = 438;
  node.permissions = "rw";
  node.uid = 0;
  node.gid = 0;
  EXPECT_EQ(edits.device_nodes.at(0), node);
  EXPECT_EQ(edits.device_nodes.at(1).onHost(), "/run/nvidia/driver/dev/dri/renderD129");
  EXPECT_EQ(edits.additional_gids, (std::vector<std::uint32_t>{110}));
  Hook hook;
  hook.kind = HookKind::CreateContainer;
  hook.path = "/usr/local/nvidia/toolkit/nvidia-cdi-hook";
  hook.args = {"nvidia-cdi-hook", "disable-device-node-modification"};
  hook.env = {"NVIDIA_CTK_DEBUG=false"};
  hook.timeout = 30;
  EXPECT_EQ(spec->edits.hooks, (std::vector<Hook>{hook}));
  EXPECT_EQ(spec->edits.mounts.at(0).type, "bind");
}

TEST(CdiSpec, ReadsWhatOthersWrite) {
  for (const char* text : {kDevicePluginJson, kManagementYaml, kAmdJson}) {
    EXPECT_EQ(mistakeIn(text), "") << text;
  }
  const auto amd = readSpec("amd.json", kAmdJson);
  ASSERT_TRUE(amd);
  EXPECT_EQ(amd->kind.text(), "amd.com/gpu");
  EXPECT_EQ(amd->edits, Edits{});
}

TEST(CdiSpec, KeysCountInAnyCaseAndNumbersAsTexts) {
  const auto spec = readSpec("x", R"({"CDIVersion": "v0.6.0", "Kind": "v.com/c.d", "annotations": {"a": 1},
      "devices": [{"name": 7, "containerEdits": {"ENV": ["A=1"]}}], "containerEdits": null})");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->version, "0.6.0");
  EXPECT_EQ(spec->devices.at(0).name, "7");
}

TEST(CdiSpec, OfSeveralDocumentsTheFirstCounts) {
  EXPECT_EQ(mistakeIn(withEdits("0.3.0", "{env: [A=1]}") + "---\nother: x\n"), "");
}

struct Needs {
  const char* name;
  const char* text;     // its version is written as VERSION
  const char* version;  // the first that has what it uses
  const char* before;
};
class CdiVersions : public ::testing::TestWithParam<Needs> {};
TEST_P(CdiVersions, ReadFromTheOneThatBroughtWhatIsUsed) {
  const auto with = [](const char* version) {
    std::string text = GetParam().text;
    return text.replace(text.find("VERSION"), 7, version);
  };
  EXPECT_EQ(mistakeIn(with(GetParam().version)), "");
  EXPECT_EQ(mistakeIn(with("1.1.0")), "") << "and from every later one";
  const std::string mistake = mistakeIn(with(GetParam().before));
  EXPECT_NE(mistake.find(fmt::format("which needs {}", GetParam().version)), std::string::npos) << mistake;
  EXPECT_NE(mistake.find(fmt::format("cdiVersion is {}", GetParam().before)), std::string::npos) << mistake;
}
#define GS_DEVICE(edits) \
  "{cdiVersion: VERSION, kind: v.com/c, devices: [{name: a, containerEdits: {" edits "}}]}"
INSTANTIATE_TEST_SUITE_P(
    Table, CdiVersions,
    ::testing::Values(
        Needs{"TypeOfAMount", GS_DEVICE("mounts: [{hostPath: /a, containerPath: /b, type: bind}]"), "0.4.0",
              "0.3.0"},
        Needs{"HostPath", GS_DEVICE("deviceNodes: [{path: /dev/a, hostPath: /dev/b}]"), "0.5.0", "0.4.0"},
        Needs{"DigitInFront",
              "{cdiVersion: VERSION, kind: v.com/c, devices: [{name: '0', containerEdits: {env: [A=1]}}]}",
              "0.5.0", "0.3.0"},
        Needs{"Annotations",
              "{cdiVersion: VERSION, kind: v.com/c, annotations: {a: b}, devices: [{name: a, containerEdits: "
              "{env: "
              "[A=1]}}]}",
              "0.6.0", "0.5.0"},
        Needs{"AnnotationsOfADevice",
              "{cdiVersion: VERSION, kind: v.com/c, devices: [{name: a, annotations: {a: b}, containerEdits: "
              "{env: "
              "[A=1]}}]}",
              "0.6.0", "0.5.0"},
        Needs{"DotInTheClass",
              "{cdiVersion: VERSION, kind: v.com/c.d, devices: [{name: a, containerEdits: {env: [A=1]}}]}",
              "0.6.0", "0.5.0"},
        Needs{"Gids", GS_DEVICE("additionalGids: [5]"), "0.7.0", "0.6.0"},
        Needs{"IntelRdt", GS_DEVICE("intelRdt: {closID: a}"), "0.7.0", "0.6.0"},
        Needs{"NetDevices", GS_DEVICE("netDevices: [{hostInterfaceName: eth1, name: net0}]"), "1.1.0",
              "1.0.0"},
        Needs{"Schemata", GS_DEVICE("intelRdt: {schemata: []}"), "1.1.0", "0.8.0"},
        Needs{"Monitoring", GS_DEVICE("intelRdt: {enableMonitoring: true}"), "1.1.0", "0.7.0"}),
    [](const auto& info) { return std::string{info.param.name}; });

#undef GS_DEVICE

TEST(CdiSpec, VersionsThatNobodyReadsAreRefused) {
  for (const char* version : {"0.1.0", "0.2.0", "0.9.0", "1.2.0", "2.0.0", "'0.6'", "''", "latest"}) {
    EXPECT_NE(mistakeIn(withEdits(version, "{env: [A=1]}")).find("cdiVersion is"), std::string::npos)
        << version;
  }
}

struct Bad {
  const char* name;
  std::string text;
  const char* says;
};
class BadCdiSpec : public ::testing::TestWithParam<Bad> {};
TEST_P(BadCdiSpec, IsRefusedWithThePlaceAndWhatToWrite) {
  const std::string mistake = mistakeIn(GetParam().text);
  EXPECT_NE(mistake.find(GetParam().says), std::string::npos) << mistake;
}
std::string specWith(const std::string& edits) { return withEdits("1.1.0", edits); }
INSTANTIATE_TEST_SUITE_P(
    Table, BadCdiSpec,
    ::testing::Values(
        Bad{"Empty", "", "it is empty"}, Bad{"Null", "null", "it is empty"},
        Bad{"NoYaml", "{\"cdiVersion\": ", "YAML line 1"},
        Bad{"List", "[]", "the file is []; write a map of"}, Bad{"Text", "hello", "the file is \"hello\""},
        Bad{"UnknownKey", specWith("{env: [A=1]}") + "extra: 1\n", "extra is 1; no such field"},
        Bad{"UnknownKeyInside", specWith("{env: [A=1], devices: []}"),
            "devices[0].containerEdits.devices is []"},
        Bad{"UnknownKeyOfANode", specWith("{deviceNodes: [{path: /a, mode: 1}]}"),
            "deviceNodes[0].mode is 1; no such"},
        Bad{"KeyTwice", "{kind: v.com/c, kind: v.com/c}", "there twice"},
        Bad{"KeyTwiceInAnotherCase", "{kind: v.com/c, Kind: v.com/c}",
            "Kind is \"v.com/c\"; the field is there twice"},
        Bad{"NoVersion", "{kind: v.com/c, devices: [{name: a, containerEdits: {env: [A=1]}}]}",
            "cdiVersion is missing"},
        Bad{"NoKind", "{cdiVersion: 0.6.0, devices: [{name: a, containerEdits: {env: [A=1]}}]}",
            "kind is missing"},
        Bad{"KindWithoutClass", "{cdiVersion: 0.6.0, kind: nvidia.com, devices: []}",
            "kind is \"nvidia.com\""},
        Bad{"KindWithTwoSlashes", "{cdiVersion: 0.6.0, kind: a/b/c, devices: []}", "kind is \"a/b/c\""},
        Bad{"NoDevices", "{cdiVersion: 0.6.0, kind: v.com/c}", "devices is missing; write one device"},
        Bad{"EmptyDevices", "{cdiVersion: 0.6.0, kind: v.com/c, devices: []}", "devices is []"},
        Bad{"DeviceName",
            "{cdiVersion: 0.6.0, kind: v.com/c, devices: [{name: a b, containerEdits: {env: [A=1]}}]}",
            "devices[0].name is \"a b\"; a device's name"},
        Bad{"DeviceTwice",
            "{cdiVersion: 0.6.0, kind: v.com/c, devices: [{name: a, containerEdits: {env: [A=1]}}, {name: a, "
            "containerEdits: {env: [A=1]}}]}",
            "devices[1].name is \"a\"; each name is there once"},
        Bad{"DeviceWithoutEdits", specWith("{}"),
            "devices[0].containerEdits is {}; a device gives something"},
        Bad{"DeviceWithNullEdits", specWith("null"), "devices[0].containerEdits is missing"},
        Bad{"NullNode", specWith("{deviceNodes: [null]}"), "deviceNodes[0] is missing; write a map"},
        Bad{"NodeWithoutPath", specWith("{deviceNodes: [{type: c}]}"), "deviceNodes[0].path is missing"},
        Bad{"NodeType", specWith("{deviceNodes: [{path: /a, type: x}]}"),
            "type is \"x\"; write b, c, u or p"},
        Bad{"NodeTypes", specWith("{deviceNodes: [{path: /a, type: cb}]}"), "type is \"cb\""},
        Bad{"Permissions", specWith("{deviceNodes: [{path: /a, permissions: rx}]}"), "permissions is \"rx\""},
        Bad{"Major", specWith("{deviceNodes: [{path: /a, major: x}]}"),
            "major is \"x\"; write a whole number"},
        Bad{"NegativeMinor", specWith("{deviceNodes: [{path: /a, minor: -1}]}"), "minor is -1"},
        Bad{"Uid", specWith("{deviceNodes: [{path: /a, uid: 4294967296}]}"), "uid is 4294967296"},
        Bad{"FileMode", specWith("{deviceNodes: [{path: /a, fileMode: 1.5}]}"), "fileMode is 1.5"},
        Bad{"MountWithoutSource", specWith("{mounts: [{containerPath: /a}]}"),
            "mounts[0].hostPath is missing"},
        Bad{"MountWithoutTarget", specWith("{mounts: [{hostPath: /a}]}"),
            "mounts[0].containerPath is missing"},
        Bad{"OptionsAsText", specWith("{mounts: [{hostPath: /a, containerPath: /b, options: ro}]}"),
            "options is \"ro\"; write a list"},
        Bad{"HookName", specWith("{hooks: [{hookName: preStart, path: /a}]}"),
            "hookName is \"preStart\"; write prestart"},
        Bad{"HookWithoutPath", specWith("{hooks: [{hookName: poststop}]}"), "hooks[0].path is missing"},
        Bad{"HookEnv", specWith("{hooks: [{hookName: poststop, path: /a, env: [X]}]}"),
            "env[0] is \"X\"; write NAME"},
        Bad{"EnvWithoutName", specWith("{env: [A=1, =2]}"), "env[1] is \"=2\""},
        Bad{"EnvAsMap", specWith("{env: {A: b}}"), "env is {\"A\":\"b\"}; write a list"},
        Bad{"TextAsFloat", specWith("{hooks: [{hookName: poststop, path: /a, args: [1.5]}]}"),
            "quote what looks like"},
        Bad{"Gid", specWith("{additionalGids: [-1]}"), "additionalGids[0] is -1"},
        Bad{"NullGid", specWith("{additionalGids: [null]}"), "additionalGids[0] is missing"},
        Bad{"NetDeviceWithoutName", specWith("{netDevices: [{hostInterfaceName: a}]}"),
            "netDevices[0].name is missing"},
        Bad{"NetDeviceTwice",
            specWith("{netDevices: [{hostInterfaceName: a, name: b}, {hostInterfaceName: a, name: c}]}"),
            "each interface is there once"},
        Bad{"ClosId", specWith("{intelRdt: {closID: a/b}}"), "closID is \"a/b\""},
        Bad{"Monitoring", specWith("{intelRdt: {enableMonitoring: 'yes'}}"), "enableMonitoring is \"yes\""},
        Bad{"AnnotationsAsList", specWith("{env: [A=1]}") + "annotations: [a]\n", "annotations is [\"a\"]"},
        Bad{"AnnotationOfAMap", specWith("{env: [A=1]}") + "annotations: {a: {b: c}}\n", "annotations.a is"},
        Bad{"NulByte", specWith("{deviceNodes: [{path: \"/dev/nvidia0\\0x\"}]}"), "no text has a NUL byte"}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(CdiSpec, LongOnesAreRefused) {
  EXPECT_NE(mistakeIn(std::string(kMostSpecBytes + 1, ' ')).find("over the limit"), std::string::npos);
  std::string many;
  for (std::size_t i = 0; i <= kMostEntries; ++i) { many += "A=1,"; }
  EXPECT_NE(mistakeIn(specWith("{env: [" + many + "]}")).find("4097 entries; 4096 at most"),
            std::string::npos);
  const std::string text(kMostText + 1, 'x');
  EXPECT_NE(mistakeIn(specWith("{env: [A=" + text + "]}")).find("16387 bytes; 16384 at most"),
            std::string::npos);
  // An alias is short, and what it stands for is not.
  std::string bomb = "a: &a [" + std::string(kMostSpecBytes / 4, 'x') + "]\nb: [*a, *a, *a, *a, *a";
  bomb += ", *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n";
  EXPECT_NE(mistakeIn(bomb).find("aliases make this"), std::string::npos);
}

TEST(CdiSpec, DeepOnesAreRefused) {
  EXPECT_NE(mistakeIn(std::string(200, '[')), "");
  EXPECT_NE(mistakeIn(std::string(100'000, '[')), "");
}

}  // namespace
}  // namespace gs::enforce::cdi
