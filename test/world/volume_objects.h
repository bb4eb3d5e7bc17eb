// Volumes that tests create, as their users and administrators would write them: classes, volumes that are
// there, claims, and pods that name these. Who binds and makes volumes is simulated (World::Options'
// controllers; sandbox/controllers/provisioner.h has what can go wrong).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "json/value.h"
#include "sandbox/controllers/provisioner.h"

namespace gs::test {

inline const std::string kVolumeClaims = "/api/v1/namespaces/default/persistentvolumeclaims/";
inline const std::string kVolumes = "/api/v1/persistentvolumes/";
inline constexpr const char* kSelectedNode = "volume.kubernetes.io/selected-node";

/// Its volumes are made once a pod of theirs has a node. `parameters`: what goes wrong.
[[nodiscard]] inline json::Value storageClass(const std::string& name, json::Object parameters = {},
                                              const char* provisioner = sandbox::controllers::kProvisioner) {
  json::Value out = json::Object{{"apiVersion", "storage.k8s.io/v1"},
                                 {"kind", "StorageClass"},
                                 {"metadata", json::Object{{"name", name}}},
                                 {"provisioner", provisioner},
                                 {"volumeBindingMode", "WaitForFirstConsumer"}};
  if (!parameters.empty()) { out.set("parameters", std::move(parameters)); }
  return out;
}
/// Class "local": its volumes are there, or not.
[[nodiscard]] inline json::Value localClass() {
  return storageClass("local", {}, "kubernetes.io/no-provisioner");
}
/// Of class "local"; only that node reaches it.
[[nodiscard]] inline json::Value localVolume(const std::string& name, const std::string& node) {
  const json::Object requirement{
      {"key", "kubernetes.io/hostname"}, {"operator", "In"}, {"values", json::Array{json::Value{node}}}};
  const json::Object term{{"matchExpressions", json::Array{json::Value{requirement}}}};
  const json::Object required{{"nodeSelectorTerms", json::Array{json::Value{term}}}};
  return json::Object{{"apiVersion", "v1"},
                      {"kind", "PersistentVolume"},
                      {"metadata", json::Object{{"name", name}}},
                      {"spec", json::Object{{"capacity", json::Object{{"storage", "10Gi"}}},
                                            {"accessModes", json::Array{json::Value{"ReadWriteOnce"}}},
                                            {"persistentVolumeReclaimPolicy", "Retain"},
                                            {"storageClassName", "local"},
                                            {"local", json::Object{{"path", "/mnt/" + name}}},
                                            {"nodeAffinity", json::Object{{"required", required}}}}}};
}

[[nodiscard]] inline json::Value volumeClaim(const std::string& name, const std::string& of,
                                             const std::string& ns = "default",
                                             const char* mode = "ReadWriteOnce") {
  const json::Object amount{{"storage", "10Gi"}};
  return json::Object{{"apiVersion", "v1"},
                      {"kind", "PersistentVolumeClaim"},
                      {"metadata", json::Object{{"name", name}, {"namespace", ns}}},
                      {"spec", json::Object{{"accessModes", json::Array{json::Value{mode}}},
                                            {"storageClassName", of},
                                            {"resources", json::Object{{"requests", amount}}}}}};
}

/// Adds volumes of these claims to a pod.
[[nodiscard]] inline json::Value withVolumes(json::Value pod, const std::vector<std::string>& claims) {
  json::Array volumes;
  for (const auto& name : claims) {
    volumes.emplace_back(json::Object{{"name", "v" + std::to_string(volumes.size())},
                                      {"persistentVolumeClaim", json::Object{{"claimName", name}}}});
  }
  pod.child("spec").set("volumes", std::move(volumes));
  return pod;
}

/// The controllers say so.
[[nodiscard]] inline bool isBoundClaim(const json::Value& claim) {
  return !claim["spec"]["volumeName"].str().empty() &&
         claim["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"].isString();
}

}  // namespace gs::test
