#include "kcache/content/detect.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

namespace gs::kcache {
namespace {

constexpr std::string_view kArtifact = "artifact_compile_range_";
constexpr std::string_view kKeyFactors = "cache_key_factors.json";
constexpr std::string_view kTritonFolder = "triton_cache";
constexpr std::string_view kModel = "model";

using PathParts = std::vector<std::string_view>;

PathParts partsOf(std::string_view path) {
  PathParts out;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    out.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

/// A file, with the parts of its path from some folder on.
struct Item {
  const CacheFile* file;
  PathParts parts;
};
using Files = std::vector<Item>;

bool isNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// rank_0_0
bool isRank(std::string_view name) {
  constexpr std::string_view kRank = "rank_";
  if (!name.starts_with(kRank)) { return false; }
  name.remove_prefix(kRank.size());
  const std::size_t middle = name.find('_');
  return middle != std::string_view::npos && isNumber(name.substr(0, middle)) &&
         isNumber(name.substr(middle + 1));
}

bool isSignOfTriton(std::string_view name) {
  return isGroupFile(name) || name.ends_with(".ttir") || name == "__triton_launcher.so";
}

class Detector {
 public:
  Detector(std::vector<CacheFile> files, const ReadText& read) : files_{std::move(files)}, read_{read} {
    std::sort(files_.begin(), files_.end(),
              [](const CacheFile& a, const CacheFile& b) { return a.path < b.path; });
    for (const CacheFile& file : files_) {
      all_.push_back({&file, partsOf(file.path)});
      out_.size_bytes += file.size;
    }
  }

  Result<DetectedCache> run() && {
    if (detectVllm() || detectTriton()) {
      out_.targets = precise(out_.targets);
      return std::move(out_);
    }
    return fail(Code::NotFound,
                "there is no cache in it: a Triton cache has <key>/<kernel>.json with a hash beside "
                "__grp__<kernel>.json, a vLLM cache torch_compile_cache/<hash>/rank_0_0");
  }

 private:
  bool detectTriton() {
    out_ = {.manifest = {.type = CacheType::Triton}, .size_bytes = out_.size_bytes};
    out_.manifest.triton = kernelsIn(all_);
    out_.entry_count = static_cast<std::int64_t>(out_.manifest.triton.size());
    return out_.entry_count > 0;
  }

  bool detectVllm() {
    out_.manifest.type = CacheType::Vllm;
    std::map<std::string_view, Files> by_hash;
    std::map<std::string_view, Files> models;
    for (const Item& one : compiled()) {
      const PathParts& parts = one.parts;
      if (parts[0] != kTorchAotCompile) {
        by_hash[parts[0]].push_back(one);
      } else if (parts.size() > 2) {
        models[parts[1]].push_back({one.file, PathParts(parts.begin() + 1, parts.end())});
      }
    }
    for (const auto& [hash, files] : by_hash) { addHash(hash, files); }
    for (const auto& [hash, files] : models) { addModel(hash, files); }
    out_.entry_count = static_cast<std::int64_t>(out_.manifest.vllm.size());
    return out_.entry_count > 0;
  }

  /// All below torch_compile_cache, their parts from there on. Where the folder itself is one, that is noted.
  Files compiled() {
    Files out;
    for (const Item& one : all_) {
      if (one.parts.size() > 2 && one.parts[0] == kTorchCompileCache) {
        out.push_back({one.file, PathParts(one.parts.begin() + 1, one.parts.end())});
      }
    }
    if (!out.empty()) { return out; }
    for (const Item& one : all_) {
      const PathParts& parts = one.parts;
      const bool is_model = parts.size() > 3 && parts[0] == kTorchAotCompile && isRank(parts[2]);
      if (is_model || (parts.size() > 2 && isRank(parts[1]))) { out.push_back(one); }
    }
    if (!out.empty()) { out_.below = std::string{kTorchCompileCache} + '/'; }
    return out;
  }

  void addHash(std::string_view hash, const Files& files) {
    VllmEntry entry{
        .hash = std::string{hash}, .format = "binary", .triton = {}, .binary = binariesIn(files), .aot = {}};
    if (entry.binary.empty()) {
      Files below;
      std::copy_if(files.begin(), files.end(), std::back_inserter(below), [](const Item& one) {
        return std::find(one.parts.begin(), one.parts.end() - 1, kTritonFolder) != one.parts.end() - 1;
      });
      entry.triton = kernelsIn(below);
      entry.format = "triton";
    }
    if (entry.binary.empty() && entry.triton.empty()) {
      out_.notes.push_back(fmt::format(
          "{}/{} has neither artifacts beside a {} nor kernels in a {}: it is packed, and counts for nothing",
          kTorchCompileCache, hash, kKeyFactors, kTritonFolder));
      return;
    }
    out_.manifest.vllm.push_back(std::move(entry));
  }

  struct Prefix {
    const CacheFile* factors = nullptr;
    std::set<std::string> artifacts;
    bool is_unpacked = false;
    Files files;  // of the artifacts
  };

  std::vector<BinaryEntry> binariesIn(const Files& files) {
    std::map<std::pair<std::string_view, std::string_view>, Prefix> prefixes;  // by rank and prefix
    for (const Item& one : files) {
      const PathParts& parts = one.parts;
      if (parts.size() < 4 || !isRank(parts[1])) { continue; }
      Prefix& prefix = prefixes[{parts[1], parts[2]}];
      if (parts.size() == 4 && parts[3] == kKeyFactors) { prefix.factors = one.file; }
      if (!parts[3].starts_with(kArtifact)) { continue; }
      prefix.is_unpacked = prefix.artifacts.empty() ? parts.size() > 4 : prefix.is_unpacked;
      prefix.artifacts.emplace(parts[3]);
      prefix.files.push_back(one);
    }
    std::vector<BinaryEntry> out;
    for (const auto& [name, prefix] : prefixes) {
      if (prefix.factors == nullptr || prefix.artifacts.empty()) { continue; }
      if (auto entry = binaryOf(name.first, name.second, prefix)) { out.push_back(std::move(*entry)); }
    }
    return out;
  }

  std::optional<BinaryEntry> binaryOf(std::string_view rank, std::string_view name, const Prefix& prefix) {
    const auto factors = jsonOf(*prefix.factors);
    if (!factors) { return std::nullopt; }
    BinaryEntry out{.rank = std::string{rank},
                    .prefix = std::string{name},
                    .artifact_names = {prefix.artifacts.begin(), prefix.artifacts.end()},
                    .code_hash = std::string{(*factors)["code_hash"].str()},
                    .config_hash = std::string{(*factors)["config_hash"].str()},
                    .compiler_hash = std::string{(*factors)["compiler_hash"].str()},
                    .save_format = prefix.is_unpacked ? "unpacked" : "binary",
                    .target_device = std::string{(*factors)["env"]["VLLM_TARGET_DEVICE"].str()},
                    .env = (*factors)["env"].members()};
    if (!takeTargets(prefix.files)) { takeDevice(out.target_device); }
    return out;
  }

  void addModel(std::string_view hash, const Files& files) {
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
      out_.notes.push_back(
          fmt::format("{}/{}/{} has no rank with a model: it is packed, and counts for nothing",
                      kTorchCompileCache, kTorchAotCompile, hash));
      return;
    }
    if (!takeTargets(files)) {
      out_.notes.push_back(fmt::format(
          "{}/{}/{}: nothing in it says for which GPUs it was compiled, so the summary does not say it",
          kTorchCompileCache, kTorchAotCompile, hash));
    }
    out_.manifest.vllm.push_back(std::move(entry));
  }

  /// What artifacts say themselves. False: nothing.
  bool takeTargets(const Files& files) {
    Targets found;
    for (const Item& one : files) {
      const auto text = read_(one.file->path);
      if (!text) {
        note(*one.file, text.error().message);
        continue;
      }
      found.merge(targetsIn(*text));
    }
    const bool any = !found.empty();
    out_.targets.merge(found);
    return any;
  }

  void takeDevice(std::string_view device) {
    const std::string backend{tritonBackend(device.empty() ? "cuda" : device)};
    out_.targets.insert({backend, "", warpSizeOf(backend, "")});
  }

  /// The kernels whose JSON is among these files, if they are a Triton cache; their targets are taken.
  std::vector<TritonEntry> kernelsIn(const Files& files) {
    const bool is_triton = std::any_of(files.begin(), files.end(),
                                       [](const Item& one) { return isSignOfTriton(one.parts.back()); });
    std::vector<TritonEntry> out;
    if (!is_triton) { return out; }
    std::set<std::string> known;
    for (const Item& one : files) {
      const std::string_view name = one.parts.back();
      if (!name.ends_with(".json") || isGroupFile(name)) { continue; }
      const auto kernel = kernelOf(one);
      if (!kernel || !known.insert(kernel->hash).second) { continue; }
      if (kernel->target.backend.empty()) {
        note(*one.file, "it does not say for which GPU it was compiled");
      }
      out_.targets.insert(kernel->target);
      out.push_back({*kernel, dummyKey(*kernel)});
    }
    return out;
  }

  std::optional<Kernel> kernelOf(const Item& one) {
    const auto text = read_(one.file->path);
    if (!text) {
      note(*one.file, text.error().message);
      return std::nullopt;
    }
    auto kernel = readKernel(*text);
    if (!kernel) {
      note(*one.file, kernel.error().message);
      return std::nullopt;
    }
    if (*kernel) { checkFolder(one, **kernel); }
    return *std::move(kernel);
  }

  void checkFolder(const Item& one, const Kernel& kernel) {
    const auto folder = kernelFolder(kernel.hash);
    const std::string_view is = one.parts.size() > 1 ? one.parts[one.parts.size() - 2] : "";
    if (!folder) {
      note(*one.file, fmt::format("its hash '{}' is none of Triton's", kernel.hash));
    } else if (!isKernelFolder(is, kernel.hash)) {
      note(*one.file, fmt::format("Triton looks for its hash in a folder {}", *folder));
    }
  }

  std::optional<json::Value> jsonOf(const CacheFile& file) {
    const auto text = read_(file.path);
    auto value = text ? json::parse(*text) : tl::unexpected(text.error());
    if (value) { return std::move(*value); }
    note(file, value.error().message);
    return std::nullopt;
  }

  void note(const CacheFile& file, std::string_view what) {
    out_.notes.push_back(fmt::format("{}: {}", file.path, what));
  }

  std::vector<CacheFile> files_;
  const ReadText& read_;
  Files all_;
  DetectedCache out_;
};

}  // namespace

Result<DetectedCache> detectCache(std::vector<CacheFile> files, const ReadText& read) {
  return Detector{std::move(files), read}.run();
}

}  // namespace gs::kcache
