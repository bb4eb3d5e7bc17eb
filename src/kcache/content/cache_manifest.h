// manifest.json of a cache image: what each entry of the cache is.
//   {"triton":[{"hash",..,"backend","arch","warp_size"}]}
//   {"vllm":[{"vllmHash","cacheFormat","triton":[..],"binary":[..]}]}
// Printed as the ancestor prints it, indented by two, what is 0 or "" left out; parsing takes what any
// version of it wrote. Members that are not known are ignored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "kcache/content/kernel.h"
#include "kcache/content/names.h"

namespace gs::kcache {

struct TritonEntry {
  Kernel kernel;
  std::string dummy_key;  // "": none is written
  friend bool operator==(const TritonEntry&, const TritonEntry&) = default;
};

/// What vLLM compiled for one rank: many artifacts, or one model.
struct BinaryEntry {
  std::string rank;    // rank_0_0
  std::string prefix;  // backbone; "" of a model
  std::vector<std::string> artifact_names;
  std::string code_hash, config_hash, compiler_hash;
  std::string save_format;    // binary, unpacked or mega-aot
  std::string target_device;  // cuda, rocm, tpu, cpu
  json::Object env{};
  friend bool operator==(const BinaryEntry&, const BinaryEntry&) = default;
};

/// One that later versions of the ancestor can write.
struct AotEntry {
  std::string hash, rank, model_file;
  std::int64_t file_size = 0;
  friend bool operator==(const AotEntry&, const AotEntry&) = default;
};

struct VllmEntry {
  std::string hash;
  std::string format;  // triton, binary or aot_compile
  std::vector<TritonEntry> triton;
  std::vector<BinaryEntry> binary;
  std::vector<AotEntry> aot;
  friend bool operator==(const VllmEntry&, const VllmEntry&) = default;
};

struct CacheManifest {
  CacheType type = CacheType::Triton;
  std::vector<TritonEntry> triton{};  // of a Triton cache
  std::vector<VllmEntry> vllm{};      // of a vLLM cache
  friend bool operator==(const CacheManifest&, const CacheManifest&) = default;
};

/// Error Invalid: it is no JSON, or neither of the two.
[[nodiscard]] Result<CacheManifest> parseCacheManifest(std::string_view text);
[[nodiscard]] std::string printCacheManifest(const CacheManifest& manifest);

/// Of every kernel that it lists.
[[nodiscard]] Targets targetsOf(const CacheManifest& manifest);

}  // namespace gs::kcache
