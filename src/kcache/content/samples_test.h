// For tests only: the ancestor's sample caches in their described shapes, their code replaced by zeros.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kcache/content/detect.h"

namespace gs::kcache {

/// Files by their path.
using Tree = std::map<std::string, std::string>;

inline const std::string kRocmHash = "6088b9b2e5149e06670bcec5bb3df8c56758f20ec349dd5f77f1507fe7cdf5fa";
inline const std::string kRocmKey = "MCELTMXFCSPAMZYLZ3C3WPPYYVTVR4QOYNE52X3X6FIH7Z6N6X5A";

inline std::string sized(std::string text, std::size_t bytes) {
  text.resize(bytes, ' ');
  return text;
}

inline std::string groupOf(const std::string& root, const std::string& key) {
  std::string out = "{\"child_paths\": {";
  for (const char* ending : {"ttir", "ttgir", "llir", "amdgcn", "hsaco", "json"}) {
    if (out.back() != '{') { out += ", "; }
    out +=
        "\"add_kernel." + std::string{ending} + "\": \"" + root + "/" + key + "/add_kernel." + ending + "\"";
  }
  return out + "}}";
}

/// vector-add-cache-rocm: four folders, one of them a kernel's, 80415 bytes in ten files.
inline Tree rocmSample() {
  const std::string kernel =
      R"({"hash": ")" + kRocmHash +
      R"(", "target": {"backend": "hip", "arch": "gfx90a", "warp_size": 64}, "num_warps": 4, )"
      R"("waves_per_eu": 1, "num_stages": 2, "debug": false, "triton_version": "3.2.0", "name": "add_kernel"})";
  return {
      {"CETLGDE7YAKGU4FRJ26IM6S47TFSIUU7KWBWDR3H2K3QRNRABUCA/__triton_launcher.so", std::string(17808, 0)},
      {"CHN6BLIJ7AJJRKY2IETERW2O7JXTFBUD3PH2WE3USNVKZEKXG64Q/hip_utils.so", std::string(17544, 0)},
      {kRocmKey + "/__grp__add_kernel.json", sized(groupOf("/workspace/.triton/cache", kRocmKey), 722)},
      {kRocmKey + "/add_kernel.amdgcn", std::string(9433, 0)},
      {kRocmKey + "/add_kernel.hsaco", std::string(5816, 0)},
      {kRocmKey + "/add_kernel.json", sized(kernel, 932)},
      {kRocmKey + "/add_kernel.llir", std::string(4523, 0)},
      {kRocmKey + "/add_kernel.ttgir", std::string(3251, 0)},
      {kRocmKey + "/add_kernel.ttir", std::string(2842, 0)},
      {"c4d45c651d6ac181a78d8d2f3ead424b8b8f07dd23dc3de0a99f425d8a633fc6/hip_utils.so",
       std::string(17544, 0)},
  };
}

/// What the golden image has in its io.triton.manifest: 317 bytes.
inline const std::string kRocmManifest = R"({
  "triton": [
    {
      "hash": "6088b9b2e5149e06670bcec5bb3df8c56758f20ec349dd5f77f1507fe7cdf5fa",
      "dummy_key": "049765a0815d7c5d44f663709bb813c4db6350c0eca7b79e9372d513daa57c58",
      "num_stages": 2,
      "num_warps": 4,
      "backend": "hip",
      "arch": "gfx90a",
      "warp_size": 64
    }
  ]
})";

/// llama-binary-cache, with two artifacts.
inline Tree llamaSample() {
  const std::string in = "torch_compile_cache/edf531ca35/rank_0_0/backbone/";
  const std::string was = "/home/ec2-user/.cache/vllm/" + in;
  return {
      {"modelinfos/vllm-model_executor-models-llama-LlamaForCausalLM.json", "{}"},
      {in + "artifact_compile_range_1_2048_subgraph_0",
       "\x80\x04 module attributes {ttg.target = \"cuda:89\"}"},
      {in + "artifact_compile_range_1_2048_subgraph_1", "\x80\x04"},
      {in + "cache_key_factors.json",
       R"({"code_hash":"c","compiler_hash":"4fc2f2ae9e","config_hash":"2a3882727d","env":)"
       R"({"VLLM_TARGET_DEVICE":"cuda","VLLM_MAIN_CUDA_VERSION":"12.9","VLLM_ROCM_CUSTOM_PAGED_ATTN":true}})"},
      {in + "computation_graph.py", "# File: /home/ec2-user/x.py\n"},
      {in + "vllm_compile_cache.py",
       "{   ((1, 2048), 0, 'inductor_standalone'): (   'artifact_compile_range_1_2048_subgraph_0',\n"
       "        '" +
           was +
           "artifact_compile_range_1_2048_subgraph_0'),\n"
           "    ((1, 2048), 1, 'inductor_standalone'): (   'artifact_compile_range_1_2048_subgraph_1',\n"
           "        '" +
           was + "artifact_compile_range_1_2048_subgraph_1')}\n"},
  };
}

inline std::vector<CacheFile> filesOf(const Tree& tree) {
  std::vector<CacheFile> out;
  for (const auto& [path, text] : tree) { out.push_back({path, static_cast<std::int64_t>(text.size())}); }
  return out;
}

inline Result<DetectedCache> detect(const Tree& tree) {
  return detectCache(filesOf(tree),
                     [&](const std::string& path) -> Result<std::string> { return tree.at(path); });
}

}  // namespace gs::kcache
