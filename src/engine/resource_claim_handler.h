// ResourceClaims: what they allocate is held, whoever allocated it (allocated_claims.h). One thread.
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
  void put(const model::Ptr<model::ResourceClaim>& claim) { deriveAnew(s_, s_.claims.put(claim)); }
  void gone(const model::ObjectKey& key, const model::Uid& uid) {
    deriveAnew(s_, s_.claims.remove(key, uid));
  }

 private:
  EngineState& s_;
};

}  // namespace gs::engine
