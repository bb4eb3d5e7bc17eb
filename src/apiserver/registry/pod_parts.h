// What is required of the parts of a pod's spec, each in a file of its own; pod_checks.cc puts them together.
// `field` is where a part stands: "spec.containers", "spec.template.spec.affinity".
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "apiserver/meta/answer.h"
#include "json/value.h"

namespace gs::apiserver {

/// What a container is checked against.
struct PodAround {
  const json::Value& spec;
  std::set<std::string, std::less<>> volumes{};  // by name, those that are valid
  bool is_pod = false;                           // and not the template of one
};

// Containers (container_checks.cc).
void checkContainers(const PodAround& pod, const std::string& field, FieldErrors& errors);
void checkInitContainers(const PodAround& pod, const std::string& field, FieldErrors& errors);

// Probes and hooks of one container (handler_checks.cc).
/// `kind`: livenessProbe, readinessProbe or startupProbe. Null: there is none.
void checkProbe(const json::Value& probe, std::string_view kind, const std::string& field,
                FieldErrors& errors);
void checkLifecycle(const json::Value& lifecycle, const json::Value& grace, const std::string& field,
                    FieldErrors& errors);

// Env (env_checks.cc).
void checkEnv(const json::Value& env, const std::string& field, FieldErrors& errors);
void checkEnvFrom(const json::Value& sources, const std::string& field, FieldErrors& errors);
/// A field of the pod as env or, `in_volume`, as a file.
void checkFieldRef(const json::Value& ref, const std::string& field, bool in_volume, FieldErrors& errors);
void checkResourceRef(const json::Value& ref, const std::string& field, bool in_volume, FieldErrors& errors);

// Claims of devices (pod_claim_checks.cc).
void checkPodClaims(const json::Value& claims, const std::string& field, FieldErrors& errors);
/// Those that a container uses, of those of its pod.
void checkContainerClaims(const PodAround& pod, const json::Value& claims, const std::string& field,
                          FieldErrors& errors);

// Resources (resource_checks.cc).
void checkContainerResources(const json::Value& resources, const std::string& field, FieldErrors& errors);
/// Amounts of a node: `field` is "status.capacity".
void checkAmounts(const json::Value& amounts, const std::string& field, FieldErrors& errors);
/// -1, 0, 1: as `a` is to `b`.
[[nodiscard]] int compareAmounts(const json::Value& a, const json::Value& b);

// Volumes and their mounts (volume_checks.cc).
/// `pod_name` "": it is not known. Returns the names of those that are valid.
[[nodiscard]] std::set<std::string, std::less<>> checkVolumes(const json::Value& volumes,
                                                              const std::string& field, FieldErrors& errors);
void checkMounts(const PodAround& pod, const json::Value& container, const std::string& field,
                 FieldErrors& errors);
// What a volume is, of PersistentVolumes too. `field`: "spec.hostPath".
void checkHostPath(const json::Value& source, const std::string& field, FieldErrors& errors);
void checkNfs(const json::Value& source, const std::string& field, FieldErrors& errors);
void checkCsiDriverName(const json::Value& driver, const std::string& field, FieldErrors& errors);

// Where it may go (placement_checks.cc).
void checkAffinity(const json::Value& affinity, const std::string& field, FieldErrors& errors);
/// Nodes that are required: of affinity, and of PersistentVolumes.
void checkNodeSelector(const json::Value& selector, const std::string& field, FieldErrors& errors);
void checkSpread(const json::Value& constraints, const std::string& field, FieldErrors& errors);
void checkTolerations(const json::Value& tolerations, const std::string& field, FieldErrors& errors);
/// Null or one of a taint's effects; `needed`: not null.
void checkTaintEffect(const json::Value& effect, bool needed, const std::string& field, FieldErrors& errors);

// Security contexts (security_checks.cc).
void checkPodSecurity(const json::Value& spec, const std::string& field, FieldErrors& errors);
void checkContainerSecurity(const json::Value& context, bool host_users, const std::string& field,
                            FieldErrors& errors);

// AppArmor (apparmor_checks.cc): a profile stands in a field or in an annotation for each container, where
// kubelets before 1.30 look for it.
[[nodiscard]] bool isAppArmorNote(std::string_view annotation);
/// Null: there is none.
void checkAppArmorProfile(const json::Value& profile, const std::string& field, FieldErrors& errors);
/// Each annotation is of a container, and can be read. `pod` may be a template; its annotations are `field`.
void checkAppArmorNotes(const json::Value& pod, const std::string& field, FieldErrors& errors);
/// Field and annotation say the same, where both are there. `spec_field`: "spec".
void checkAppArmorMatches(const json::Value& pod, const std::string& spec_field, FieldErrors& errors);
/// Of a new pod: what one of them says, the other says then.
void settleAppArmor(json::Value& pod);

// Names, addresses and the like of the whole pod (pod_setting_checks.cc).
void checkPodSettings(const PodAround& pod, const std::string& field, FieldErrors& errors);

}  // namespace gs::apiserver
