// What a Program and its Commands share (command.h, program.h): which command does what, and what flags mean
// that are given without the value that they may have.
// Only their .cc files include this.
#pragma once

#include <map>
#include <string>

#include "process/command.h"

namespace gs::process {

struct Command::Chosen {
  std::map<const CLI::App*, Action> actions;
  std::map<std::string, std::string> alone{};
};

}  // namespace gs::process
