// Which pods had a cache mounted, as GKM's own CSI driver wrote it (docs/use/gkm-csi.md, "How nothing goes
// that is mounted"):
//
//   /run/gkm/usage/<namespace or cluster-scoped>/<name>/<digest>/usage.json
//   {..., "pods":[{"podNamespace","podName","volumeId"}], ...}
//
// Written in place, so it may be torn; what is mounted is said by the kernel, and these files only name pods.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace gs::cacherim {

struct OldPod {
  std::string ns;
  std::string name;
  friend bool operator==(const OldPod&, const OldPod&) = default;
};
/// By the volume's id.
using OldPods = std::map<std::string, OldPod>;

/// What cannot be read is left out.
[[nodiscard]] OldPods parseOldUsage(std::string_view text);
/// Of all files below the usage folder.
[[nodiscard]] OldPods readOldUsage(const std::string& folder);

}  // namespace gs::cacherim
