#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kapi/decode.h"
#include "kapi/json_text_test.h"
#include "kapi/kinds.h"

namespace gs::kapi {
namespace {

using model::QualifiedName;

TEST(DecodeResourceSlice, ReadsAPoolsPart) {
  const auto s =
      decodeResourceSlice(parsed(R"({"metadata":{"name":"s","uid":"u","resourceVersion":"8"},"spec":{
    "driver":"gpu.nvidia.com","nodeName":"a","pool":{"name":"a","generation":3,"resourceSliceCount":2},"devices":[
    {"name":"gpu-0","attributes":{"type":{"string":"gpu"},"example.com/index":{"int":-2},"ecc":{"bool":true},
     "off":{"bool":false},"driverVersion":{"version":"570.1.2"},"odd":{"version":"v1"},"list":{"strings":["a"]}},
     "capacity":{"memory":{"value":"80Gi"},"bad":{"value":"much"}},
     "taints":[{"key":"k","value":"v","effect":"NoExecute","timeAdded":"2026-01-01T00:00:00Z"}]},
    {"name":""},{}]}})"));
  EXPECT_EQ(s.key.name, "s");
  EXPECT_EQ(s.uid, model::Uid{"u"});
  EXPECT_EQ(s.revision, 8U);
  EXPECT_EQ(s.driver, "gpu.nvidia.com");
  EXPECT_EQ(s.pool, "a");
  EXPECT_EQ(s.generation, 3);
  EXPECT_EQ(s.slices, 2);
  EXPECT_EQ(s.node, model::NodeName{"a"});
  ASSERT_EQ(s.devices.size(), 1U);
  const auto& d = s.devices[0];
  const auto attribute = [&](const char* domain, const char* name) {
    return d.attributes.at(QualifiedName{domain, name});
  };
  EXPECT_EQ(attribute("gpu.nvidia.com", "type"), model::Attribute{std::string{"gpu"}});
  EXPECT_EQ(attribute("example.com", "index"), model::Attribute{std::int64_t{-2}});
  EXPECT_EQ(attribute("gpu.nvidia.com", "ecc"), model::Attribute{true});
  EXPECT_EQ(attribute("gpu.nvidia.com", "off"), model::Attribute{false});
  EXPECT_EQ(std::get<model::SemVer>(attribute("gpu.nvidia.com", "driverVersion")).major, 570U);
  EXPECT_EQ(attribute("gpu.nvidia.com", "odd"), model::Attribute{}) << "there, and of no shape that is read";
  EXPECT_EQ(attribute("gpu.nvidia.com", "list"), model::Attribute{});
  EXPECT_EQ(d.capacity, (std::map<QualifiedName, model::Quantity>{
                            {{"gpu.nvidia.com", "memory"}, {std::int64_t{80} << 30, 0}}}));
  EXPECT_EQ(d.taints, (std::vector<model::Taint>{{"k", "v", "NoExecute"}}));
  EXPECT_EQ(d.unsupported, "");
}

TEST(DecodeResourceSlice, SaysWhyADeviceIsNotOneLikeAnyOther) {
  struct Row {
    const char* field;
    const char* begins;
  };
  for (const Row& row : {Row{R"("consumesCounters":[{"counterSet":"c"}])", "consumesCounters"},
                         Row{R"("allowMultipleAllocations":true)", "allowMultipleAllocations"},
                         Row{R"("bindingConditions":["ready"])", "bindingConditions"},
                         Row{R"("nodeAllocatableResources":{"cpu":{}})", "nodeAllocatableResources"},
                         Row{R"("consumesCounters":[],"allowMultipleAllocations":false)", ""}}) {
    const auto s = decodeResourceSlice(
        parsed(fmt::format(R"({{"spec":{{"driver":"d","devices":[{{"name":"x",{}}}]}}}})", row.field)));
    ASSERT_EQ(s.devices.size(), 1U);
    EXPECT_TRUE(s.devices[0].unsupported.starts_with(row.begins)) << s.devices[0].unsupported;
    EXPECT_EQ(s.devices[0].unsupported.empty(), *row.begins == '\0');
  }
}

/// What no API server takes costs nobody anything, and nothing of it is given.
TEST(DecodeResourceSlice, IsBounded) {
  const auto many = [](int devices, int attributes) {
    const auto entry =
        fmt::format(R"({{"name":"d-@","attributes":{{{}}}}})", repeated(R"("a@":{"int":1})", attributes));
    return decodeResourceSlice(
        parsed(fmt::format(R"({{"spec":{{"driver":"d","pool":{{"resourceSliceCount":1}},"devices":[{}]}}}})",
                           repeated(entry, devices))));
  };
  EXPECT_EQ(many(128, 1).devices.size(), 128U);
  EXPECT_EQ(many(128, 1).slices, 1);
  EXPECT_EQ(many(129, 1).devices.size(), 0U);
  EXPECT_EQ(many(129, 1).slices, 0) << "its pool is never complete";
  const auto wide = many(1, 65);
  EXPECT_EQ(wide.devices[0].unsupported, "65 attributes and capacities, more than 64");
  EXPECT_TRUE(wide.devices[0].attributes.empty());
  EXPECT_EQ(many(1, 64).devices[0].unsupported, "");
}

TEST(DecodeDeviceTaintRule, ReadsSelectorAndTaint) {
  const auto r =
      decodeDeviceTaintRule(parsed(R"({"metadata":{"name":"r","uid":"u","resourceVersion":"4"},"spec":{
    "deviceSelector":{"driver":"d","pool":"p","device":"gpu-1"},"taint":{"key":"k","value":"v","effect":"NoSchedule"}}})"));
  EXPECT_EQ(r.key.name, "r");
  EXPECT_EQ(r.revision, 4U);
  EXPECT_EQ(std::tie(r.driver, r.pool, r.device), std::make_tuple("d", "p", "gpu-1"));
  EXPECT_EQ(r.taint, (model::Taint{"k", "v", "NoSchedule"}));
}

TEST(DecodeDeviceClass, ReadsSelectorsAndTheResourceThatItStandsFor) {
  const auto c =
      decodeDeviceClass(parsed(R"({"metadata":{"name":"gpu","uid":"u","resourceVersion":"4"},"spec":{
    "selectors":[{"cel":{"expression":"true"}},{"cel":{"expression":"false"}}],
    "extendedResourceName":"nvidia.com/gpu","config":[{"opaque":{"driver":"d"}}]}})"));
  EXPECT_EQ(c.selectors, (std::vector<std::string>{"true", "false"}));
  EXPECT_EQ(c.extended_resource, "nvidia.com/gpu");
  EXPECT_EQ(c.config, (std::vector<model::DeviceConfig>{{true, {}, R"({"opaque":{"driver":"d"}})"}}));
  EXPECT_TRUE(decodeDeviceClass(parsed("{}")).config.empty());
}

TEST(DecodeResourceClaim, ReadsWhatIsAskedAndWhatWasAllocated) {
  const auto c =
      decodeResourceClaim(parsed(R"({"metadata":{"name":"c","namespace":"ns","uid":"u","resourceVersion":"4",
     "annotations":{"gpu.scheduling/reservation":"r-1"},"deletionTimestamp":"2026-01-01T00:00:00Z",
     "ownerReferences":[{"kind":"Pod","uid":"other"},{"kind":"Pod","uid":"p-1","controller":true}]},
    "spec":{"devices":{"requests":[
      {"name":"one","exactly":{"deviceClassName":"gpu","count":3,"selectors":[{"cel":{"expression":"x"}}],
       "tolerations":[{"key":"k","operator":"Exists","effect":"NoSchedule"}]}},
      {"name":"two","firstAvailable":[{"name":"big","deviceClassName":"gpu","allocationMode":"All"},
       {"name":"small","deviceClassName":"mig"}]}],
      "constraints":[{"requests":["one"],"matchAttribute":"a.com/numa"},{"distinctAttribute":"a.com/x"},
       {"matchAttribute":"bare"},{"later":1}],
      "config":[{"requests":["one"],"opaque":{}}]}},
    "status":{"allocation":{"devices":{"results":[{"request":"one","driver":"d","pool":"p","device":"gpu-3"},
      {"request":"two/small","driver":"d","pool":"p","device":"mig-1","adminAccess":true}]}},
     "reservedFor":[{"resource":"pods","name":"b","uid":"p-2"},{"resource":"pods","name":"a","uid":"p-1"},
      {"apiGroup":"x","resource":"jobs","name":"j","uid":"j-1"}]}})"));
  EXPECT_EQ(c.key, (model::ObjectKey{"ns", "c"}));
  EXPECT_EQ(c.reservation, "r-1");
  EXPECT_TRUE(c.deleting);
  EXPECT_EQ(c.owner_pod, model::Uid{"p-1"});
  ASSERT_EQ(c.requests.size(), 2U);
  ASSERT_EQ(c.requests[0].ways.size(), 1U);
  const auto& one = c.requests[0].ways[0];
  EXPECT_EQ(one.count, 3);
  EXPECT_EQ(one.selectors, std::vector<std::string>{"x"});
  EXPECT_EQ(one.tolerations, (std::vector<model::Toleration>{{"k", "", "NoSchedule", true}}));
  ASSERT_EQ(c.requests[1].ways.size(), 2U);
  EXPECT_TRUE(c.requests[1].ways[0].all);
  EXPECT_EQ(c.requests[1].ways[1].name, "small");
  EXPECT_EQ(c.requests[1].ways[1].count, 1);
  ASSERT_EQ(c.constraints.size(), 4U);
  EXPECT_EQ(c.constraints[0].match, (QualifiedName{"a.com", "numa"}));
  EXPECT_EQ(c.constraints[0].requests, std::vector<std::string>{"one"});
  EXPECT_EQ(c.constraints[1].distinct, (QualifiedName{"a.com", "x"}));
  EXPECT_EQ(c.constraints[3].unsupported, "later");
  EXPECT_EQ(c.config, (std::vector<model::DeviceConfig>{{false, {"one"}, R"({"opaque":{}})"}}));
  EXPECT_TRUE(c.allocated);
  EXPECT_EQ(c.results, (std::vector<model::AllocatedDevice>{{"one", {"d", "p", "gpu-3"}, false},
                                                            {"two/small", {"d", "p", "mig-1"}, true}}));
  EXPECT_EQ(c.reserved_for,
            (std::vector<model::Uid>{model::Uid{"j-1"}, model::Uid{"p-1"}, model::Uid{"p-2"}}));
}

TEST(DecodeResourceClaim, WhatIsNotServedIsNamed) {
  for (const auto& [field, name] :
       {std::pair{R"("adminAccess":true)", "adminAccess"},
        std::pair{R"("capacity":{"requests":{"memory":"1Gi"}})", "capacity"},
        std::pair{R"("derivedAttributes":[{"name":"x"}])", "derivedAttributes"},
        std::pair{R"("allocationMode":"Some")", "allocationMode"}, std::pair{R"("adminAccess":false)", ""}}) {
    const auto c = decodeResourceClaim(parsed(fmt::format(
        R"({{"spec":{{"devices":{{"requests":[{{"name":"r","exactly":{{"deviceClassName":"c",{}}}}}]}}}}}})",
        field)));
    ASSERT_EQ(c.requests.size(), 1U);
    EXPECT_EQ(c.requests[0].ways.at(0).unsupported, name);
    EXPECT_FALSE(c.allocated);
  }
}

}  // namespace
}  // namespace gs::kapi
