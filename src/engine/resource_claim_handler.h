// ResourceClaims and DeviceClasses: what claims allocate is held, whoever allocated it (allocated_claims.h),
// and pods that name them wait for what they ask for (device_claims.h). One thread.
#pragma once

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

  void apply(const controller::Change& change) {
    const auto claim = change.object.as<model::ResourceClaim>();
    if (claim == nullptr) { return gone(change.key, change.last_uid); }
    put(claim);
  }
  void applyClass(const controller::Change& change) { touch(s_.device_claims.classChanged(change)); }
  void mayList(kapi::Kind kind, bool may) { touch(s_.device_claims.mayList(kind, may)); }
  void put(const model::Ptr<model::ResourceClaim>& claim) {
    const auto before = s_.claims.findPtr(claim->key);
    deriveAnew(s_, s_.claims.put(claim));
    if (before == nullptr || !isTheSame(*before, *claim)) { touch(s_.device_claims.waitingFor(claim->key)); }
    if (before != nullptr && before->reserved_for != claim->reserved_for) { sharedAnew(*before); }
  }
  void gone(const model::ObjectKey& key, const model::Uid& uid) {
    const auto before = s_.claims.findPtr(key);
    deriveAnew(s_, s_.claims.remove(key, uid));
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
