#include "kcache/content/compat.h"

#include <algorithm>

namespace gs::kcache {
namespace {

/// "90" of "sm_90a"; "": it says nothing.
std::string_view cudaArch(std::string_view arch) {
  if (arch.starts_with("sm_")) { arch.remove_prefix(3); }
  if (arch.ends_with('a') || arch.ends_with('f')) { arch.remove_suffix(1); }
  return arch.find('.') == std::string_view::npos ? arch : std::string_view{};
}

bool isSameArch(std::string_view backend, std::string_view built_for, std::string_view gpu) {
  if (backend == "cuda") {
    built_for = cudaArch(built_for);
    gpu = cudaArch(gpu);
  }
  return built_for.empty() || built_for == gpu;
}

}  // namespace

bool matches(const Target& built_for, const Target& gpu) {
  const std::string_view backend = tritonBackend(built_for.backend);
  return backend == tritonBackend(gpu.backend) && isSameArch(backend, built_for.arch, gpu.arch) &&
         (built_for.warp_size == 0 || built_for.warp_size == gpu.warp_size);
}

GpuMatch match(const Targets& built_for, const std::vector<CacheGpu>& gpus) {
  GpuMatch out;
  for (const CacheGpu& gpu : gpus) {
    const bool fits =
        built_for.empty() || std::any_of(built_for.begin(), built_for.end(),
                                         [&](const Target& t) { return matches(t, gpu.target); });
    (fits ? out.matched : out.unmatched).push_back(gpu.id);
  }
  return out;
}

Result<GpuMatch> matchSummary(const Labels& labels, const std::vector<CacheGpu>& gpus) {
  if (labels.empty()) { return fail(Code::Invalid, "image has no labels"); }
  const auto read = readLabels(labels);
  if (!read || !read->summary) { return fail(Code::Invalid, "image missing cache summary label"); }
  const auto targets = parseSummary(*read->summary);
  if (!targets) { return tl::unexpected(targets.error()); }
  return match(*targets, gpus);
}

Status matchManifest(const CacheManifest& manifest, const std::vector<CacheGpu>& gpus) {
  const Targets built_for = targetsOf(manifest);
  if (built_for.empty() || !match(built_for, gpus).matched.empty()) { return {}; }
  const bool same_backend = std::any_of(built_for.begin(), built_for.end(), [&](const Target& t) {
    return std::any_of(gpus.begin(), gpus.end(), [&](const CacheGpu& gpu) {
      return tritonBackend(t.backend) == tritonBackend(gpu.target.backend);
    });
  });
  return fail(Code::Conflict,
              same_backend ? "no compatible GPU found" : "incompatibility detected: backend mismatch");
}

}  // namespace gs::kcache
