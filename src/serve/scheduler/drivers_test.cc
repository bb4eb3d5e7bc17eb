#include "serve/scheduler/drivers.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/temp_folder_test.h"

namespace gs::serve {
namespace {

class DriversOfAFile : public ::testing::Test {
 protected:
  /// What comes of a file with this text.
  Result<dra::Drivers> readFrom(const std::string& text) {
    std::ofstream{path} << text;
    return readDrivers(path);
  }
  std::string said(const std::string& text) {
    const auto drivers = readFrom(text);
    return drivers ? "" : drivers.error().message;
  }

  const TempFolder folder;
  const std::string path = folder.path("drivers.yaml");
};

TEST_F(DriversOfAFile, WithoutOneTheKnownOnesAreThere) {
  EXPECT_EQ(readDrivers("").value(), dra::knownDrivers());
}

TEST_F(DriversOfAFile, YamlAndJsonAreRead) {
  constexpr const char* kYaml =
      "# of the vendor's driver\n"
      "drivers:\n"
      "- name: gpu.example.com\n"
      "  resource: nvidia.com/gpu\n"
      "  uuidAttribute: uuid\n"
      "  whole: {attribute: type, value: gpu}\n";
  constexpr const char* kJson = R"({"drivers": [{"name": "gpu.example.com", "resource": "nvidia.com/gpu",
    "uuidAttribute": "uuid", "whole": {"attribute": "type", "value": "gpu"}}]})";
  for (const char* text : {kYaml, kJson}) {
    const auto drivers = readFrom(text);
    ASSERT_TRUE(drivers) << drivers.error().message;
    const dra::Driver* driver = dra::findDriver(*drivers, "gpu.example.com");
    ASSERT_NE(driver, nullptr);
    EXPECT_EQ(driver->resource, "nvidia.com/gpu");
    EXPECT_EQ(driver->uuid, (model::QualifiedName{"gpu.example.com", "uuid"}));
    EXPECT_EQ(driver->whole, "gpu");
    EXPECT_NE(dra::findDriver(*drivers, "gpu.nvidia.com"), nullptr);
  }
}

TEST_F(DriversOfAFile, WhatIsWrongIsSaidWithTheFlagAndTheFile) {
  EXPECT_EQ(readDrivers("/not/there").error().message,
            "--dra-drivers: cannot read /not/there: No such file or directory");
  const std::string of_file = "--dra-drivers: " + path;
  EXPECT_EQ(said("drivers: 5"), of_file + ": drivers is 5; write a list of drivers");
  const auto says = [&](const std::string& text, const std::string& start) {
    return said(text).starts_with(of_file + start) ? "" : "it says: " + said(text);
  };
  EXPECT_EQ(says("drivers:\n- {name: gpu.example.com, resource: gpu}",
                 R"(: driver gpu.example.com: resource is "gpu"; write the name)"),
            "");
  EXPECT_EQ(says("a: [", ": YAML line "), "");
  EXPECT_EQ(says("drivers: []\ndrivers: []", ": YAML line "), "");
  EXPECT_EQ(said(""), of_file + " has 0 documents; write one");
  EXPECT_EQ(said("drivers: []\n---\ndrivers: []"), of_file + " has 2 documents; write one");
}

TEST_F(DriversOfAFile, AFileHasAtMost64KiB) {
  const std::string list = "drivers: []\n";
  EXPECT_EQ(said(list + std::string(kMostOfADriverFile - list.size(), '#')), "");
  EXPECT_EQ(said(list + std::string(kMostOfADriverFile + 1 - list.size(), '#')),
            "--dra-drivers: " + path + " has more than 65536 bytes; write a list of 64 drivers at most");
}

}  // namespace
}  // namespace gs::serve
