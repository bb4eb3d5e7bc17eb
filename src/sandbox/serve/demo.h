// `gpu-sandbox demo`: the usage guide's Examples 1 to 4 in a World, then a pod that asks for too much and how
// it is placed, one that others go for, and one with a volume.
#pragma once

#include <iosfwd>

namespace gs::sandbox {

/// Prints each command and its output; false when an output was not what the usage guide,
/// or a rule of ours, says.
[[nodiscard]] bool runDemo(std::ostream& out);

}  // namespace gs::sandbox
