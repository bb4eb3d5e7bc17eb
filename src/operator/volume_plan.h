// What is to be done about one claim by which pods find a cache, and the volumes behind it: a pure decision,
// one write at a time, in this order.
//
//   a claim that is not of the cache that has the name now goes (the API server keeps it while pods use it)
//   a volume that is for no such claim goes, once the control plane says that it is not bound
//   the claim is made, then its volume, which is for that claim's uid and so for nobody else's
//
// Of a GKMCache and a ClusterGKMCache that would have one claim, the one that has it keeps it, else the
// GKMCache gets it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "operator/volume_kinds.h"

namespace gs::gkm {

/// What is known about the claim `ns/name`.
struct VolumeSlot {
  std::string ns;
  const kcache::Cache* own = nullptr;   // the GKMCache of that name there; nullptr: none
  const kcache::Cache* wide = nullptr;  // the ClusterGKMCache of that name
  const VolumeClaim* claim = nullptr;
  std::vector<const Volume*> volumes{};  // whose handles name that claim
};

enum class VolumeAct : std::uint8_t { Nothing, CreateClaim, CreateVolume, DeleteClaim, DeleteVolume };

struct VolumePlan {
  VolumeAct act = VolumeAct::Nothing;
  const kcache::Cache* cache = nullptr;  // of the creations
  const Volume* volume = nullptr;        // of DeleteVolume
};

/// How the claim of a cache in one namespace is.
enum class ClaimState : std::uint8_t {
  Bound,        // pods find the cache by it
  Waiting,      // it is made, or the control plane binds it
  Going,        // pods use one that is being deleted
  NoNamespace,  // there is no such namespace, or it is being deleted
  Refused,      // the API server takes claim or volume from nobody, or not from us
  NotOurs       // there is one of that name that is of somebody else; it is left alone
};
struct ClaimStanding {
  ClaimState state = ClaimState::Waiting;
  std::string why{};  // "" of Bound
  friend bool operator==(const ClaimStanding&, const ClaimStanding&) = default;
};
using ClaimStandings = std::map<std::string, ClaimStanding, std::less<>>;  // by namespace

/// The namespaces in which the cache is to be found by a claim, or was until it was deleted.
[[nodiscard]] std::vector<std::string> claimNamespaces(const kcache::Cache& cache);
/// How that cache's claim is, as far as objects tell: never NoNamespace or Refused.
[[nodiscard]] ClaimStanding standingOf(const VolumeSlot& slot, const kcache::Cache& cache);
/// The cache wants to be found by a claim in that namespace.
[[nodiscard]] bool wantsClaim(const kcache::Cache& cache, const std::string& ns);
/// Whose claim that is, or will be; nullptr: nobody's.
[[nodiscard]] const kcache::Cache* claimantOf(const VolumeSlot& slot);
[[nodiscard]] VolumePlan planOf(const VolumeSlot& slot);

}  // namespace gs::gkm
