#include "enforce/cdi/index.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "enforce/cdi/vendor_specs_test.h"

namespace gs::enforce::cdi {
namespace {

using Files = std::vector<SpecFile>;

SpecPtr specOf(const std::string& file, const std::string& text) {
  auto spec = readSpec(file, text);
  EXPECT_TRUE(spec) << spec.error().message;
  return spec ? std::make_shared<const Spec>(*std::move(spec)) : std::make_shared<const Spec>();
}

/// v.com/c with these devices.
SpecPtr specWithDevices(const std::string& file, const std::vector<std::string>& names) {
  std::string devices;
  for (const std::string& name : names) {
    devices += fmt::format("- {{name: '{}', containerEdits: {{env: ['FROM={}']}}}}\n", name, file);
  }
  return specOf(file, "cdiVersion: 0.6.0\nkind: v.com/c\ndevices:\n" + devices);
}

std::vector<std::string> namesOf(const std::vector<Entry>& entries) {
  std::vector<std::string> out;
  for (const Entry& entry : entries) { out.push_back(entry.name()); }
  return out;
}

TEST(CdiIndex, FindsDevicesOfAllFilesByTheirNames) {
  const Index index{Files{{0, specOf("/etc/cdi/nvidia.yaml", kNvidiaCtkYaml)},
                          {1, specOf("/var/run/cdi/plugin.json", kDevicePluginJson)},
                          {1, specOf("/var/run/cdi/amd.json", kAmdJson)}}};
  EXPECT_EQ(index.size(), 10U);
  EXPECT_TRUE(index.broken().empty());
  const auto found = index.find(fmt::format("k8s.device-plugin.nvidia.com/gpu={}", kUuid1));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->device->name, kUuid1);
  EXPECT_EQ(found->spec->file, "/var/run/cdi/plugin.json");
  EXPECT_EQ(found->device->edits.device_nodes.at(0).path, "/dev/nvidia1");
  EXPECT_EQ(namesOf(index.devicesOfKind("amd.com/gpu")),
            (std::vector<std::string>{"amd.com/gpu=0", "amd.com/gpu=1", "amd.com/gpu=all"}));
  EXPECT_EQ(index.devicesOfKind("nvidia.com/gpu").size(), 5U);
  EXPECT_TRUE(index.devicesOfKind("nvidia.com/g").empty()) << "no part of a kind";
  EXPECT_TRUE(index.devicesOfKind("").empty());
}

TEST(CdiIndex, AnEntryOutlivesTheIndex) {
  Entry entry;
  {
    const Index index{Files{{0, specWithDevices("A", {"x"})}}};
    entry = *index.find("v.com/c=x");
  }
  EXPECT_EQ(entry.name(), "v.com/c=x");
  EXPECT_EQ(entry.device->edits.env.at(0), "FROM=A");
}

TEST(CdiIndex, TheLaterDirectoryWins) {
  // Whatever order the files come in.
  const Index index{Files{{1, specWithDevices("/var/run/cdi/a.yaml", {"x"})},
                          {0, specWithDevices("/etc/cdi/a.yaml", {"x", "y"})}}};
  EXPECT_EQ(index.find("v.com/c=x")->spec->file, "/var/run/cdi/a.yaml");
  EXPECT_EQ(index.find("v.com/c=y")->spec->file, "/etc/cdi/a.yaml");
  EXPECT_EQ(index.size(), 2U);
  EXPECT_TRUE(index.broken().empty());
}

TEST(CdiIndex, TwoFilesOfOneDirectoryAreInConflict) {
  const Index index{Files{{0, specWithDevices("/etc/cdi/a.yaml", {"x", "y", "z"})},
                          {0, specWithDevices("/etc/cdi/b.yaml", {"y", "z"})}}};
  const auto found = index.find("v.com/c=y");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::Conflict);
  EXPECT_NE(found.error().message.find("v.com/c=y is defined by /etc/cdi/a.yaml and by /etc/cdi/b.yaml"),
            std::string::npos)
      << found.error().message;
  EXPECT_EQ(namesOf(index.devicesOfKind("v.com/c")), (std::vector<std::string>{"v.com/c=x"}));
  EXPECT_EQ(index.size(), 1U);
  ASSERT_EQ(index.broken().size(), 1U) << "one sentence for the two files";
  EXPECT_EQ(
      index.broken()[0],
      "/etc/cdi/a.yaml and /etc/cdi/b.yaml both define v.com/c=y and 1 more: container runtimes resolve "
      "it to neither; remove one of the two files");
}

TEST(CdiIndex, AConflictStaysOneWhateverALaterDirectorySays) {
  const Index index{
      {{0, specWithDevices("A", {"x"})}, {0, specWithDevices("B", {"x"})}, {1, specWithDevices("C", {"x"})}}};
  const auto found = index.find("v.com/c=x");
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("by A and by B"), std::string::npos) << found.error().message;
  const Index later{
      {{0, specWithDevices("A", {"x"})}, {1, specWithDevices("B", {"x"})}, {1, specWithDevices("C", {"x"})}}};
  EXPECT_NE(later.find("v.com/c=x").error().message.find("by B and by C"), std::string::npos);
}

TEST(CdiIndex, WhatIsNotThereIsAnsweredWithWhatIs) {
  const Index index{Files{{0, specWithDevices("A", {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"})}},
                    {"/etc/cdi/b.yaml: broken", "/etc/cdi/c.yaml: broken"}};
  const auto found = index.find("v.com/c=x");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error(),
            (Error{Code::NotFound,
                   "no CDI device v.com/c=x: of v.com/c there are 0, 1, 2, 3, 4, 5, 6, 7 and 2 "
                   "more; not used: /etc/cdi/b.yaml: broken and 1 more"}));
  EXPECT_EQ(Index{}.find("v.com/c=x").error(),
            (Error{Code::NotFound, "no CDI device v.com/c=x: no file defines devices of v.com/c"}));
  EXPECT_EQ(index.find("x").error().code, Code::Invalid);
}

TEST(CdiIndex, ResolvesWhatIsFoundAndNothingElse) {
  const Index index{Files{{0, specWithDevices("A", {"x", "y"})}, {0, specWithDevices("B", {"y"})}}};
  ASSERT_TRUE(index.resolve("v.com/c=x"));
  EXPECT_EQ(index.resolve("v.com/c=x")->spec->file, "A");
  EXPECT_FALSE(index.resolve("v.com/c=y")) << "in conflict";
  EXPECT_FALSE(index.resolve("v.com/c=z"));
  EXPECT_FALSE(index.resolve(""));
}

}  // namespace
}  // namespace gs::enforce::cdi
