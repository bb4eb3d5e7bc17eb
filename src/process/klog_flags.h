// The flags of programs that log by klog, which gpu-admission's users have in their manifests: read, so that nothing
// breaks, though only verbosity means something here.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace gs::process {

/// The arguments (without the program's name) as pflag takes them: `_` for `-` in names, `-v=4`.
[[nodiscard]] std::vector<std::string> asPflag(const std::vector<std::string>& arguments);

struct KlogFlags {
  int verbosity = 0;
  std::vector<std::string> without_meaning;  // those that were given
};
/// `flags` must outlive the parsing. Verbosity is taken from LOG_LEVEL when it is not given.
void addKlog(CLI::App& app, KlogFlags& flags);
/// After parsing.
void useKlog(const KlogFlags& flags);

}  // namespace gs::process
