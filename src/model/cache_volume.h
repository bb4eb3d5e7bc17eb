// How pods name kernel caches: ephemeral inline CSI volumes of one driver, by two attributes of the volume
// (docs/use/gkm-csi.md). The names are GKM's, so that its pods work here (docs/use/migration.md, "From GKM").
#pragma once

#include <cstddef>

namespace gs::model {

inline constexpr const char* kCacheDriver = "csi.gkm.io";
/// The cache of the volume.
inline constexpr const char* kCacheAttribute = "csi.gkm.io/GKMCache";
/// The namespace of the GKMCache, the pod's own. Absent: it is a ClusterGKMCache.
inline constexpr const char* kCacheNamespaceAttribute = "csi.gkm.io/namespace";

/// Of one pod; more are not looked at when its node is chosen.
inline constexpr std::size_t kMostKernelCaches = 32;

}  // namespace gs::model
