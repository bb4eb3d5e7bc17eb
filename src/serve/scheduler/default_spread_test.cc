#include "serve/scheduler/default_spread.h"

#include <gtest/gtest.h>

namespace gs::serve {
namespace {

std::string refusalOf(const std::string& text) {
  model::DefaultSpread spread;
  const Status read = readDefaultSpread(text, spread);
  return read ? "" : read.error().message;
}

TEST(DefaultSpreadFlag, IsAListInYamlOrJson) {
  const std::string json = R"([{"topologyKey":"zone","maxSkew":2,"whenUnsatisfiable":"DoNotSchedule"},
                               {"topologyKey":"zone","maxSkew":1,"whenUnsatisfiable":"ScheduleAnyway"}])";
  const std::string yaml =
      "- {topologyKey: zone, maxSkew: 2, whenUnsatisfiable: DoNotSchedule}\n"
      "- {topologyKey: zone, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway}\n";
  model::DefaultSpread from_json;
  model::DefaultSpread from_yaml;
  ASSERT_TRUE(readDefaultSpread(json, from_json));
  ASSERT_TRUE(readDefaultSpread(yaml, from_yaml));
  EXPECT_EQ(from_json, from_yaml);
  ASSERT_EQ(from_json.constraints.size(), 2U);
  EXPECT_FALSE(from_json.is_system);
  EXPECT_EQ(from_json.constraints[0].topology_key, "zone");
  EXPECT_EQ(from_json.constraints[0].max_skew, 2);
  EXPECT_TRUE(from_json.constraints[0].is_required);
  EXPECT_FALSE(from_json.constraints[1].is_required);
  EXPECT_FALSE(from_json.constraints[0].pods) << "that depends on the pod";
}

TEST(DefaultSpreadFlag, SystemIsWhatKubeSchedulerHas) {
  model::DefaultSpread spread;
  ASSERT_TRUE(readDefaultSpread("System", spread));
  EXPECT_TRUE(spread.is_system);
  ASSERT_EQ(spread.constraints.size(), 2U);
  EXPECT_EQ(spread.constraints[0].topology_key, "kubernetes.io/hostname");
  EXPECT_EQ(spread.constraints[0].max_skew, 3);
  EXPECT_EQ(spread.constraints[1].max_skew, 5);
  ASSERT_TRUE(readDefaultSpread("", spread));
  EXPECT_FALSE(spread.on());
}

TEST(DefaultSpreadFlag, SaysWhatIsWrong) {
  EXPECT_NE(refusalOf("zone").find("is no list; write System"), std::string::npos);
  EXPECT_NE(refusalOf("[1]").find("entry 1: is no object"), std::string::npos);
  EXPECT_NE(refusalOf("[{maxSkew: 1, whenUnsatisfiable: ScheduleAnyway}]").find("no topologyKey"),
            std::string::npos);
  EXPECT_NE(refusalOf("[{topologyKey: a, whenUnsatisfiable: ScheduleAnyway}]").find("maxSkew"),
            std::string::npos);
  EXPECT_NE(refusalOf("[{topologyKey: a, maxSkew: 1}]").find("write one of them"), std::string::npos);
  EXPECT_NE(refusalOf("[{topologyKey: a, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}]")
                .find("other fields"),
            std::string::npos);
  const std::string twice = "{topologyKey: a, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway}";
  EXPECT_NE(refusalOf("[" + twice + ", " + twice + "]").find("twice"), std::string::npos);
}

}  // namespace
}  // namespace gs::serve
