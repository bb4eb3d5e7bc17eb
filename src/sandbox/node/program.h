// When the containers of a simulated pod end by themselves, and how: what its annotations say, and what a
// Job's pods do without any. No image is there to run, so a Job's command is understood as far as tests write
// it: `sleep 5`, `true`, `false`, `exit 3`, `echo ...`, `nvidia-smi`, alone or as `sh -c 'sleep 5; exit 3'`
// with `;` and `&&`. Whatever else it is takes kJobRuns and succeeds. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "json/value.h"

namespace gs::sandbox {

/// The container ends after that time.
inline constexpr const char* kRunForKey = "sandbox.gpu.scheduling/run-for";
/// With that exit code.
inline constexpr const char* kExitCodeKey = "sandbox.gpu.scheduling/exit-code";
inline constexpr Duration kJobRuns = std::chrono::seconds{5};

struct Program {
  std::optional<Duration> runs{};  // nullopt: until somebody ends it
  int exit_code = 0;
  std::vector<std::pair<std::string, std::string>> complaints{};  // reason and message, about annotations
};

/// All main containers as one: the longest, and the first exit code that is not 0.
[[nodiscard]] Program programOf(const json::Value& pod);

}  // namespace gs::sandbox
