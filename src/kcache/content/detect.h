// What kind of cache a folder holds, and what an image of it says of it. Pure: the names and sizes of its
// files are given, and the texts of some are asked for.
//
// vLLM's is looked for first: torch_compile_cache/<hash>/rank_<n>_<m>, or torch_aot_compile/ and the same, in
// the forms of vllm_files.h. A folder that is itself a torch_compile_cache counts too, and lies in the image
// as one. Triton's has <key>/<kernel>.json with a hash, beside __grp__<kernel>.json, *.ttir or
// __triton_launcher.so. A cache at a level at which nobody would look is refused (wrong_level.h).
//
// For which GPUs it is: what the kernels' JSON says; of vLLM's artifacts what the kernels in them say
// (targetsIn()), else VLLM_TARGET_DEVICE without an arch. Never what this machine has: a cache does not get
// other GPUs by being packed elsewhere.
//
// The same files give the same, whatever order they come in.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kcache/content/cache_manifest.h"

namespace gs::kcache {

struct CacheFile {
  std::string path;  // below the folder, parts between '/'
  std::int64_t size = 0;
  friend bool operator==(const CacheFile&, const CacheFile&) = default;
};

using ReadText = std::function<Result<std::string>(const std::string& path)>;

struct DetectedCache {
  CacheManifest manifest{};
  Targets targets{};
  std::string below{};          // stands before each path in the image: "" or "torch_compile_cache/"
  std::string mount_subpath{};  // of vLLM's: the folder in the image that has all of it; "": there is none
  std::string made_at{};        // of vLLM's: its root where it was made; "": no file of it says so
  std::int64_t entry_count = 0;
  std::int64_t size_bytes = 0;
  std::vector<std::string> notes{};  // what is odd in it, a sentence each
};

/// `folder`: the absolute path of theirs, for what is said of it; its last part is a sign too (vllm_files.h).
/// "" where it is not known.
/// Errors: NotFound, it is neither; says what would be, and what is odd. Invalid: the cache lies at another
/// level, and the folder that was meant is named.
[[nodiscard]] Result<DetectedCache> detectCache(std::vector<CacheFile> files, const ReadText& read,
                                                std::string_view folder = "");

}  // namespace gs::kcache
