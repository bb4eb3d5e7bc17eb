#include "kcache/content/labels.h"

#include <fmt/format.h>

#include <charconv>
#include <set>

namespace gs::kcache {
namespace {

constexpr std::string_view kEntryCount = "entry-count";
constexpr std::string_view kSummary = "summary";
constexpr std::string_view kSizeBytes = "cache-size-bytes";

std::string labelOf(CacheType type, std::string_view what) {
  return fmt::format("cache.{}.image/{}", nameOf(type), what);
}

/// The forms of its artifacts, as "binary,triton".
std::string formatOf(const CacheManifest& manifest) {
  std::set<std::string> formats;
  for (const VllmEntry& entry : manifest.vllm) {
    if (entry.binary.empty()) { formats.insert(entry.format); }
    for (const BinaryEntry& one : entry.binary) {
      formats.insert(one.save_format == "unpacked" ? "unpacked" : "binary");
    }
  }
  return fmt::format("{}", fmt::join(formats, ","));
}

/// Where KServe has it, and so GKM's images; of a cache in which no file names a path any place is as good.
constexpr std::string_view kUsualRoot = "/home/kserve/.cache/vllm";

void addMountLabels(Labels& out, const DetectedCache& cache) {
  std::vector<std::string> hashes;
  for (const VllmEntry& entry : cache.manifest.vllm) { hashes.push_back(entry.hash); }
  out["io.kserve.km/framework"] = "vllm";
  out["io.kserve.km/cache-type"] = "torch-compile";
  out["io.kserve.km/cache-hash"] = fmt::format("{}", fmt::join(hashes, ","));
  if (!cache.mount_subpath.empty()) { out["io.kserve.km/cache-mount-subpath"] = cache.mount_subpath; }
  out["io.kserve.km/cache-root-env"] =
      fmt::format("VLLM_CACHE_ROOT={}", cache.made_at.empty() ? kUsualRoot : cache.made_at);
}

std::optional<std::string> labelNamed(const Labels& labels, const std::string& key) {
  const auto it = labels.find(key);
  return it == labels.end() ? std::nullopt : std::optional{it->second};
}

std::optional<std::int64_t> numberOf(const std::optional<std::string>& text) {
  if (!text) { return std::nullopt; }
  std::int64_t out = 0;
  const char* const end = text->data() + text->size();
  const auto [stopped, error] = std::from_chars(text->data(), end, out);
  return error == std::errc{} && stopped == end && out >= 0 ? std::optional{out} : std::nullopt;
}

}  // namespace

Labels labelsOf(const DetectedCache& cache, const std::string& title) {
  const CacheType type = cache.manifest.type;
  Labels out{{labelOf(type, kEntryCount), std::to_string(cache.entry_count)},
             {labelOf(type, kSummary), printSummary(cache.targets)},
             {labelOf(type, kSizeBytes), std::to_string(cache.size_bytes)},
             {"org.opencontainers.image.title", title}};
  if (type == CacheType::Vllm) {
    out[labelOf(type, "format")] = formatOf(cache.manifest);
    addMountLabels(out, cache);
  }
  return out;
}

std::optional<CacheLabels> readLabels(const Labels& labels) {
  for (const CacheType type : {CacheType::Triton, CacheType::Vllm}) {
    const auto first = labels.lower_bound(labelOf(type, ""));
    if (first == labels.end() || !first->first.starts_with(labelOf(type, ""))) { continue; }
    return CacheLabels{.type = type,
                       .summary = labelNamed(labels, labelOf(type, kSummary)),
                       .size_bytes = numberOf(labelNamed(labels, labelOf(type, kSizeBytes))),
                       .entry_count = numberOf(labelNamed(labels, labelOf(type, kEntryCount)))};
  }
  return std::nullopt;
}

std::optional<CacheType> cacheTypeOf(const Labels& labels, const Manifest& manifest) {
  if (const auto read = readLabels(labels)) { return read->type; }
  for (const Descriptor& layer : manifest.layers) {
    for (const CacheType type : {CacheType::Triton, CacheType::Vllm}) {
      if (layer.media_type == fmt::format("application/cache.{0}.content.layer.v1+{0}", nameOf(type))) {
        return type;
      }
    }
  }
  return std::nullopt;
}

}  // namespace gs::kcache
