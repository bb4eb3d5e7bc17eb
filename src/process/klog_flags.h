// The flags of programs that log by klog, which gpu-admission's users have in their manifests: read, so that
// nothing breaks, though only verbosity means something here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "process/command.h"
#include "process/flags.h"

namespace gs::process {

struct KlogFlags {
  LogFlags log;  // its format
  std::optional<int> verbosity;
  std::vector<std::string> without_meaning;  // those that were given
};
/// `flags` must outlive the parsing. Their names may have `_` for `-`: Program::takesUnderscores().
void addKlog(Command command, KlogFlags& flags);
/// What LOG_LEVEL asks for: a verbosity, or debug, info, warn or error. nullopt: it is none of these.
[[nodiscard]] std::optional<log::Level> logLevelOf(std::string_view text);
/// After parsing. Without a verbosity LOG_LEVEL counts; one that cannot be read is warned of.
void useKlog(const KlogFlags& flags);

}  // namespace gs::process
