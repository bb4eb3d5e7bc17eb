#include "serve/operator/flags.h"

#include <gtest/gtest.h>

namespace gs::serve {
namespace {

k8s::Surroundings with(const char* go_log) {
  k8s::Surroundings out;
  out.env = [go_log](std::string_view name) {
    return name == "GO_LOG" && go_log != nullptr ? std::optional<std::string>{go_log} : std::nullopt;
  };
  return out;
}

TEST(OperatorFlags, AddressesAreReadAsControllerRuntimeDoes) {
  OperatorFlags f;
  EXPECT_EQ(f.pages(), ":8081");
  EXPECT_EQ(f.metricsAddress(), "");
  f.metrics = ":8443";
  EXPECT_EQ(f.metricsAddress(), ":8443");
  f.metrics = ":8081";
  EXPECT_EQ(f.metricsAddress(), "");
  for (const char* same : {"0.0.0.0:8081", "[::]:8081", "127.0.0.1:8081"}) {
    f.metrics = same;
    EXPECT_EQ(f.metricsAddress(), "") << same;
  }
  f.health = "127.0.0.1:8081";
  f.metrics = ":8081";
  EXPECT_EQ(f.metricsAddress(), ":8081");
  f.health = "127.0.0.1:9";
  EXPECT_EQ(f.pages(), "127.0.0.1:9");
  f.health = "0";
  EXPECT_EQ(f.pages(), "");
}

TEST(OperatorFlags, GoLogCountsWhereNoLevelIsGiven) {
  OperatorFlags f;
  EXPECT_EQ(f.logOf(with(nullptr)).level, "info");
  EXPECT_EQ(f.logOf(with("trace")).level, "debug");
  EXPECT_EQ(f.logOf(with("nonsense")).level, "info");
  f.log.level = "warn";
  EXPECT_EQ(f.logOf(with("trace")).level, "warn");
}

}  // namespace
}  // namespace gs::serve
