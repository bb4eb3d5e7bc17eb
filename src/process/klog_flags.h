// The flags of programs that log by klog, which gpu-admission's users have in their manifests: read, so that nothing
// breaks, though only verbosity means something here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"

namespace CLI {
class App;
}

namespace gs::process {

/// The arguments (without the program's name) as pflag takes them: `_` for `-` in names, `-v=4`.
[[nodiscard]] std::vector<std::string> asPflag(const std::vector<std::string>& arguments);

struct KlogFlags {
  std::optional<int> verbosity;
  std::vector<std::string> without_meaning;  // those that were given
};
/// `flags` must outlive the parsing.
void addKlog(CLI::App& app, KlogFlags& flags);
/// What LOG_LEVEL asks for: a verbosity, or debug, info, warn or error. nullopt: it is none of these.
[[nodiscard]] std::optional<log::Level> logLevelOf(std::string_view text);
/// After parsing. Without a verbosity LOG_LEVEL counts; one that cannot be read is warned of.
void useKlog(const KlogFlags& flags);

}  // namespace gs::process
