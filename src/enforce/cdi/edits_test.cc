#include "enforce/cdi/edits.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "enforce/cdi/vendor_specs_test.h"

namespace gs::enforce::cdi {
namespace {

using rpc::nri::LinuxDevice;

/// All devices of the file, in its order.
std::vector<Entry> devicesIn(const std::string& text) {
  auto spec = readSpec("/etc/cdi/x", text);
  EXPECT_TRUE(spec) << spec.error().message;
  if (!spec) { return {}; }
  const auto shared = std::make_shared<const Spec>(*std::move(spec));
  std::vector<Entry> out;
  for (const Device& device : shared->devices) { out.push_back({shared, &device}); }
  return out;
}

/// v.com/c=a with these edits, and what whoever gets it gets besides.
std::vector<Entry> deviceWith(const std::string& edits, const std::string& of_all = "{}") {
  return devicesIn(
      fmt::format("cdiVersion: 1.1.0\nkind: v.com/c\ncontainerEdits: {}\ndevices:\n- name: a\n"
                  "  containerEdits: {}\n",
                  of_all, edits));
}

LinuxDevice linuxDevice(const char* path, std::int64_t major, std::int64_t minor,
                        std::optional<std::uint32_t> mode) {
  LinuxDevice out;
  out.path = path;
  out.type = "c";
  out.major = major;
  out.minor = minor;
  out.file_mode = mode;
  return out;
}

std::string mistakeIn(const std::vector<Entry>& devices, const Stats& stats, Code code) {
  const auto written = writtenOut(devices, stats);
  if (written) { return ""; }
  EXPECT_EQ(written.error().code, code);
  EXPECT_EQ(written.error().message.rfind("/etc/cdi/x: ", 0), 0U) << written.error().message;
  return written.error().message;
}

const Stats kHost{{"/dev/nvidia0", {"c", 195, 0, 0666}},
                  {"/dev/dri/card1", {"c", 226, 1, 0660}},
                  {"/dev/dri/renderD128", {"c", 226, 128, 0660}},
                  {"/dev/nvidia-modeset", {"c", 195, 254, 0666}},
                  {"/dev/nvidia-uvm", {"c", 511, 0, 0666}},
                  {"/dev/nvidia-uvm-tools", {"c", 511, 1, 0666}},
                  {"/dev/nvidiactl", {"c", 195, 255, 0666}},
                  {"/run/nvidia/driver/dev/dri/renderD129", {"c", 226, 129, 0660}}};

TEST(CdiEdits, AGpuOfNvidiaCtkIsWrittenOutWithLibrariesAndHooks) {
  std::vector<Entry> devices = devicesIn(kNvidiaCtkYaml);
  devices.resize(1);
  EXPECT_EQ(nodesToStat(devices),
            (std::vector<std::string>{"/dev/dri/card1", "/dev/dri/renderD128", "/dev/nvidia-modeset",
                                      "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia0",
                                      "/dev/nvidiactl"}));
  const auto written = writtenOut(devices, kHost);
  ASSERT_TRUE(written) << written.error().message;
  const rpc::nri::Adjustment& adjustment = written->adjustment;
  EXPECT_EQ(
      adjustment.devices,
      (std::vector<LinuxDevice>{
          linuxDevice("/dev/nvidia-modeset", 195, 254, 0666), linuxDevice("/dev/nvidia-uvm", 511, 0, 0666),
          linuxDevice("/dev/nvidia-uvm-tools", 511, 1, 0666), linuxDevice("/dev/nvidiactl", 195, 255, 0666),
          linuxDevice("/dev/dri/card1", 226, 1, 0660), linuxDevice("/dev/dri/renderD128", 226, 128, 0660),
          linuxDevice("/dev/nvidia0", 195, 0, 0666)}))
      << "those of the file first";
  EXPECT_EQ(adjustment.env,
            (std::vector<std::pair<std::string, std::string>>{{"NVIDIA_VISIBLE_DEVICES", "void"}}));
  ASSERT_EQ(adjustment.mounts.size(), 2U);
  EXPECT_EQ(
      adjustment.mounts[0],
      (rpc::nri::Mount{
          "/usr/bin/nvidia-smi", "", "/usr/bin/nvidia-smi", {"ro", "nosuid", "nodev", "rbind", "rprivate"}}));
  ASSERT_EQ(adjustment.hooks.create_container.size(), 3U);
  EXPECT_EQ(adjustment.hooks.create_container[0].args.at(1), "enable-cuda-compat");
  EXPECT_EQ(adjustment.hooks.create_container[1].args.at(1), "update-ldcache");
  EXPECT_EQ(adjustment.hooks.create_container[2].args.at(1), "create-symlinks") << "the device's own last";
  EXPECT_TRUE(adjustment.cdi_devices.empty());
  EXPECT_TRUE(adjustment.remove_devices.empty());
  EXPECT_TRUE(written->untold.empty());
  EXPECT_EQ(written->untold.sentence(), "");
}

TEST(CdiEdits, WhatTheFileSaysIsNotAskedOfTheHost) {
  const auto devices = devicesIn(kNvidiaCtkJson);
  EXPECT_EQ(nodesToStat(devices), (std::vector<std::string>{"/run/nvidia/driver/dev/dri/renderD129"}));
  const auto written = writtenOut(devices, kHost);
  ASSERT_TRUE(written) << written.error().message;
  LinuxDevice gpu = linuxDevice("/dev/nvidia1", 195, 1, 0666);
  gpu.uid = 0;
  gpu.gid = 0;
  EXPECT_EQ(written->adjustment.devices,
            (std::vector<LinuxDevice>{gpu, linuxDevice("/dev/dri/renderD129", 226, 129, 0660)}));
  EXPECT_EQ(written->untold.additional_gids, (std::vector<std::uint32_t>{110}));
  EXPECT_NE(written->untold.sentence().find("groups 110, which NRI has no field for"), std::string::npos)
      << written->untold.sentence();
}

TEST(CdiEdits, AFilesOwnEditsComeOnceAndDevicesInTheOrderAsked) {
  auto devices = devicesIn(R"({"cdiVersion": "0.5.0", "kind": "v.com/c", "containerEdits": {"hooks": [
        {"hookName": "poststop", "path": "/all"}]}, "devices": [
      {"name": "a", "containerEdits": {"hooks": [{"hookName": "poststop", "path": "/a"}]}},
      {"name": "b", "containerEdits": {"hooks": [{"hookName": "poststop", "path": "/b"}]}}]})");
  std::swap(devices[0], devices[1]);
  devices.push_back(devices[0]);  // asked for twice
  const auto written = writtenOut(devices, {});
  ASSERT_TRUE(written) << written.error().message;
  std::vector<std::string> paths;
  for (const auto& hook : written->adjustment.hooks.poststop) { paths.push_back(hook.path); }
  EXPECT_EQ(paths, (std::vector<std::string>{"/all", "/b", "/a"}));
}

TEST(CdiEdits, OfTwoWithOneNameTheLastCounts) {
  const auto written =
      writtenOut(deviceWith("{env: [A=2, C=a=b, D=], mounts: [{hostPath: /two, containerPath: /m}], "
                            "deviceNodes: [{path: /dev/x, type: c, major: 2, permissions: rwm}]}",
                            "{env: [A=1, B=1], mounts: [{hostPath: /one, containerPath: /m}], "
                            "deviceNodes: [{path: /dev/x, type: c, major: 1, permissions: r}]}"),
                 {});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->adjustment.env, (std::vector<std::pair<std::string, std::string>>{
                                         {"A", "2"}, {"B", "1"}, {"C", "a=b"}, {"D", ""}}));
  ASSERT_EQ(written->adjustment.mounts.size(), 1U);
  EXPECT_EQ(written->adjustment.mounts[0].source, "/two");
  EXPECT_EQ(written->adjustment.devices,
            (std::vector<LinuxDevice>{linuxDevice("/dev/x", 2, 0, std::nullopt)}));
  EXPECT_TRUE(written->untold.empty()) << "what the first one said of permissions went with it";
}

TEST(CdiEdits, AllSixKindsOfHooksFindTheirPlace) {
  std::string hooks;
  for (const char* name :
       {"prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"}) {
    hooks += fmt::format("{{hookName: {0}, path: /{0}, args: [{0}, x], env: [A=1], timeout: 7}}, ", name);
  }
  const auto written = writtenOut(deviceWith("{hooks: [" + hooks + "]}"), {});
  ASSERT_TRUE(written) << written.error().message;
  const rpc::nri::Hooks& all = written->adjustment.hooks;
  const auto hook = [](const std::string& name) {
    return std::vector<rpc::nri::Hook>{{"/" + name, {name, "x"}, {"A=1"}, 7}};
  };
  EXPECT_EQ(all.prestart, hook("prestart"));
  EXPECT_EQ(all.create_runtime, hook("createRuntime"));
  EXPECT_EQ(all.create_container, hook("createContainer"));
  EXPECT_EQ(all.start_container, hook("startContainer"));
  EXPECT_EQ(all.poststart, hook("poststart"));
  EXPECT_EQ(all.poststop, hook("poststop"));
}

TEST(CdiEdits, WhatNriCannotSayIsToldApart) {
  const auto written = writtenOut(
      deviceWith("{additionalGids: [44, 0, 5], netDevices: [{hostInterfaceName: eth1, name: net0}], "
                 "intelRdt: {closID: a}, deviceNodes: [{path: /dev/x, type: c, major: 1, permissions: r}]}",
                 "{additionalGids: [44]}"),
      {});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->untold, (Untold{{5, 44}, {"eth1"}, {"/dev/x"}, true}));
  EXPECT_EQ(
      written->untold.sentence(),
      "the CDI files say groups 5, 44; network interfaces eth1; narrower permissions of /dev/x; intelRdt, "
      "which NRI has no field for; a runtime that injects CDI devices itself gives them (containerd 2.1, "
      "CRI-O 1.34)");
}

struct NodeCase {
  const char* name;
  const char* node;
  LinuxDevice expect;
};
class CdiDeviceNodes : public ::testing::TestWithParam<NodeCase> {};
TEST_P(CdiDeviceNodes, AreFilledInAsTheLibraryDoes) {
  const auto written = writtenOut(deviceWith(fmt::format("{{deviceNodes: [{}]}}", GetParam().node)), kHost);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->adjustment.devices, (std::vector<LinuxDevice>{GetParam().expect}));
}
INSTANTIATE_TEST_SUITE_P(
    Table, CdiDeviceNodes,
    ::testing::Values(NodeCase{"AllOfTheHost", "{path: /dev/nvidia0}",
                               linuxDevice("/dev/nvidia0", 195, 0, 0666)},
                      NodeCase{"Renamed", "{path: /dev/gpu, hostPath: /dev/nvidia0}",
                               linuxDevice("/dev/gpu", 195, 0, 0666)},
                      NodeCase{"TypeAlone", "{path: /dev/nvidiactl, type: c}",
                               linuxDevice("/dev/nvidiactl", 195, 255, 0666)},
                      NodeCase{"MinorAlone", "{path: /dev/nvidiactl, minor: 9}",
                               linuxDevice("/dev/nvidiactl", 195, 255, 0666)},
                      NodeCase{"MajorAlone", "{path: /dev/nvidiactl, major: 9, minor: 8}",
                               linuxDevice("/dev/nvidiactl", 9, 8, 0666)},
                      NodeCase{"ModeOfTheFile", "{path: /dev/nvidia0, fileMode: 384}",
                               linuxDevice("/dev/nvidia0", 195, 0, 0600)},
                      NodeCase{"FullySaid", "{path: /dev/nvidia0, type: c, major: 1, minor: 3}",
                               linuxDevice("/dev/nvidia0", 1, 3, 0666)},
                      NodeCase{"FullySaidAndNotThere", "{path: /dev/none, type: c, major: 1, minor: 3}",
                               linuxDevice("/dev/none", 1, 3, std::nullopt)},
                      NodeCase{"UnbufferedIsCharacter", "{path: /dev/none, type: u, major: 1, minor: 3}",
                               linuxDevice("/dev/none", 1, 3, std::nullopt)}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(CdiEdits, WhatCannotBeGivenIsRefusedByName) {
  const auto node = [](const std::string& one) { return deviceWith("{deviceNodes: [" + one + "]}"); };
  EXPECT_NE(mistakeIn(node("{path: /dev/none}"), kHost, Code::NotFound)
                .find("no device node /dev/none on this host"),
            std::string::npos);
  EXPECT_NE(mistakeIn(node("{path: /dev/gpu, hostPath: /dev/none, type: c}"), kHost, Code::NotFound)
                .find("no device node /dev/none"),
            std::string::npos);
  EXPECT_NE(mistakeIn(node("{path: /dev/nvidia0, type: b}"), kHost, Code::Invalid)
                .find("/dev/nvidia0 is of type b in the file and c on this host"),
            std::string::npos);
  EXPECT_NE(mistakeIn(node("{path: /run/fifo, type: p}"), kHost, Code::Invalid).find("/run/fifo is a FIFO"),
            std::string::npos);
  // 0666 in YAML is 666 to who does not read it as octal.
  EXPECT_NE(mistakeIn(node("{path: /dev/nvidia0, fileMode: 666}"), kHost, Code::Invalid)
                .find("fileMode 666 of /dev/nvidia0 is no mode"),
            std::string::npos);
  EXPECT_NE(mistakeIn(node("{path: dev/nvidia0}"), kHost, Code::Invalid).find("the path dev/nvidia0"),
            std::string::npos);
  // NRI takes a name with '-' in front for a removal.
  EXPECT_NE(mistakeIn(deviceWith("{mounts: [{hostPath: /a, containerPath: '-/a'}]}"), kHost, Code::Invalid)
                .find("the path -/a"),
            std::string::npos);
  EXPECT_NE(mistakeIn(deviceWith("{env: ['-A=1']}"), kHost, Code::Invalid).find("env -A cannot be set"),
            std::string::npos);
}

}  // namespace
}  // namespace gs::enforce::cdi
