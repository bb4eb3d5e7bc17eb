// ResourceClaims and DeviceClasses: what claims allocate is held, whoever allocated it (allocated_claims.h),
// and pods that name them wait for what they ask for (device_claims.h). What a pod had by one that gives it
// no more it has until it ends (claim_memory.h). One thread.
#pragma once

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "controller/reflector.h"
#include "engine/engine_state.h"

namespace gs::engine {

/// Claims may give these others devices now.
inline void deriveAnew(EngineState& state, const AllocatedClaims::Holders& holders) {
  for (const auto& uid : holders) {
    state.held.derive(uid);
    state.touched.pod(uid);
  }
}

class ResourceClaimHandler {
 public:
  explicit ResourceClaimHandler(EngineState& state) : s_{state} {}

  void apply(const controller::Change& change, Mono now) {
    const auto claim = change.object.as<model::ResourceClaim>();
    if (claim == nullptr) { return gone(change.key, change.last_uid, now); }
    put(claim, now);
  }
  void applyClass(const controller::Change& change) { touch(s_.device_claims.classChanged(change)); }
  void mayList(kapi::Kind kind, bool may) { touch(s_.device_claims.mayList(kind, may)); }
  void put(const model::Ptr<model::ResourceClaim>& claim, Mono now) {
    const auto before = s_.claims.findPtr(claim->key);
    const auto holders = s_.claims.put(claim);
    remember(before, s_.claims.findPtr(claim->key), now);
    deriveAnew(s_, holders);
    if (before == nullptr || !isTheSame(*before, *claim)) { touch(s_.device_claims.waitingFor(claim->key)); }
    if (before != nullptr && before->reserved_for != claim->reserved_for) { sharedAnew(*before); }
  }
  void gone(const model::ObjectKey& key, const model::Uid& uid, Mono now) {
    const auto before = s_.claims.findPtr(key);
    const auto holders = s_.claims.remove(key, uid);
    remember(before, s_.claims.findPtr(key), now);
    deriveAnew(s_, holders);
    if (before != nullptr) { sharedAnew(*before); }
    touch(s_.device_claims.waitingFor(key));
  }

 private:
  /// For pods that wait for it: users may write its labels and annotations as often as they like, and many
  /// pods that share it may come and go. (Those that it is reserved for hear of that anyway.)
  static bool isTheSame(const model::ResourceClaim& a, const model::ResourceClaim& b) {
    const auto is_full = [](const auto& c) { return c.reserved_for.size() >= model::kMaxReservedFor; };
    return a.uid == b.uid && a.allocated == b.allocated && a.results == b.results &&
           is_full(a) == is_full(b) && a.deleting == b.deleting && a.owner_pod == b.owner_pod;
  }
  using Claim = model::Ptr<model::ResourceClaim>;
  static std::vector<model::DeviceName> heldBy(const model::ResourceClaim& claim) {
    std::vector<model::DeviceName> out;
    for (const auto& result : claim.results) {
      if (!result.admin) { out.push_back(result.device); }
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }
  /// What the claim gives its pods no more, they may have all the same.
  void remember(const Claim& before, const Claim& after, Mono now) {
    if (before == after) { return; }
    const auto holders = after == nullptr ? AllocatedClaims::Holders{} : AllocatedClaims::holdersOf(*after);
    for (const auto& uid : holders) { s_.taken.gives(uid, after->key); }
    if (before == nullptr) { return; }
    for (const auto& uid : AllocatedClaims::holdersOf(*before)) {
      std::vector<model::DeviceName> taken = heldBy(*before);
      if (after != nullptr && after->uid == before->uid && holders.contains(uid)) {
        const auto had = std::exchange(taken, {});
        const auto has = heldBy(*after);
        std::set_difference(had.begin(), had.end(), has.begin(), has.end(), std::back_inserter(taken));
      }
      if (uid != before->uid) { take(uid, *before, taken, now); }  // else nobody had them
    }
  }
  void take(const model::Uid& uid, const model::ResourceClaim& claim,
            const std::vector<model::DeviceName>& taken, Mono now) {
    const model::Pod* pod = s_.cache.pod(uid);
    if (taken.empty() || (pod != nullptr ? pod->finished() : s_.ends.isKnown(uid))) { return; }
    s_.taken.took(uid, claim, taken, now);
    s_.ends.tookFromUnknown(uid, now);
  }
  /// Whether somebody shares a device is nothing that the ledger knows: its node is looked at again.
  void sharedAnew(const model::ResourceClaim& before) {
    if (!before.allocated) { return; }
    for (const auto& result : before.results) {
      const auto* places = s_.claims.placesOf(result.device);
      if (places == nullptr) { continue; }
      for (const auto& [node, id] : *places) { s_.ledger.publishedAnew(node); }
    }
  }
  void touch(const DeviceClaims::Pods& pods) {
    for (const auto& uid : pods) { s_.touched.pod(uid); }
  }

  EngineState& s_;
};

}  // namespace gs::engine
