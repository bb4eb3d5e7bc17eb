// The two kinds of cache that images hold, and how images name their parts.
#pragma once

#include <cstdint>
#include <string_view>

namespace gs::kcache {

enum class CacheType : std::uint8_t { Triton, Vllm };

[[nodiscard]] constexpr std::string_view nameOf(CacheType type) {
  return type == CacheType::Triton ? "triton" : "vllm";
}

/// Where things lie in the layers of an image.
namespace inside {
inline constexpr std::string_view kTritonCache = "io.triton.cache";
inline constexpr std::string_view kTritonManifest = "io.triton.manifest";
inline constexpr std::string_view kVllmCache = "io.vllm.cache";
inline constexpr std::string_view kVllmManifest = "io.vllm.manifest";
inline constexpr std::string_view kManifestFile = "manifest.json";

[[nodiscard]] constexpr std::string_view cacheOf(CacheType type) {
  return type == CacheType::Triton ? kTritonCache : kVllmCache;
}
[[nodiscard]] constexpr std::string_view manifestOf(CacheType type) {
  return type == CacheType::Triton ? kTritonManifest : kVllmManifest;
}
}  // namespace inside

/// Folders of a vLLM cache.
inline constexpr std::string_view kTorchCompileCache = "torch_compile_cache";
inline constexpr std::string_view kTorchAotCompile = "torch_aot_compile";

}  // namespace gs::kcache
