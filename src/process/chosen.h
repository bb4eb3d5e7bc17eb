// What a Program and its Commands share (command.h, program.h): which command does what.
// Only their .cc files include this.
#pragma once

#include <map>

#include "process/command.h"

namespace gs::process {

struct Command::Chosen {
  std::map<const CLI::App*, Action> actions;
};

}  // namespace gs::process
