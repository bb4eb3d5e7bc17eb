// The four kinds of kernel caches as plain values: GKMCache, GKMCacheNode, and both for the whole cluster.
// The namespaced kind and the cluster's are one type each; the namespace "" says which.
//
// Who writes what, and under which names:
//   GKMCache, ClusterGKMCache   the user; the digest in an annotation the webhook; finalizer and status the
//                               operator
//   GKMCacheNode                the agent of a node, for all GKMCaches of a namespace: one object, named like
//                               the node, with the label kHostLabel, so that there cannot be two. Its status
//                               as this file prints it; a finalizer (nodeFinalizer()) for each cache, put
//                               there before the first byte is extracted and taken away when the last is
//                               gone. An entry stays while its image is on the disk or failed to come there:
//                               of an older image therefore until the last pod that has it mounted is gone.
//                               A cause in a message stays as it is while it is the same.
//                               Older versions named theirs otherwise: the agent of that node takes them
//                               away. The annotation kFirstKey is gpu-scheduler's (first.h).
//   ClusterGKMCacheNode         the same for all ClusterGKMCaches.
//   CSIDriver csi.gkm.io        the operator
// What a node object says counts until it is gone, or is being deleted and no agent's finalizer is on it:
// so the operator can take away what a node left behind that has left the cluster.
//
// Decoding refuses nothing. What has a wrong type reads as absent; over a bound, which no honest object
// reaches, the rest is left out; a digest that is none is no entry. Finalizers that are left out are told
// of: then nobody may write the list.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "json/document.h"
#include "json/value.h"
#include "kapi/call.h"
#include "kapi/kind.h"
#include "kcache/kinds/claims.h"
#include "kcache/kinds/first.h"
#include "kcache/kinds/state.h"
#include "model/ids.h"

namespace gs::kcache {

struct Finalizers {
  std::vector<std::string> names;  // in their order
  bool are_cut = false;            // there are more
  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> with(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> without(std::string_view name) const;
  friend bool operator==(const Finalizers&, const Finalizers&) = default;
};

struct CacheStatus {
  std::string resolved_digest;
  Counts counts;
  std::optional<Condition> condition;  // nullopt: it has none, or others than we write
  Wall last_updated{};
  std::vector<Remark> remarks{};                             // the conditions behind that one
  std::map<std::string, ClaimStatus, std::less<>> claims{};  // ours, by namespace
  friend bool operator==(const CacheStatus&, const CacheStatus&) = default;
};

/// A GKMCache, or a ClusterGKMCache (no namespace).
struct Cache {
  model::ObjectKey key;
  model::Uid uid;
  model::Revision revision = 0;
  bool is_deleting = false;
  Finalizers finalizers;
  std::string image;
  std::string digest;  // as the annotation has it; "" there is none
  ClaimWish wish{};
  std::vector<std::string> pull_secrets{};  // names of Secrets: who to be at its registry
  std::optional<CacheStatus> status{};      // nullopt: nobody wrote one
  friend bool operator==(const Cache&, const Cache&) = default;
};

struct GpuGroup {
  std::string type;
  std::string driver_version;
  std::vector<int> ids;
  friend bool operator==(const GpuGroup&, const GpuGroup&) = default;
};
/// The type of the one group that a node without GPUs has.
inline constexpr const char* kNoGpu = "None Detected";

/// A GKMCacheNode, or a ClusterGKMCacheNode (no namespace).
struct CacheNode {
  model::ObjectKey key;
  model::Uid uid;
  model::Revision revision = 0;
  bool is_deleting = false;
  Finalizers finalizers;
  model::NodeName node;  // as its status says, else its label, else its own name
  Counts counts;         // sums over its caches, but nodes = 1
  std::vector<GpuGroup> gpus;
  std::map<std::string, Entries, std::less<>> caches;  // by the cache's name
  std::optional<FetchFirst> first{};                   // as the annotation asks; nullopt: it does not
  friend bool operator==(const CacheNode&, const CacheNode&) = default;
};

[[nodiscard]] Cache decodeCache(const json::View& v);
/// Names in a spec's imagePullSecrets; what is no name is left out.
[[nodiscard]] std::vector<std::string> pullSecretsIn(const json::View& spec);
[[nodiscard]] CacheNode decodeCacheNode(const json::View& v);

extern const kapi::Kind kCache;         // GKMCache
extern const kapi::Kind kClusterCache;  // ClusterGKMCache
extern const kapi::Kind kCacheNode;
extern const kapi::Kind kClusterCacheNode;
/// Of an object with that key.
[[nodiscard]] kapi::Kind cacheKindOf(const model::ObjectKey& key);
[[nodiscard]] kapi::Kind nodeKindOf(const model::ObjectKey& key);
/// What keeps such a cache: kCacheFinalizer or kClusterCacheFinalizer.
[[nodiscard]] const char* finalizerOf(const model::ObjectKey& cache);

/// The member `status`. Fields of other versions are not in it: by a merge patch they stay. So would entries
/// of a node's caches that are gone: its status is for PUT.
[[nodiscard]] json::Value statusValue(const CacheStatus& status);
[[nodiscard]] json::Value statusValue(const CacheNode& node);

/// PATCH (merge) of a cache's status, as it was at `of.revision`. Claims that are no more are taken out.
[[nodiscard]] kapi::Call writeStatus(const Cache& of, const CacheStatus& status);
/// PUT of a node object's status, as it was at its revision.
[[nodiscard]] kapi::Call writeStatus(const CacheNode& node);
/// POST of a node object: its name, the label of its node, and those finalizers.
[[nodiscard]] kapi::Call createNode(const model::ObjectKey& key, const std::vector<std::string>& finalizers);
/// PATCH (merge) of a node object that there is, whatever its version: the label of its node.
[[nodiscard]] kapi::Call labelNode(const model::ObjectKey& key);
/// DELETE of a node object as it was at its revision.
[[nodiscard]] kapi::Call deleteNode(const CacheNode& node);
/// PATCH (merge) of an object's finalizers, as it was at that revision.
[[nodiscard]] kapi::Call writeFinalizers(kapi::Kind kind, const model::ObjectKey& key, const model::Uid& uid,
                                         model::Revision revision, const std::vector<std::string>& names);

}  // namespace gs::kcache
