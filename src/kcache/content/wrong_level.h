// A folder that has a cache, but not at the level at which Triton or vLLM looks: which folder is meant. Pure.
//   Triton looks in <root>/<key>, Inductor in <root>/triton/<n>/<key>
//   vLLM   looks in <root>/torch_compile_cache/<hash>/rank_<n>_<m> and in <root>/torch_aot_compile
// An image of another level is one in which nobody ever finds a kernel.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kcache/content/findings.h"
#include "kcache/content/triton_files.h"

namespace gs::kcache {

/// Of files in which there is no vLLM cache at the right level: nullopt, or there is one at another, and a
/// sentence that names the right folder. `folder`: absolute, the files' own; "" where it is not known: then
/// the right one is named from there.
[[nodiscard]] std::optional<std::string> wrongVllmLevel(const Files& files, std::string_view folder);

/// The same for Triton's kernels. Where some are at the right level the others are noted, and it is fine.
[[nodiscard]] std::optional<std::string> wrongTritonLevel(const std::vector<FoundKernel>& kernels,
                                                          std::string_view folder, Findings& findings);

}  // namespace gs::kcache
