// Where the containers of a node's pods mount their caches. A file of a cache that names others by absolute
// paths is right for one place only (kcache/content/paths.h), and the kubelet does not tell a CSI driver
// where in its containers a pod has a volume: the agent, which watches the pods of its node, does.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace gs::kcache {

/// Of one pod: the mountPath of the first container that mounts the volume as a whole (without subPath), in
/// the order of the spec, init containers last.
struct PodPaths {
  std::map<std::string, std::string> volumes{};  // by the name of a CSI volume of ours in its spec
  std::map<std::string, std::string> claims{};   // by the name of a PersistentVolumeClaim
  bool has_more = false;  // volumes that are not told: too many, or at paths that are told to nobody
  friend bool operator==(const PodPaths&, const PodPaths&) = default;
};
inline constexpr std::size_t kMostOfAMountPath = 1024;  // bytes

/// One that is told, and believed: absolute and clean, of kMostOfAMountPath bytes at most, and without
/// characters that no terminal shows. It ends up in texts, and in a log.
[[nodiscard]] bool isMountPath(std::string_view path);

/// The uid that a static pod has on its node is said by an annotation of its mirror pod, which anybody may
/// write on a pod of his own: so it counts together with the pod's name, which nobody else has.
[[nodiscard]] std::string staticPodOf(std::string_view ns, std::string_view name, std::string_view uid);

/// By the uid of the pod, or staticPodOf(). All pods of the node that may have a cache, also those
/// that do not mount theirs as a whole: who is not in it has not been seen yet.
using MountPaths = std::map<std::string, PodPaths, std::less<>>;
using MountPathsPtr = std::shared_ptr<const MountPaths>;

}  // namespace gs::kcache
