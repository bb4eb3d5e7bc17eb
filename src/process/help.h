// --help: what a command does, how it is written, its flags by topic,
// each with its unit and what holds without it.
#pragma once

#include <string>

#include "process/outline.h"

namespace gs::process {

/// "gpu-sandbox gpu fail NODE ID [FLAGS]"
[[nodiscard]] std::string usageOf(const CommandOutline& command);
/// The page. Lines have 100 columns at most, but for words that are longer.
[[nodiscard]] std::string helpText(const CommandOutline& command);

}  // namespace gs::process
