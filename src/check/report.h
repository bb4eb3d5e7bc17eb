// What gpu-scheduler-check says: the check service of the map scheduler's second chart, whose lines its users
// read, word for word. It runs in a pod as a workload would, and writes which node it is on and which GPUs
// its container was told.
//
// Lines are those of Python's logging, with the time in UTC:
//   2025-06-15 15:06:40,123 - __main__ - INFO - Node: node-a, CUDA_VISIBLE_DEVICES: 0,1
// Pure: the environment and the time are given.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace gs::check {

/// nullopt: the variable is not set.
using Env = std::function<std::optional<std::string>(const char* name)>;

enum class Level : std::uint8_t { Info, Warning };
struct Line {
  Level level{};
  std::string text;
  friend bool operator==(const Line&, const Line&) = default;
};

/// LOG_INTERVAL, 10 s where it is not set. Error Invalid: it is no whole number of seconds from 1 to a
/// day.
[[nodiscard]] Result<std::chrono::seconds> interval(const Env& env);
/// What it begins with: that it starts, and what of the environment is missing, if anything is.
[[nodiscard]] std::vector<Line> beginning(const Env& env, std::chrono::seconds every);
/// Node and GPUs; without NODE_NAME the host's name.
[[nodiscard]] Line state(const Env& env, const std::string& host);
[[nodiscard]] std::vector<Line> ending(int signal);

/// For `helm test`. Error Invalid: the container was not told `ids`, but others or nothing.
[[nodiscard]] Status expectation(const Env& env, const std::string& ids);

[[nodiscard]] std::string print(const Line& line, Wall now);

}  // namespace gs::check
