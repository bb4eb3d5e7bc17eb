#include "operator/volume_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "kcache/kinds/claims.h"

namespace gs::gkm {
namespace {

bool isOf(const VolumeClaim& claim, const kcache::Cache* cache, const std::string& handle) {
  return cache != nullptr && claim.handle == handle && claim.cache == cache->uid &&
         claim.volume == kcache::volumeName(handle);
}

bool isOf(const Volume& volume, const kcache::Cache* cache, const std::string& handle) {
  return cache != nullptr && volume.handle == handle && volume.cache == cache->uid;
}

/// A volume that is being deleted waits for its claim to go, and would wait for ever.
bool losesItsVolume(const VolumeSlot& slot) {
  return std::any_of(slot.volumes.begin(), slot.volumes.end(), [&](const Volume* one) {
    return one->is_deleting && one->key.name == slot.claim->volume && one->claim == slot.claim->uid;
  });
}

/// It is for a claim of before, or of nobody.
bool isLeftOver(const Volume& volume, const VolumeSlot& slot, const kcache::Cache* cache,
                const std::string& handle) {
  if (volume.is_deleting || volume.is_bound) { return false; }
  if (!isOf(volume, cache, handle)) { return true; }
  return slot.claim == nullptr ? volume.is_released : slot.claim->uid != volume.claim;
}

}  // namespace

bool wantsClaim(const kcache::Cache& cache, const std::string& ns) {
  if (!cache.wish.is_wanted || cache.is_deleting) { return false; }
  const auto& all = cache.wish.namespaces;
  return cache.key.ns.empty() ? std::binary_search(all.begin(), all.end(), ns) : cache.key.ns == ns;
}

const kcache::Cache* claimantOf(const VolumeSlot& slot) {
  const kcache::Cache* first = nullptr;
  for (const kcache::Cache* one : {slot.own, slot.wide}) {
    if (one == nullptr || !wantsClaim(*one, slot.ns)) { continue; }
    if (slot.claim != nullptr && slot.claim->cache == one->uid) { return one; }
    if (first == nullptr) { first = one; }
  }
  return first;
}

std::vector<std::string> claimNamespaces(const kcache::Cache& cache) {
  if (!cache.wish.is_wanted) { return {}; }
  return cache.key.ns.empty() ? cache.wish.namespaces : std::vector<std::string>{cache.key.ns};
}

ClaimStanding standingOf(const VolumeSlot& slot, const kcache::Cache& cache) {
  const std::string claim = fmt::format("PersistentVolumeClaim {}/{}", slot.ns, cache.key.name);
  if (slot.claim == nullptr) { return {ClaimState::Waiting, claim + " is being made"}; }
  if (slot.claim->is_deleting) {
    return {ClaimState::Going, claim + " is being deleted, and goes when no pod uses it any more"};
  }
  const kcache::Cache* claimant = claimantOf(slot);
  if (claimant != nullptr && claimant->uid != cache.uid && !cache.is_deleting) {
    return {ClaimState::NotOurs, fmt::format("{} is that of {} {}: give one of the two another name", claim,
                                             kcache::cacheKindOf(claimant->key)->name, claimant->key.text())};
  }
  if (slot.claim->is_bound) { return {.state = ClaimState::Bound}; }
  return {ClaimState::Waiting, claim + " is not bound yet"};
}

VolumePlan planOf(const VolumeSlot& slot) {
  const kcache::Cache* cache = claimantOf(slot);
  const std::string handle = cache == nullptr ? "" : kcache::volumeHandle(cache->key, slot.ns);
  const VolumeClaim* claim = slot.claim;
  if (claim != nullptr && !claim->is_deleting && (!isOf(*claim, cache, handle) || losesItsVolume(slot))) {
    return {.act = VolumeAct::DeleteClaim};
  }
  for (const Volume* one : slot.volumes) {
    if (isLeftOver(*one, slot, cache, handle)) { return {.act = VolumeAct::DeleteVolume, .volume = one}; }
  }
  if (cache == nullptr || (claim != nullptr && claim->is_deleting)) { return {}; }
  if (claim == nullptr) { return {.act = VolumeAct::CreateClaim, .cache = cache}; }
  const bool has_volume = std::any_of(slot.volumes.begin(), slot.volumes.end(),
                                      [&](const Volume* one) { return one->handle == handle; });
  return has_volume ? VolumePlan{} : VolumePlan{.act = VolumeAct::CreateVolume, .cache = cache};
}

}  // namespace gs::gkm
