// Whether GPUs can use what is in a cache image. Pure: nothing is remembered from one check to the next, and
// which GPUs there are is given by who looked just now.
//
// A GPU matches when one target of the summary has its backend, its arch and its warp size:
//   - "rocm", as vLLM says, is "hip"; "sm_90" is "90", and so are "90a" and "90f", which run on no other.
//   - what a target does not say ("" or 0) is no difference. An arch such as "sm_12.9" says nothing: an older
//     builder wrote the version of CUDA there.
//   - a summary without any target says nothing of GPUs: all match.
//   - versions of PTX and of drivers are not compared: newer drivers run older code, and Triton's caches
//     mostly do not say it.
#pragma once

#include <string>
#include <vector>

#include "kcache/content/labels.h"

namespace gs::kcache {

struct CacheGpu {
  int id = 0;           // its place on the node: NVIDIA's by the bus, then AMD's
  std::string product;  // "NVIDIA A100-SXM4-80GB"
  std::string driver_version;
  Target target;  // all of it known
  friend bool operator==(const CacheGpu&, const CacheGpu&) = default;
};

struct GpuMatch {
  std::vector<int> matched;
  std::vector<int> unmatched;
  friend bool operator==(const GpuMatch&, const GpuMatch&) = default;
};

[[nodiscard]] bool matches(const Target& built_for, const Target& gpu);
[[nodiscard]] GpuMatch match(const Targets& built_for, const std::vector<CacheGpu>& gpus);

/// By an image's labels. Error Invalid: they do not say it ("image has no labels", "image missing cache
/// summary label"), or not in a way to be read.
[[nodiscard]] Result<GpuMatch> matchSummary(const Labels& labels, const std::vector<CacheGpu>& gpus);
/// By the manifest inside of an image, kernel by kernel. Error Conflict: none of them is for any of the GPUs,
/// "incompatibility detected: backend mismatch" or "no compatible GPU found".
[[nodiscard]] Status matchManifest(const CacheManifest& manifest, const std::vector<CacheGpu>& gpus);

/// Said where no GPU matched.
inline constexpr const char* kNoneBySummary = "no compatible GPU found from summary preflight check";

}  // namespace gs::kcache
