// /proc/self/mountinfo (proc(5)), and what of it is a mount of ours. Pure; fuzzed.
//
// Ours at a pod's folder are
//   - overlays whose source is named by overlaySource(),
//   - binds of something below trees/ or caches/ of the store; the latter are the ancestor's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cacherim/store/store_records.h"

namespace gs::csi {

struct MountLine {
  std::string device;  // "254:0"
  std::string root;    // which folder of that file system
  std::string point;   // where it is
  bool is_read_only = false;
  std::string type;
  std::string source;
  friend bool operator==(const MountLine&, const MountLine&) = default;
};
/// Error Invalid: names the line that is none.
[[nodiscard]] Result<std::vector<MountLine>> parseMountinfo(std::string_view text);

/// "gkm:<folder>/<name>@<digest>"
[[nodiscard]] std::string overlaySource(const cacherim::CacheName& cache, const kcache::Digest& image);

/// A mount at a target, or below one. Those of one target come in the order in which they were made, as far
/// as the kernel says it.
struct TargetMount {
  std::string target;  // as the kubelet names it
  bool is_ours = false;
  std::optional<kcache::Digest> image{};       // of ours, unless it is a folder of the ancestor's
  std::optional<cacherim::CacheName> cache{};  // of ours, where it is known
  bool is_read_only = false;
  friend bool operator==(const TargetMount&, const TargetMount&) = default;
};

/// Absolute paths, without '/' at the end.
struct Places {
  std::string target_root;       // as the kubelet names it
  std::string real_target_root;  // without symbolic links
  std::string real_store;
};
[[nodiscard]] std::vector<TargetMount> targetMounts(const std::vector<MountLine>& lines,
                                                    const Places& places);

}  // namespace gs::csi
