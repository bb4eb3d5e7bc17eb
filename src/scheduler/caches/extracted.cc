#include "scheduler/caches/extracted.h"

#include <utility>

namespace gs::scheduler {
namespace {

constexpr kapi::KindInfo kExtractedInfo{
    "gkm.io", "v1alpha1", "gkmcachenodes", "GKMCacheNode", true, kapi::decodedBy<decodeExtracted>, true};
constexpr kapi::KindInfo kClusterExtractedInfo{"gkm.io",
                                               "v1alpha1",
                                               "clustergkmcachenodes",
                                               "ClusterGKMCacheNode",
                                               false,
                                               kapi::decodedBy<decodeExtracted>,
                                               true};

bool suitsTheNode(const kcache::CacheEntry& entry) {
  return !entry.compatible_gpus.empty() || entry.incompatible_gpus.empty();
}

}  // namespace

constinit const kapi::Kind kExtracted{kExtractedInfo};
constinit const kapi::Kind kClusterExtracted{kClusterExtractedInfo};

bool isExtracted(const kcache::Entries& images) {
  bool is_there = false;
  for (const auto& [digest, entry] : images) {
    if (!entry.condition) { continue; }
    switch (entry.condition->state) {
      case kcache::State::Pending:
      case kcache::State::Downloading:
      case kcache::State::Error: return false;
      case kcache::State::Extracted:
      case kcache::State::Running: is_there = is_there || suitsTheNode(entry); break;
      case kcache::State::Outdated:
      case kcache::State::UnloadError:
      case kcache::State::Deleting:
      case kcache::State::NoNamespace: break;
    }
  }
  return is_there;
}

ExtractedCaches decodeExtracted(const json::View& v) {
  kcache::CacheNode node = kcache::decodeCacheNode(v);
  ExtractedCaches out{std::move(node.key), std::move(node.uid), node.revision, {}};
  for (const auto& [name, images] : node.caches) {
    if (isExtracted(images)) { out.names.push_back(name); }
  }
  return out;
}

}  // namespace gs::scheduler
