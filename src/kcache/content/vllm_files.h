// The entries of a vLLM cache among some files, as each version lays them out. Pure.
//
// Source: vllm/compilation/{backends,compiler_interface,decorators,caching}.py and vllm/envs.py of 0.11.0 to
// 0.33.0; the table of versions is vllm_layouts_test.cc. Below VLLM_CACHE_ROOT:
//
//   torch_compile_cache/<hash>/rank_<n>_<m>/<prefix>/    a graph in pieces (<prefix>: backbone, eagle_head)
//     artifact_shape_<shape>_subgraph_<i>                up to 0.12; then artifact_compile_range_<a>_<b>_...;
//                                                        a file ("binary") or a folder ("unpacked": 0.11.0)
//     vllm_compile_cache.py                              which artifact is which graph's; by absolute paths,
//                                                        which vLLM opens up to 0.31
//     cache_key_factors.json                             from 0.12: what the hash was made of
//   torch_compile_cache/<hash>/rank_<n>_<m>/             Inductor's own caches, where there are no artifacts
//     triton_cache, inductor_cache                       ("triton"); from 0.31 triton_cache lies elsewhere if
//                                                        TRITON_CACHE_DIR was set
//   torch_aot_compile/<hash>/rank_<n>_<m>/model          a whole model (mega AOT), 0.11.1 to 0.16
//   torch_compile_cache/torch_aot_compile/<hash>/...     the same from 0.17; from 0.20 an inductor_cache lies
//                                                        beside the ranks
//
// With compilation_config.cache_dir the ranks lie in that folder, whatever its name is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kcache/content/findings.h"

namespace gs::kcache {

struct FoundVllm {
  std::vector<VllmEntry> entries{};  // none: it is no cache of vLLM's
  std::string below{};               // as DetectedCache has these three
  std::string mount_subpath{};
  std::string made_at{};
};

/// `folder_name`: of the folder in which the files lie; "" where it is not known. It decides in one case: a
/// folder with nothing but torch_aot_compile/<hash>/rank_0_0/model is a cache root of vLLM up to 0.16, or a
/// torch_compile_cache of a later one.
[[nodiscard]] FoundVllm vllmIn(const Files& files, std::string_view folder_name, Findings& findings);

}  // namespace gs::kcache
