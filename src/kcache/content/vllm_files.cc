#include "kcache/content/vllm_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "json/value.h"
#include "kcache/content/paths.h"
#include "kcache/content/triton_files.h"

namespace gs::kcache {
namespace {

constexpr std::string_view kKeyFactors = "cache_key_factors.json";
constexpr std::string_view kInductorCache = "inductor_cache";

using ByHash = std::map<std::string_view, Files>;

bool isArtifact(std::string_view name) {
  return name.starts_with("artifact_compile_range_") || name.starts_with("artifact_shape_");
}

/// What lies below folders that are named by hashes; parts begin with the hash.
struct Places {
  ByHash pieces;       // torch_compile_cache/<hash>
  ByHash models;       // torch_compile_cache/torch_aot_compile/<hash>
  ByHash root_models;  // torch_aot_compile/<hash>
  bool is_itself = false;
};

void addCompiled(const Item& one, Places& out) {
  if (one.parts[0] != kTorchAotCompile) {
    out.pieces[one.parts[0]].push_back(one);
  } else if (one.parts.size() > 2) {
    out.models[one.parts[1]].push_back(one.below(1));
  }
}

/// Whether the folder itself is a torch_compile_cache.
bool isCompileCache(const Files& files, std::string_view folder_name) {
  bool has_rank = false;
  bool has_model = false;
  bool has_inductor = false;
  for (const Item& one : files) {
    const PathParts& parts = one.parts;
    if (parts[0] != kTorchAotCompile) {
      has_rank = has_rank || (parts.size() > 2 && isRank(parts[1]));
    } else if (parts.size() > 3) {
      has_model = has_model || isRank(parts[2]);
      has_inductor = has_inductor || parts[2] == kInductorCache;
    }
  }
  return has_rank || (has_model && (has_inductor || folder_name == kTorchCompileCache));
}

Places placesIn(const Files& files, std::string_view folder_name) {
  Places out;
  for (const Item& one : files) {
    if (one.parts.size() > 2 && one.parts[0] == kTorchCompileCache) { addCompiled(one.below(1), out); }
  }
  out.is_itself = out.pieces.empty() && out.models.empty() && isCompileCache(files, folder_name);
  std::set<std::string_view> ranked;  // what else lies in a folder that is one by the looks of it is no hash
  for (const Item& one : files) {
    if (one.parts.size() > 2 && isRank(one.parts[1])) { ranked.insert(one.parts[0]); }
  }
  for (const Item& one : files) {
    const bool is_model = one.parts[0] == kTorchAotCompile && one.parts.size() > 3;
    if (out.is_itself && one.parts.size() > 2 && (is_model || ranked.contains(one.parts[0]))) {
      addCompiled(one, out);
    } else if (is_model) {
      out.root_models[one.parts[1]].push_back(one.below(1));
    }
  }
  return out;
}

/// What one rank has of one prefix.
struct Prefix {
  const CacheFile* factors = nullptr;
  const CacheFile* list = nullptr;  // vllm_compile_cache.py
  std::set<std::string> artifacts;
  bool is_unpacked = false;
  Files files;  // of the artifacts
};
using Prefixes = std::map<std::pair<std::string_view, std::string_view>, Prefix>;

/// By rank and prefix. Parts: <hash>, <rank>, <prefix>, <name>; before 0.9.2 there was no prefix.
Prefixes prefixesIn(const Files& files) {
  Prefixes out;
  for (const Item& one : files) {
    const PathParts& parts = one.parts;
    if (parts.size() < 3 || !isRank(parts[1])) { continue; }
    const bool is_bare = parts.size() == 3 || isArtifact(parts[2]);
    const std::size_t at = is_bare ? 2 : 3;
    Prefix& prefix = out[{parts[1], is_bare ? std::string_view{} : parts[2]}];
    const bool is_file = parts.size() == at + 1;
    if (is_file && parts[at] == kKeyFactors) { prefix.factors = one.file; }
    if (is_file && parts[at] == kCompileCacheList) { prefix.list = one.file; }
    if (!isArtifact(parts[at])) { continue; }
    prefix.is_unpacked = prefix.artifacts.empty() ? !is_file : prefix.is_unpacked;
    prefix.artifacts.emplace(parts[at]);
    prefix.files.push_back(one);
  }
  return out;
}

class Reader {
 public:
  explicit Reader(Findings& findings) : findings_{findings} {}

  void addPieces(std::string_view hash, const Files& files) {
    const std::string where = fmt::format("{}/{}", kTorchCompileCache, hash);
    const auto kernels = kernelsIn(files, findings_);
    VllmEntry entry{.hash = std::string{hash}, .format = "binary", .triton = {}, .binary = {}, .aot = {}};
    for (const auto& [name, prefix] : prefixesIn(files)) {
      const auto factors = prefix.factors == nullptr ? std::nullopt : jsonOf(*prefix.factors);
      if (factors) { noteRoots(where, (*factors)["env"]); }
      if (prefix.artifacts.empty()) { continue; }
      entry.binary.push_back(binaryOf(name.first, name.second, prefix, factors));
      takeGpus(where, prefix, factors, !kernels.empty());
    }
    if (entry.binary.empty()) {
      entry.format = "triton";
      entry.triton = entriesOf(kernels);
      if (entry.triton.empty() && !isInductors(where, files)) { return; }
    }
    found.push_back(std::move(entry));
  }

  void addModel(std::string_view hash, const Files& files, std::string_view above) {
    const std::string where = fmt::format("{}{}/{}", above, kTorchAotCompile, hash);
    VllmEntry entry{.hash = std::string{hash}, .format = "binary", .triton = {}, .binary = {}, .aot = {}};
    for (const Item& one : files) {
      if (one.parts.size() != 3 || !isRank(one.parts[1]) || one.parts[2] != kModel) { continue; }
      entry.binary.push_back({.rank = std::string{one.parts[1]},
                              .prefix = "",
                              .artifact_names = {std::string{kModel}},
                              .code_hash = "",
                              .config_hash = "",
                              .compiler_hash = "",
                              .save_format = "mega-aot",
                              .target_device = ""});
    }
    if (entry.binary.empty()) {
      findings_.note(fmt::format("{} has no rank with a model: it counts for nothing", where));
      return;
    }
    const bool has_kernels = !kernelsIn(files, findings_).empty();
    if (!takeTargets(files) && !has_kernels) { noteNoGpu(where); }
    findings_.note(fmt::format(
        "{}: vLLM 0.12 to 0.26 makes this hash also of HOME and VLLM_CONFIG_ROOT, and finds it only where "
        "both are as they were when it was made",
        where));
    found.push_back(std::move(entry));
  }

  std::vector<VllmEntry> found{};

 private:
  std::optional<json::Value> jsonOf(const CacheFile& file) {
    const auto text = findings_.textOf(file);
    if (!text) { return std::nullopt; }
    auto value = json::parse(*text);
    if (value) { return std::move(*value); }
    findings_.note(file, value.error().message);
    return std::nullopt;
  }

  /// vLLM 0.12 to 0.26 hashes the folders that follow HOME, and writes down which they were.
  void noteRoots(const std::string& where, const json::Value& env) {
    std::string roots;
    for (const char* name : {"VLLM_CONFIG_ROOT", "VLLM_XLA_CACHE_PATH"}) {
      if (env[name].str().empty()) { continue; }
      roots += fmt::format("{}{}={}", roots.empty() ? "" : " and ", name, env[name].str());
    }
    if (roots.empty()) { return; }
    findings_.note(
        fmt::format("{}: vLLM made this hash also of {}, which follow HOME; it finds the cache only "
                    "where they are the same",
                    where, roots));
  }

  static BinaryEntry binaryOf(std::string_view rank, std::string_view name, const Prefix& prefix,
                              const std::optional<json::Value>& factors) {
    static const json::Value kNone;
    const json::Value& known = factors ? *factors : kNone;
    return {.rank = std::string{rank},
            .prefix = std::string{name},
            .artifact_names = {prefix.artifacts.begin(), prefix.artifacts.end()},
            .code_hash = std::string{known["code_hash"].str()},
            .config_hash = std::string{known["config_hash"].str()},
            .compiler_hash = std::string{known["compiler_hash"].str()},
            .save_format = prefix.is_unpacked ? "unpacked" : "binary",
            .target_device = std::string{known["env"]["VLLM_TARGET_DEVICE"].str()},
            .env = known["env"].members()};
  }

  void takeGpus(const std::string& where, const Prefix& prefix, const std::optional<json::Value>& factors,
                bool has_kernels) {
    if (prefix.list == nullptr) {
      findings_.note(fmt::format("{}: artifacts lie beside no {}, by which alone vLLM finds them", where,
                                 kCompileCacheList));
    }
    if (takeTargets(prefix.files) || has_kernels) { return; }
    if (!factors) { return noteNoGpu(where); }
    const std::string_view device = (*factors)["env"]["VLLM_TARGET_DEVICE"].str();
    const std::string backend{tritonBackend(device.empty() ? "cuda" : device)};
    findings_.targets.insert({backend, "", warpSizeOf(backend, "")});
  }

  void noteNoGpu(const std::string& where) {
    findings_.note(fmt::format(
        "{}: nothing in it says for which GPUs it was compiled, so the summary does not say it", where));
  }

  /// Without a kernel: what Inductor keeps is worth having; anything else is noted.
  bool isInductors(const std::string& where, const Files& files) {
    const bool is = std::any_of(files.begin(), files.end(), [](const Item& one) {
      return one.parts.size() > 3 && isRank(one.parts[1]) && one.parts[2] == kInductorCache;
    });
    if (is) {
      takeTargets(files);
      findings_.note(
          fmt::format("{} has no kernels of Triton: TRITON_CACHE_DIR named another folder when it was "
                      "made, which wants an image of its own",
                      where));
    } else {
      findings_.note(
          fmt::format("{} has neither artifacts (artifact_...) nor kernels of Triton nor an {} in a "
                      "rank_<n>_<m>: it counts for nothing",
                      where, kInductorCache));
    }
    return is;
  }

  /// What these files say themselves. False: nothing.
  bool takeTargets(const Files& files) {
    Targets found;
    for (const Item& one : files) {
      if (const auto text = findings_.textOf(*one.file)) { found.merge(targetsIn(*text)); }
    }
    const bool any = !found.empty();
    findings_.targets.merge(found);
    return any;
  }

  Findings& findings_;
};

/// The root that the first file with paths names: a list of artifacts, else a group file.
std::string madeAt(const Files& files, std::string_view below, Findings& findings) {
  for (const bool is_group : {false, true}) {
    for (const Item& one : files) {
      const std::string_view name = one.parts.back();
      if (is_group ? !isGroupFile(name) : name != kCompileCacheList) { continue; }
      const auto text = findings.textOf(*one.file);
      const auto root = text ? rootNamedIn(fmt::format("{}{}", below, one.file->path), *text) : std::nullopt;
      if (root) { return *root; }
      if (is_group) { break; }  // there are thousands, all alike
    }
  }
  return "";
}

std::string subpathOf(const Places& places) {
  const bool has_compiled = !places.pieces.empty() || !places.models.empty();
  if (!has_compiled) { return std::string{kTorchAotCompile}; }
  if (!places.root_models.empty()) { return ""; }
  return places.pieces.empty() ? fmt::format("{}/{}", kTorchCompileCache, kTorchAotCompile)
                               : std::string{kTorchCompileCache};
}

}  // namespace

FoundVllm vllmIn(const Files& files, std::string_view folder_name, Findings& findings) {
  const Places places = placesIn(files, folder_name);
  const std::string compiled = std::string{kTorchCompileCache} + '/';
  Reader reader{findings};
  for (const auto& [hash, of_hash] : places.pieces) { reader.addPieces(hash, of_hash); }
  for (const auto& [hash, of_hash] : places.models) { reader.addModel(hash, of_hash, compiled); }
  for (const auto& [hash, of_hash] : places.root_models) { reader.addModel(hash, of_hash, ""); }
  if (reader.found.empty()) { return {}; }
  FoundVllm out{.entries = std::move(reader.found),
                .below = places.is_itself ? compiled : "",
                .mount_subpath = subpathOf(places)};
  out.made_at = madeAt(files, out.below, findings);
  return out;
}

}  // namespace gs::kcache
