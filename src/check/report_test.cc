#include "check/report.h"

#include <gtest/gtest.h>

#include <map>

namespace gs::check {
namespace {

using namespace std::chrono_literals;

Env envOf(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto it = variables.find(name);
    return it == variables.end() ? std::nullopt : std::optional{it->second};
  };
}

std::string said(const std::vector<Line>& lines) {
  std::string out;
  for (const Line& line : lines) { out += print(line, Wall{1'750'000'000'123ms}); }
  return out;
}

constexpr const char* kStart =
    "2025-06-15 15:06:40,123 - __main__ - INFO - GPU Scheduler Check service starting...\n"
    "2025-06-15 15:06:40,123 - __main__ - INFO - Log interval: 10 seconds\n";

TEST(CheckReport, BeginsAsTheMapSchedulersDid) {
  EXPECT_EQ(
      said(beginning(envOf({{"CUDA_VISIBLE_DEVICES", "0,1"}, {"NODE_NAME", "n"}}), 10s)),
      std::string{kStart} + "2025-06-15 15:06:40,123 - __main__ - INFO - Environment validation passed\n");
  EXPECT_EQ(
      said(beginning(envOf({}), 10s)),
      std::string{kStart} +
          "2025-06-15 15:06:40,123 - __main__ - WARNING - Environment issue: CUDA_VISIBLE_DEVICES not set by "
          "scheduler\n"
          "2025-06-15 15:06:40,123 - __main__ - WARNING - Environment issue: NODE_NAME environment variable "
          "not set\n");
  EXPECT_EQ(said(beginning(envOf({{"CUDA_VISIBLE_DEVICES", ""}, {"NODE_NAME", "n"}}), 10s)),
            std::string{kStart} +
                "2025-06-15 15:06:40,123 - __main__ - WARNING - Environment issue: CUDA_VISIBLE_DEVICES is "
                "empty\n");
}

TEST(CheckReport, SaysNodeAndGpus) {
  EXPECT_EQ(state(envOf({{"CUDA_VISIBLE_DEVICES", "0,1,2"}, {"NODE_NAME", "worker"}}), "host").text,
            "Node: worker, CUDA_VISIBLE_DEVICES: 0,1,2");
  EXPECT_EQ(state(envOf({{"CUDA_VISIBLE_DEVICES", ""}}), "host").text,
            "Node: host, CUDA_VISIBLE_DEVICES: empty");
  EXPECT_EQ(state(envOf({}), "host").text, "Node: host, CUDA_VISIBLE_DEVICES: not-set");
}

TEST(CheckReport, EndsWithTheSignalsNumber) {
  EXPECT_EQ(said(ending(15)),
            "2025-06-15 15:06:40,123 - __main__ - INFO - Received signal 15, shutting down gracefully...\n"
            "2025-06-15 15:06:40,123 - __main__ - INFO - GPU Scheduler Check service stopped\n");
}

TEST(CheckReport, ExpectsTheIdsThatItIsGivenAndNoOthers) {
  EXPECT_TRUE(expectation(envOf({{"CUDA_VISIBLE_DEVICES", "0,1"}}), "0,1"));
  EXPECT_TRUE(expectation(envOf({{"CUDA_VISIBLE_DEVICES", ""}}), ""));
  EXPECT_EQ(
      expectation(envOf({{"CUDA_VISIBLE_DEVICES", "0,1,2"}}), "0,1").error().message,
      "CUDA_VISIBLE_DEVICES is '0,1,2', and '0,1' was expected; does the container, or a webhook of others, "
      "set it?");
  EXPECT_EQ(expectation(envOf({}), "").error().message,
            "CUDA_VISIBLE_DEVICES is not set, and '' was expected; is gpu-scheduler's webhook installed?");
}

TEST(CheckReport, ItsIntervalIsAtLeastASecond) {
  EXPECT_EQ(interval(envOf({})).value(), 10s);
  EXPECT_EQ(interval(envOf({{"LOG_INTERVAL", "1"}})).value(), 1s);
  EXPECT_EQ(interval(envOf({{"LOG_INTERVAL", "86400"}})).value(), 24h);
  EXPECT_EQ(interval(envOf({{"LOG_INTERVAL", "86401"}})).error().message,
            "LOG_INTERVAL is '86401'; write 86400 seconds (a day) or less");
  for (const char* wrong : {"0", "-3"}) {
    EXPECT_EQ(interval(envOf({{"LOG_INTERVAL", wrong}})).error().message,
              "LOG_INTERVAL must be at least 1 second");
  }
  for (const char* wrong : {"", "x", "1s", "1.5", "99999999999999999999"}) {
    EXPECT_EQ(interval(envOf({{"LOG_INTERVAL", wrong}})).error().message,
              std::string{"LOG_INTERVAL is '"} + wrong + "'; write a whole number of seconds");
  }
}

}  // namespace
}  // namespace gs::check
