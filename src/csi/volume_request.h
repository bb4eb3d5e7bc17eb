// What the kubelet asks for, checked: names are names of Kubernetes, the target is below the target root, and
// the pod may have the cache. Pure; fuzzed. The texts that the ancestor had are its own.
//
// volume_context of the CSI call (docs/use/gkm-csi.md):
//   csi.gkm.io/GKMCache    the cache's name
//   csi.gkm.io/namespace   its namespace; without it the name is that of a ClusterGKMCache
//   csi.gkm.io/mountPath   where the pod's containers have the volume; else as the pod's spec says
//   csi.storage.k8s.io/... what the kubelet says of the pod, over whatever the pod's author wrote there
//                          (csi/kubelet/request_checks.h)
// A pod gets caches of its own namespace and of the whole cluster, and no others.
// A volume stands in the pod's own spec (ephemeral), or is a PersistentVolume of gkm-operator's
// (kcache/kinds/claims.h), whose handle then says the same as its attributes, and of which namespace the pods
// are that may mount it. Such a volume has one id for all pods of a machine, so that each mount of it goes by
// an id of its own here (idOf()).
#pragma once

#include <string>
#include <string_view>

#include "cacherim/node/usage.h"
#include "csi/kubelet/request_checks.h"
#include "rpc/csi_calls.h"

namespace gs::csi {

constexpr std::string_view kDriverName = "csi.gkm.io";

/// One that was checked.
struct VolumeWish {
  std::string volume_id;  // idOf()
  std::string target;
  cacherim::CacheName cache;
  bool is_cluster_cache = false;
  std::string pod_ns;
  std::string pod_name;
  std::string pod_uid;
  bool is_read_only = false;
  std::string mount_path{};  // as the attribute says, clean; "": it does not
  std::string volume{};  // its name in the pod's spec; "" of a PersistentVolume, whose claim is the cache's

  /// As it is recorded once it is known which image it gets.
  [[nodiscard]] cacherim::VolumeUse use(const kcache::Digest& image) const;
  /// "GKMCache ml/vectors", "ClusterGKMCache vectors": for people.
  [[nodiscard]] std::string cacheText() const;
};

/// By which the mount of a volume at a target is told from others: the volume's id, or, of a
/// PersistentVolume, what the id of a volume in the pod's spec would be.
[[nodiscard]] std::string idOf(const std::string& volume_id, const std::string& target,
                               const std::string& target_root);

/// Error Invalid: names the field, and what is wrong with it.
[[nodiscard]] Result<VolumeWish> readPublish(const rpc::PublishRequest& request,
                                             const std::string& target_root);
[[nodiscard]] Status checkUnpublish(const rpc::UnpublishRequest& request, const std::string& target_root);
[[nodiscard]] Status checkStats(const rpc::StatsRequest& request, const std::string& target_root);

}  // namespace gs::csi
