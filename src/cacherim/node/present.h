// Present: which image of a cache new pods get, as the agent tells the CSI driver. One small file per
// cache, beside the links to its trees (cacherim/store/store.h):
//
//   caches/<namespace or cluster-scoped>/<name>/cache.json
//   {"resolvedDigest","image","sizes":{"<digest>":bytes},"compatibleGPUs":[ids],"incompatibleGPUs":[ids],
//    "store":1}
//
// The first three as the ancestor wrote them; "store" is ours alone. The ancestor's files stay on the
// node, and nobody here has looked at what they tell of: only ours is believed, and only beside the link
// of its image (or the ancestor's folder, which stays under its pods). It is there while the image's tree
// is complete and pods may mount it, and gone before either ends. Written to the side and renamed, so
// that a reader sees all of it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cacherim/disk/disk.h"
#include "cacherim/store/store_records.h"

namespace gs::cacherim {

struct Present {
  kcache::Digest image;   // whose tree
  std::string reference;  // spec.image, for people
  std::uint64_t bytes = 0;
  std::vector<int> compatible_gpus;
  std::vector<int> incompatible_gpus;
  bool is_ours = true;  // "store"; false: the ancestor's
  friend bool operator==(const Present&, const Present&) = default;
};

[[nodiscard]] std::string printPresent(const Present& present);
/// Error Invalid: not what printPresent() writes, or the ancestor did.
[[nodiscard]] Result<Present> parsePresent(std::string_view text);

/// Below `root`, which is the store's. Errors: NotFound, new pods get none, or it is not
/// believed; Invalid; Unavailable.
[[nodiscard]] Result<Present> readPresent(const std::string& root, const CacheName& cache);
/// The cache's folder is there (Store::place() makes it). Errors: Unavailable.
[[nodiscard]] Status writePresent(const std::string& root, const CacheName& cache, const Present& present,
                                  const Disk& disk);
/// None there: fine.
[[nodiscard]] Status removePresent(const std::string& root, const CacheName& cache, const Disk& disk);

/// The folder of an image's tree, to mount by this descriptor: who can write in the store may put a link
/// in its place at any moment, and a link is never followed. Errors: NotFound, the tree is not complete;
/// Conflict, on the way is something that is no folder; Unavailable.
[[nodiscard]] Result<Fd> completeTree(const std::string& root, const kcache::Digest& image);

/// TreeRecord::paths of a complete tree, for who may not open the store. Errors: as completeTree(); Invalid.
[[nodiscard]] Result<std::map<std::string, std::string>> pathsOfTree(const std::string& root,
                                                                     const kcache::Digest& image);

}  // namespace gs::cacherim
