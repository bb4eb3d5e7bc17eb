// The manual page of a program, in man(7)'s language: section 1, every command and every flag in it.
#pragma once

#include <string>

#include "process/outline.h"

namespace gs::process {

/// `version`: "gpu-sandbox-0.1", in the page's foot.
[[nodiscard]] std::string manPage(const CommandOutline& program, const std::string& version);

}  // namespace gs::process
