// Files of a cache that name other files of it by absolute paths, and the same for where a consumer has the
// cache. Triton and vLLM look such files up as they are written: a cache that lies elsewhere than where it
// was made is one in which nothing is found.
//
// Rewritten:
//   __grp__<kernel>.json       of Triton, wherever it lies: `child_paths` gets <root>/<its folder>/<file>.
//                              Triton leaves out children whose path does not exist, and compiles anew.
//   vllm_compile_cache.py      of vLLM: an artifact stands there as ('<name>', '<folder>/<name>'), and lies
//                              beside the list: its path becomes <root>/<folder of the list>/<name>, wherever
//                              it was made (compilation_config.cache_dir names any folder). vLLM up to 0.31
//                              opens that path, later ones <name> beside the list. Of other quoted paths what
//                              stands before torch_compile_cache/<hash>/ of this very hash: those of Inductor
//                              ("triton"), of which vLLM reads the hash alone.
// Left as they are, since nobody opens a path that they name, or nobody could change one in them:
//   cache_key_factors.json     a record of what the hash was made of
//   computation_graph.py, transformed_code.py    source for people; paths stand in comments
//   inductor_cache/**.py       found by a hash of their text, so another text would not be found;
//                              paths stand in comments
//   aotautograd, fxgraph, artifact_compile_range_* (binary), model      Python pickles. Inductor writes
//                              the code in them below its own cache folder before it runs it.
//
// Pure. Rewriting for a second root gives what rewriting for it at once would have given.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gs::kcache {

/// vLLM's list of artifacts.
inline constexpr std::string_view kCompileCacheList = "vllm_compile_cache.py";

/// It may have paths: its text is worth reading.
[[nodiscard]] bool bearsPaths(std::string_view path);

/// A larger one is left as it is, and one that would become larger. (Whoever packs an image chooses how many
/// paths stand in a file, and how long they become. What Triton and vLLM write has some kilobytes.)
inline constexpr std::int64_t kMaxPathsText = std::int64_t{1} << 20;

/// The text of the file at `path` (below the cache's root) for a consumer that has the root at `root`,
/// absolute, without '/' behind it ("" is /). nullopt: it stays as it is, also where it is not what its name
/// says.
[[nodiscard]] std::optional<std::string> forRoot(std::string_view root, std::string_view path,
                                                 std::string_view text);

/// Where the cache's root was when this text was written, by its first path that leads to a file beside it;
/// "" is /. nullopt: it names none. `path` as above.
[[nodiscard]] std::optional<std::string> rootNamedIn(std::string_view path, std::string_view text);

}  // namespace gs::kcache
