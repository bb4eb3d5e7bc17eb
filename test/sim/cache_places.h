// Where pods of a play mount kernel caches, and how the files of an image that name others by absolute paths
// read there. What is expected is worked out from the images that the play made, by no code of the product.
// Pure.
#pragma once

#include <string>
#include <string_view>

namespace gs::sim {

/// Where gkm-agent's --mount-path has the tree that all pods share.
inline constexpr const char* kSharedPlace = "/cache";
/// Where an image was made: in a container nothing is there.
inline constexpr const char* kMadeAt = "/home/me/.triton/cache";

/// Of a pod that mounts a cache.
struct CachePlace {
  const char* spec;       // mountPath of its container, as somebody wrote it
  const char* attribute;  // csi.gkm.io/mountPath of its volume; "": it has none
  const char* is;         // where files have to be right
};
inline constexpr int kCachePlaces = 4;
[[nodiscard]] const CachePlace& cachePlace(int which);

/// Its text has paths, by which the pod's compiler finds kernels.
[[nodiscard]] bool namesPaths(std::string_view path);
/// Of such a file at `path` below the root of a cache, which names one file beside it.
[[nodiscard]] std::string groupText(std::string_view path, std::string_view beside, std::string_view place);
/// A text of groupText() for kSharedPlace, as it has to be at another place.
[[nodiscard]] std::string textAt(const std::string& text, std::string_view place);

}  // namespace gs::sim
