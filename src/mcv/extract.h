// A cache image's files in a folder. They come into a new folder, hidden in that one, or beside it while
// there is none, and get their names when all of them are there, are what the image says, and are on the disk
// (cacherim/image/fresh_folder.h): nobody sees half a file, and an image that is not as it should be leaves
// the folder as it was.
#pragma once

#include <optional>
#include <string>

#include "cacherim/image/image.h"
#include "cacherim/registry/auth_files.h"
#include "kcache/content/compat.h"

namespace gs::mcv {

using cacherim::Environment;

/// Where the program itself looks for this kind of cache, by its own variables in its own order:
///   Triton  TRITON_CACHE_DIR, else $TRITON_HOME/.triton/cache, else ~/.triton/cache  (triton/knobs.py, and
///           runtime/cache.py before 3.4)
///   vLLM    VLLM_CACHE_ROOT, else $XDG_CACHE_HOME/vllm, else ~/.cache/vllm; "~" in front is the home in each
///           of the three  (vllm/envs.py)
/// A variable that is empty counts as not set. Without a home below /tmp.
[[nodiscard]] std::string defaultFolder(kcache::CacheType type, const Environment& environment);

struct Extraction {
  std::string folder;
  std::string root;  // where a consumer has the cache, for files that name others; "": at `folder`
  /// nullopt: the manifest in the image is not compared with GPUs.
  std::optional<std::vector<kcache::CacheGpu>> gpus{};
};
struct Extracted {
  std::int64_t files = 0;
  std::int64_t bytes = 0;
};
/// Errors as readImage() and FreshFolder; Invalid: there is no cache in it; Conflict: "manifest check
/// failed".
[[nodiscard]] Result<Extracted> extract(cacherim::ImageSource& source, const kcache::Reference& reference,
                                        const cacherim::Image& image, const Extraction& how);

}  // namespace gs::mcv
