#include "engine/claim_handler.h"

#include "engine/held_devices.h"

namespace gs::engine {

void ClaimHandler::apply(const controller::Change& change) {
  const bool was_shared = isShared(s_.cache.claim(change.key));
  if (const auto claim = change.object.as<model::GpuClaim>()) {
    const model::GpuClaim* known = s_.cache.claim(change.key);
    const bool same = known != nullptr && known->sameBut(*claim);
    if (!s_.cache.putClaim(claim)) { return; }
    if (same) { return s_.touched.claim(change.key); }
  } else {
    s_.cache.removeClaim(change.key);
  }
  s_.touched.claim(change.key);
  const bool other_amounts = isShared(s_.cache.claim(change.key)) != was_shared;
  for (const auto& [uid, pod] : s_.cache.podsOfClaim(change.key)) {
    // Its claim is asked where no lease says (PodDevices).
    if (other_amounts && !s_.leases.shares(uid)) { s_.held.derive(uid); }
    if (other_amounts || !pod.bound) { s_.touched.pod(uid); }  // others have what they were given
  }
}

}  // namespace gs::engine
