// Claims: that pods find a cache by a PersistentVolumeClaim of its name, as GKM's newest examples have it
// (`persistentVolumeClaim: {claimName: <cache>}`), beside the volumes in pods' own specs.
//
// What of a cache's spec asks for one, in which namespaces, and the names that follow from that. A claim of
// ours is bound to a PersistentVolume of ours, one for each namespace: volume and claim name each other
// before the control plane sees either, so no other claim and no other volume is ever bound to them.
//   GKMCache ns/name       claim ns/name, handle gkmcache/ns/name
//   ClusterGKMCache name   in each of spec.workloadNamespaces: claim ns/name, handle clustergkmcache/name/ns
// Handles tell volumes apart: names of Kubernetes have no '/'. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/document.h"
#include "kcache/kinds/state.h"
#include "model/ids.h"

namespace gs::kcache {

/// What the fields of a spec say of claims. They are those of GKM that keeps caches in volumes: of
/// `accessModes`, `storageClassName` and `podTemplate` it counts only that they are there.
struct ClaimWish {
  static constexpr std::size_t kMostNamespaces = 128;  // as the CRD has it

  bool is_wanted = false;               // one of them is there, or `pvc: true`; `pvc: false` goes first
  std::vector<std::string> namespaces;  // of a ClusterGKMCache: ascending, each once, names only
  std::vector<std::string> unused;      // fields, or parts of them, that mean nothing here
  friend bool operator==(const ClaimWish&, const ClaimWish&) = default;
};
[[nodiscard]] ClaimWish claimWishIn(const json::View& spec, bool is_of_cluster);

/// "gkmcache/ns/name" or "clustergkmcache/name/ns": the volume by which pods of that namespace find it.
[[nodiscard]] std::string volumeHandle(const model::ObjectKey& cache, std::string_view ns);
/// What such a handle says.
struct VolumeOf {
  model::ObjectKey cache;
  std::string ns;  // of claim and pods
  /// The claim, which is named like the cache.
  [[nodiscard]] model::ObjectKey claim() const { return {ns, cache.name}; }
  friend bool operator==(const VolumeOf&, const VolumeOf&) = default;
};
/// nullopt: it is none.
[[nodiscard]] std::optional<VolumeOf> parseVolumeHandle(std::string_view handle);
/// Name of the PersistentVolume with that handle: readable as far as there is room, and with a part of the
/// handle's hash, so that no two handles have the same name.
[[nodiscard]] std::string volumeName(std::string_view handle);

/// How the claim of one namespace is, as `status.pvcStatus` shows it by namespace.
struct ClaimStatus {
  std::string volume;
  std::string claim;
  std::optional<Condition> condition;
  friend bool operator==(const ClaimStatus&, const ClaimStatus&) = default;
};

/// What a status says beside how the cache is: conditions behind the first one.
struct Remark {
  enum class Kind : std::uint8_t { ClaimsReady, FieldsUnused };
  Kind kind{};
  bool is_true = false;
  std::string reason;
  std::string message;
  Wall since{};
  friend bool operator==(const Remark&, const Remark&) = default;
};
[[nodiscard]] const char* nameOf(Remark::Kind kind);
/// nullopt: no type of those.
[[nodiscard]] std::optional<Remark::Kind> remarkNamed(std::string_view type);

}  // namespace gs::kcache
