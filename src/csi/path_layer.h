// PathLayer: the files of a cache that name others by absolute paths (kcache/content/paths.h), as they have
// to be where one pod mounts it. The tree itself, which all pods share, has them for one place (gkm-agent's
// --mount-path); a mount elsewhere gets these few texts above it, and no kernel is copied.
//
// Bounded: what does not fit stays as the tree has it, and is told. So does what is damaged on the disk: in
// the tree gkm-agent mends it, and nobody would mend what was made of it. Reads the tree by its open
// folder, without following a link. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "net/socket.h"

namespace gs::csi {

struct PathLayer {
  std::map<std::string, std::string> files{};  // texts, by path below the root of the cache
  std::size_t left_out = 0;                    // files that did not fit or could not be read
  std::size_t damaged = 0;                     // files that have another text than they should have

  /// Of all texts.
  [[nodiscard]] std::uint64_t bytes() const;
};

// Whoever packs an image chooses how many such files it has, and the driver's memory pays for a mount's: each
// takes a page at the least. What Triton and vLLM write has some hundred files of some kilobytes.
inline constexpr std::uint64_t kMostOfAPathLayer = std::uint64_t{4} << 20;  // bytes
inline constexpr std::size_t kMostFilesOfAPathLayer = 1024;
inline constexpr std::uint64_t kMostReadForAPathLayer = std::uint64_t{16}
                                                        << 20;  // bytes of texts of the tree

/// `root`: of the tree. `paths`: TreeRecord::paths of it. `mount_path`: absolute and clean, where a container
/// has the cache.
[[nodiscard]] PathLayer pathLayerOf(const net::Fd& root, const std::map<std::string, std::string>& paths,
                                    const std::string& mount_path);

}  // namespace gs::csi
