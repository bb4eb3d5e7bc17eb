// One compiled kernel of a Triton cache: the JSON beside its code.
//
// Triton keeps a kernel in a folder named by its `hash`, with a file <name>.json of what it was compiled for:
// by base32 of it (without padding; 3.3 and newer), by base64 for URLs (3.2), or as it is (before). Files of
// launchers and helpers have folders of their own and no JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kcache/content/target.h"

namespace gs::kcache {

struct Kernel {
  std::string hash;  // 64 hex digits; never ""
  std::int64_t ptx_version = 0;
  std::int64_t num_stages = 0;
  std::int64_t num_warps = 0;
  bool debug = false;
  Target target;
  friend bool operator==(const Kernel&, const Kernel&) = default;
};

/// nullopt: the JSON is of something else, it has no hash. Error Invalid: it is no JSON object.
[[nodiscard]] Result<std::optional<Kernel>> readKernel(std::string_view text);

/// The name of the folder in which today's Triton looks for this hash; nullopt: it is no hash.
[[nodiscard]] std::optional<std::string> kernelFolder(std::string_view hash);
/// Whether some Triton looks for this hash in a folder of that name.
[[nodiscard]] bool isKernelFolder(std::string_view folder, std::string_view hash);

/// The ancestor's "dummy key", as its builder makes it where there is no Triton. It compares Triton
/// installations, by which nothing of ours goes: it is written for those who read it, and not asked.
[[nodiscard]] std::string dummyKey(const Kernel& kernel);

/// Of a file: it names the files of one kernel.
[[nodiscard]] inline bool isGroupFile(std::string_view name) {
  return name.starts_with("__grp__") && name.ends_with(".json");
}

}  // namespace gs::kcache
