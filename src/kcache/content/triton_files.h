// The kernels of a Triton cache among some files, and what Triton would stumble over in them. Pure.
//
// Source: triton/runtime/cache.py of 3.2.0 and 3.4.0. A kernel's folder is <cache>/<key>. get_group() reads
// its __grp__<kernel>.json with json.load(): one that is cut or empty ends the program in each pod with it
// (JSONDecodeError). It leaves out children whose path does not exist; compiler.py then ends with KeyError
// ('cubin'), or compiles anew.
#pragma once

#include <string_view>
#include <vector>

#include "kcache/content/findings.h"

namespace gs::kcache {

struct FoundKernel {
  TritonEntry entry;
  PathParts folder;  // parts of the folder of its JSON; of what lies at the top there are none
};

/// Each kernel whose JSON is among these files, if they are a Triton cache: one of them is a group file, a
/// *.ttir or a launcher. Their GPUs and what is odd are noted. A hash that comes twice is listed twice.
[[nodiscard]] std::vector<FoundKernel> kernelsIn(const Files& files, Findings& findings);

/// Each once, in the order of their files.
[[nodiscard]] std::vector<TritonEntry> entriesOf(const std::vector<FoundKernel>& kernels);

}  // namespace gs::kcache
