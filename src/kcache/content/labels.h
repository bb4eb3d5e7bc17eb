// The labels of a cache image's config: by them registries, people and the agent know what is in it without
// reading a layer.
//   cache.triton.image/{entry-count,summary,cache-size-bytes}
//   cache.vllm.image/{entry-count,summary,cache-size-bytes,format}
//   io.kserve.km/{framework,cache-type,cache-hash,cache-mount-subpath,cache-root-env}   of vLLM caches
//     cache-mount-subpath: the folder in the image that has all of the cache; without it that is the root
//     cache-root-env: where the paths in its files lead (DetectedCache::made_at), as a variable of vLLM's
//   org.opencontainers.image.title
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kcache/content/detect.h"
#include "kcache/image/manifest.h"

namespace gs::kcache {

using Labels = std::map<std::string, std::string>;

/// `title`: the last part of the image's name, without a tag.
[[nodiscard]] Labels labelsOf(const DetectedCache& cache, const std::string& title);

/// What an image's labels say of its cache. Images of older builders lack some of it.
struct CacheLabels {
  CacheType type = CacheType::Triton;
  std::optional<std::string> summary;  // its text
  std::optional<std::int64_t> size_bytes;
  std::optional<std::int64_t> entry_count;
};
/// nullopt: no label is of a cache.
[[nodiscard]] std::optional<CacheLabels> readLabels(const Labels& labels);

/// By its labels, else by the media types that only caches had once
/// (application/cache.triton.content.layer.v1+triton); nullopt: it is no cache's.
[[nodiscard]] std::optional<CacheType> cacheTypeOf(const Labels& labels, const Manifest& manifest);

}  // namespace gs::kcache
