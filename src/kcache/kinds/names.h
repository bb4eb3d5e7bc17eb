// Names that users, pods and older versions know kernel caches by: annotations, labels, finalizers, the CSI
// driver and its attributes. They are GKM's, so that a cluster can switch over (docs/use/migration.md, "From
// GKM").
//
// Names as parts of paths: a cache's name, a namespace and a node's name are what Kubernetes takes for them
// (lower-case letters, digits, '-' and '.', no part between dots empty), so none is "." or "..", and none has
// a '/'. But a namespace may be called "cluster-scoped", as the folder of cluster-wide caches was: whoever
// makes paths keeps the two apart by something that no namespace's name can have.
#pragma once

#include <string>
#include <string_view>

#include "model/cache_volume.h"

namespace gs::kcache {

/// On a cache: the digest that its image was resolved to, once. Who writes it: the webhook. Without it a
/// cache is not extracted.
inline constexpr const char* kDigestKey = "gkm.io/resolvedDigest";
/// That the webhook wrote that digest. (Of an older version ClusterGKMCaches alone have it.)
inline constexpr const char* kMutationSignatureKey = "gkm.io/mutationSig";
/// The user whose request made the webhook write them.
inline constexpr const char* kLastMutatedByKey = "gkm.io/lastMutatedBy";
/// On node objects: the node's name, cut where it is too long for a label (nodeLabel()).
inline constexpr const char* kHostLabel = "kubernetes.io/hostname";
/// Whose claim one is, in `status.pvcStatus`: GKM's word for those that no agent makes.
inline constexpr const char* kClaimOwner = "Operator";

/// What keeps a cache until no node has it any more. The operator's.
inline constexpr const char* kCacheFinalizer = "gkm.io.gkmcachenode/finalizer";
inline constexpr const char* kClusterCacheFinalizer = "gkm.io.clustergkmcachenode/finalizer";

inline constexpr const char* kDriver = model::kCacheDriver;
inline constexpr const char* kCacheAttribute = model::kCacheAttribute;
inline constexpr const char* kNamespaceAttribute = model::kCacheNamespaceAttribute;
/// Where the pod's containers have the volume, for who knows it better than the pod's spec says.
inline constexpr const char* kMountPathAttribute = "csi.gkm.io/mountPath";

/// A node's name as a label's value: the name itself, but of one of more than 63 bytes its beginning with a
/// part of its hash. (That of the Node itself, which its kubelet writes, is cut without one.)
[[nodiscard]] std::string nodeLabel(std::string_view node);
/// A cache's name as it stands in finalizers: the name itself, but of one that would not fit there (more than
/// 246 bytes) a shorter one with a part of its hash. So too of a name that looks like one of those: no two
/// caches have the same.
[[nodiscard]] std::string handleOf(std::string_view cache);
/// "gkm.io.<handle>/finalizer", on a node object: the node has, or is about to have, files of that cache.
[[nodiscard]] std::string nodeFinalizer(std::string_view cache);
/// The handle in such a finalizer; "" it is none.
[[nodiscard]] std::string_view handleIn(std::string_view finalizer);

}  // namespace gs::kcache
