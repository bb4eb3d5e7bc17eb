// Completion of a program's command line by a shell: its commands, its flags, the values that a flag has to
// choose from, and files where one is wanted.
#pragma once

#include <string>

#include "process/outline.h"

namespace gs::process {

/// The shells that there are scripts for, as a flag's value names them.
inline constexpr const char* kShells = "bash|zsh|fish";

/// `shell`: "bash", "zsh" or "fish". To be read by it: `source <(gpu-sandbox completion bash)`.
[[nodiscard]] std::string completionScript(const CommandOutline& program, const std::string& shell);

}  // namespace gs::process
