#include "dra/file/driver_file.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace gs::dra {
namespace {

Result<Drivers> driversOf(std::string_view text) { return readDrivers(json::parse(text).value()); }
/// What it says of a file with this one entry; "" nothing.
std::string saidOfDriver(std::string_view entry) {
  const auto drivers = driversOf(fmt::format(R"({{"drivers":[{}]}})", entry));
  return drivers ? "" : drivers.error().message;
}

TEST(DriverFile, ReadsEverything) {
  const auto drivers = driversOf(R"({"drivers":[{"name":"gpu.example.com","resource":"example.com/gpu",
    "deviceClass":"whole-gpus","uuidAttribute":"uuid","whole":{"attribute":"ids.example.com/kind","value":"card"},
    "productAttribute":"product_name","memoryCapacity":"example.com/memory"}]})");
  ASSERT_TRUE(drivers) << drivers.error().message;
  const Driver* driver = findDriver(*drivers, "gpu.example.com");
  ASSERT_NE(driver, nullptr);
  const Driver expected{.name = "gpu.example.com",
                        .resource = "example.com/gpu",
                        .device_class = "whole-gpus",
                        .uuid = {"gpu.example.com", "uuid"},
                        .kind = {"ids.example.com", "kind"},
                        .whole = "card",
                        .product = {"gpu.example.com", "product_name"},
                        .memory = {"example.com", "memory"}};
  EXPECT_EQ(*driver, expected);
}

TEST(DriverFile, WhatIsAbsentOrNullHasDefaults) {
  for (const char* rest :
       {"", R"(,"deviceClass":null,"uuidAttribute":null,"whole":null,"productAttribute":null,
                                  "memoryCapacity":null)"}) {
    const auto drivers = driversOf(
        fmt::format(R"({{"drivers":[{{"name":"gpu.example.com","resource":"nvidia.com/gpu"{}}}]}})", rest));
    ASSERT_TRUE(drivers) << drivers.error().message;
    const Driver& driver = drivers->back();
    EXPECT_EQ(driver.device_class, "gpu.example.com");
    for (const auto& name : {driver.uuid, driver.kind, driver.product, driver.memory}) {
      EXPECT_EQ(name, model::QualifiedName{});
    }
    model::SliceDevice any;
    any.name = "card-0";
    EXPECT_TRUE(isWholeGpu(driver, any)) << "each of its devices is one";
    EXPECT_EQ(textOf(any, driver.uuid), "");
  }
}

TEST(DriverFile, KnownDriversStayOrAreReplacedAndOthersFollow) {
  EXPECT_EQ(driversOf(R"({"drivers":[]})").value(), knownDrivers());
  const auto drivers = driversOf(R"({"drivers":[{"name":"gpu.b.com","resource":"b.com/gpu"},
    {"name":"gpu.amd.com","resource":"nvidia.com/gpu"},{"name":"gpu.a.com","resource":"a.com/gpu"}]})");
  ASSERT_TRUE(drivers) << drivers.error().message;
  ASSERT_EQ(drivers->size(), 4U);
  EXPECT_EQ(drivers->at(0), knownDrivers().at(0));
  EXPECT_EQ(drivers->at(1).name, "gpu.amd.com");
  EXPECT_EQ(drivers->at(1).resource, "nvidia.com/gpu");
  EXPECT_EQ(drivers->at(1).whole, "") << "nothing of the known one is left";
  EXPECT_EQ(drivers->at(2).name, "gpu.b.com");
  EXPECT_EQ(drivers->at(3).name, "gpu.a.com");
}

TEST(DriverFile, NamesOfEveryForm) {
  const auto resource = [](std::string_view name) {
    return saidOfDriver(fmt::format(R"({{"name":"gpu.a.com","resource":"{}"}})", name));
  };
  for (const char* fine : {"nvidia.com/gpu", "a/b", "a.com/GPU_1.x-y", "example.com/g"}) {
    EXPECT_EQ(resource(fine), "") << fine;
  }
  for (const char* bad : {"gpu", "", "/gpu", "a.com/", "a.com/-", "a.com/gpu.", "A.com/gpu", "a.com/b/c",
                          "kubernetes.io/gpu", "x.kubernetes.io/gpu", "requests.a.com/gpu", "a.com/g pu"}) {
    EXPECT_NE(resource(bad).find("driver gpu.a.com: resource is "), std::string::npos) << bad;
  }
  EXPECT_EQ(resource("a.com/" + std::string(63, 'g')), "");
  EXPECT_NE(resource("a.com/" + std::string(64, 'g')), "");
  const auto attribute = [](std::string_view name) {
    return saidOfDriver(
        fmt::format(R"({{"name":"gpu.a.com","resource":"a.com/gpu","uuidAttribute":"{}"}})", name));
  };
  for (const char* fine : {"uuid", "_x", "UUID_2", "b.com/uuid"}) { EXPECT_EQ(attribute(fine), "") << fine; }
  for (const char* bad : {"", "/uuid", "b.com/", "2uuid", "uu-id", "b.com/x/y", "B.com/uuid", "uu id"}) {
    EXPECT_NE(attribute(bad).find("driver gpu.a.com: uuidAttribute is "), std::string::npos) << bad;
  }
  EXPECT_EQ(attribute(std::string(63, 'b') + "/" + std::string(32, 'u')), "");
  EXPECT_NE(attribute(std::string(64, 'b') + "/uuid"), "");
  EXPECT_NE(attribute(std::string(33, 'u')), "");
  const auto named = [](std::size_t length) {
    return saidOfDriver(fmt::format(R"({{"name":"{}","resource":"a.com/gpu"}})", std::string(length, 'a')));
  };
  EXPECT_EQ(named(63), "");
  EXPECT_NE(named(64), "");
}

TEST(DriverFile, AMistakeIsSaidWithItsDriverKeyValueAndFix) {
  struct {
    const char* entry;
    const char* says;
  } const rows[] = {
      {"5", "drivers[0]: it is 5; write a map of fields"},
      {"{}", "drivers[0]: name is missing; write the name that its ResourceSlices have"},
      {R"({"name":7})", "drivers[0]: name is 7; write the name that its ResourceSlices have"},
      {R"({"name":"GPU.com"})",
       R"(drivers[0]: name is "GPU.com"; write the name that its ResourceSlices have)"},
      {R"({"name":"a.com"})", "driver a.com: resource is missing; write the name of an extended resource"},
      {R"({"name":"a.com","resource":true})",
       "driver a.com: resource is true; write the name of an extended"},
      {R"({"name":"a.com","resource":"a.com/gpu","class":"x"})",
       R"(driver a.com: class is "x"; no such field; there are name, resource, deviceClass, uuidAttribute, whole, )"
       "productAttribute, memoryCapacity"},
      {R"({"name":"a.com","resource":"a.com/gpu","deviceClass":""})",
       R"(driver a.com: deviceClass is ""; write the name of a DeviceClass)"},
      {R"({"name":"a.com","resource":"a.com/gpu","deviceClass":{"name":"x"}})",
       R"(driver a.com: deviceClass is {"name":"x"}; write the name of a DeviceClass)"},
      {R"({"name":"a.com","resource":"a.com/gpu","uuidAttribute":1})",
       "driver a.com: uuidAttribute is 1; write NAME, or DOMAIN/NAME"},
      {R"({"name":"a.com","resource":"a.com/gpu","productAttribute":["x"]})",
       R"(driver a.com: productAttribute is ["x"]; write NAME, or DOMAIN/NAME)"},
      {R"({"name":"a.com","resource":"a.com/gpu","memoryCapacity":"my-memory"})",
       R"(driver a.com: memoryCapacity is "my-memory"; write NAME, or DOMAIN/NAME)"},
      {R"({"name":"a.com","resource":"a.com/gpu","whole":"gpu"})",
       R"(driver a.com: whole is "gpu"; write a map such as {attribute: type, value: gpu})"},
      {R"({"name":"a.com","resource":"a.com/gpu","whole":{"value":"gpu"}})",
       "driver a.com: whole.attribute is missing; write NAME, or DOMAIN/NAME"},
      {R"({"name":"a.com","resource":"a.com/gpu","whole":{"attribute":"type"}})",
       "driver a.com: whole.value is missing; write the text that the attribute of a whole GPU has"},
      {R"({"name":"a.com","resource":"a.com/gpu","whole":{"attribute":"type","value":true}})",
       "driver a.com: whole.value is true; write the text that the attribute of a whole GPU has; quote"},
      {R"({"name":"a.com","resource":"a.com/gpu","whole":{"attribute":"type","value":""}})",
       R"(driver a.com: whole.value is ""; write the text)"},
      {R"({"name":"a.com","resource":"a.com/gpu","whole":{"attribute":"type","value":"gpu","is":1}})",
       "driver a.com: whole.is is 1; no such field; there are attribute, value"},
      {R"({"name":"a.com","resource":"a.com/gpu"},{"name":"b.com"})", "driver b.com: resource is missing"},
      {R"({"name":"a.com","resource":"a.com/gpu"},null)", "drivers[1]: it is missing; write a map of fields"},
      {R"({"name":"a.com","resource":"a.com/gpu"},{"name":"a.com","resource":"b.com/gpu"})",
       "driver a.com: it is there twice; write one entry for each driver"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(saidOfDriver(row.entry).substr(0, std::string_view{row.says}.size()), row.says) << row.entry;
  }
}

TEST(DriverFile, AFileThatIsNoListOfDriversIsRefused) {
  struct {
    const char* file;
    const char* says;
  } const rows[] = {
      {"{}", "drivers is missing; write a list of drivers"},
      {"null", "drivers is missing; write a list of drivers"},
      {R"([{"name":"a.com"}])", "drivers is missing; write a list of drivers"},
      {R"({"drivers":{"name":"a.com"}})", R"(drivers is {"name":"a.com"}; write a list of drivers)"},
      {R"({"drivers":[],"driver":1})", "driver is 1; no such field; there is drivers"},
  };
  for (const auto& row : rows) {
    const auto drivers = driversOf(row.file);
    ASSERT_FALSE(drivers) << row.file;
    EXPECT_EQ(drivers.error().code, Code::Invalid);
    EXPECT_EQ(drivers.error().message, row.says);
  }
}

TEST(DriverFile, HasAtMost64Drivers) {
  const auto with = [](std::size_t count) {
    std::string entries;
    for (std::size_t i = 0; i < count; ++i) {
      entries += fmt::format(R"({}{{"name":"gpu-{}.com","resource":"a.com/gpu"}})", i == 0 ? "" : ",", i);
    }
    return driversOf(fmt::format(R"({{"drivers":[{}]}})", entries));
  };
  ASSERT_TRUE(with(kMostDrivers));
  EXPECT_EQ(with(kMostDrivers)->size(), kMostDrivers + knownDrivers().size());
  const auto more = with(kMostDrivers + 1);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().message,
            "drivers has 65 entries; write 64 at most, those of drivers that the cluster has");
}

TEST(DriverFile, AValueThatIsLongIsCut) {
  const std::string said = saidOfDriver(R"({"name":")" + std::string(5'000, 'A') + R"("})");
  EXPECT_LT(said.size(), 400U);
}

}  // namespace
}  // namespace gs::dra
