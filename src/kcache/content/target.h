// For which GPUs a cache was compiled, and the summary label that says it:
//   {"targets":[{"backend":"hip","arch":"gfx90a","warp_size":64}]}
//
// Backends are "cuda" and "hip" as Triton names them; vLLM says "rocm" for "hip", and "tpu" and "cpu". An
// arch is "75" or "gfx90a". What nobody knows is "" (arch) and 0 (warp size): it is never made up, and says
// nothing against a GPU.
#pragma once

#include <compare>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace gs::kcache {

struct Target {
  std::string backend;
  std::string arch;
  std::int64_t warp_size = 0;
  friend auto operator<=>(const Target&, const Target&) = default;
};

/// Sorted and without repeats: the same cache has the same summary.
using Targets = std::set<Target>;

/// As Triton names it: "hip" for "rocm", else the same.
[[nodiscard]] std::string_view tritonBackend(std::string_view backend);
/// Threads that run as one, by the vendor's rules; 0: not known.
[[nodiscard]] std::int64_t warpSizeOf(std::string_view backend, std::string_view arch);
/// "90" of a number or a text; anything else is "".
[[nodiscard]] std::string archOf(const json::Value& value);

/// Without those that name no arch where another of the same backend does, and without those that name no
/// backend: they say less than what is known.
[[nodiscard]] Targets precise(const Targets& targets);

/// "null" has none. Targets without a backend, as older builders wrote them, are left out. Error Invalid: it
/// is no summary, or has only such.
[[nodiscard]] Result<Targets> parseSummary(std::string_view text);
[[nodiscard]] std::string printSummary(const Targets& targets);

/// What compiled kernels say of themselves in plain text, wherever it stands in `bytes`: MLIR's attribute
/// `ttg.target = "cuda:90"` (before Triton 3.2 triton_gpu.target).
[[nodiscard]] Targets targetsIn(std::string_view bytes);

}  // namespace gs::kcache
