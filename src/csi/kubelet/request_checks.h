// What each driver of ours checks of a call of the kubelet's, and what its target says. Pure. The texts that
// GKM had are its own.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gs::csi {

inline constexpr std::size_t kMostOfAnId = 512;  // two names and what is between them

/// Of PublishRequest::context. What the kubelet says of the pod stands there over whatever the pod's author
/// wrote, if the driver's CSIDriver object has podInfoOnMount: true ("Pod Info on Mount" of
/// https://kubernetes-csi.github.io/docs/pod-info.html).
using Context = std::map<std::string, std::string>;
inline constexpr const char* kEphemeralKey = "csi.storage.k8s.io/ephemeral";
inline constexpr const char* kPodNameKey = "csi.storage.k8s.io/pod.name";
inline constexpr const char* kPodNamespaceKey = "csi.storage.k8s.io/pod.namespace";
inline constexpr const char* kPodUidKey = "csi.storage.k8s.io/pod.uid";
/// "": it is not there.
[[nodiscard]] std::string valueOf(const Context& context, const char* key);

/// UTF-8 without control characters: it can be shown.
[[nodiscard]] bool isPlainText(std::string_view text);

// Errors Invalid: name the field, and what is wrong with it.
[[nodiscard]] Status checkId(const std::string& id, const char* call);
/// Clean, and below the target root.
[[nodiscard]] Status checkTarget(const std::string& target, const std::string& target_root,
                                 const char* field);
/// The kubelet's words of the pod are there. `driver`: whose CSIDriver lacks podInfoOnMount else.
[[nodiscard]] Status checkPodInfo(const Context& context, std::string_view driver);

/// A target as the kubelet makes it, <target root>/<uid>/volumes/kubernetes.io~csi/<volume>/mount, tells
/// which pod it is of, and the volume's id.
struct TargetOf {
  std::string pod_uid;
  std::string volume_id;
  std::string volume;  // its name: in the pod's spec, or the PersistentVolume's
  friend bool operator==(const TargetOf&, const TargetOf&) = default;
};
[[nodiscard]] std::optional<TargetOf> readTarget(std::string_view target, const std::string& target_root);
/// The folder of the pod (or whoever it is of) that a target below the target root is in.
[[nodiscard]] std::string podFolderOf(const std::string& target, const std::string& target_root);

}  // namespace gs::csi
