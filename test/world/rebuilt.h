// The ledger that a fresh engine makes of the API's objects alone: what a live one must equal.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "engine/engine.h"
#include "kapi/decode.h"
#include "kapi/kinds.h"
#include "sandbox/world/world.h"

namespace gs::test {

/// What objects were decoded to, for who rebuilds again and again.
using Decoded = std::map<apiserver::StoreKey, std::pair<apiserver::ObjectPtr, model::Object>>;

/// Reads what is stored, without a request: time goes on as if nobody had looked.
[[nodiscard]] inline std::unique_ptr<engine::Engine> rebuiltEngine(sandbox::World& world, Decoded& decoded) {
  auto fresh = std::make_unique<engine::Engine>();
  const auto feed = [&](const char* resource, kapi::Kind kind) {
    const auto [first, last] = world.api().store().range(resource);
    for (auto it = first; it != last; ++it) {
      auto& [stored, object] = decoded[it->first];
      if (stored != it->second.object) {
        stored = it->second.object;
        object = kapi::decodeObject(kind, *stored);
      }
      fresh->apply({kind, object.key(), object.uid(), object, object.revision()}, world.now().mono);
    }
  };
  feed("/nodes", kapi::kNode);
  feed("gpu.scheduling/gpunodestatuses", kapi::kGpuNodeStatus);
  feed("gpu.scheduling/gpuclaims", kapi::kGpuClaim);
  feed("coordination.k8s.io/leases", kapi::kLease);  // of those only the managed ones count
  feed("/pods", kapi::kPod);
  fresh->synced(world.now().mono);
  return fresh;
}

[[nodiscard]] inline std::unique_ptr<engine::Engine> rebuiltEngine(sandbox::World& world) {
  Decoded none;
  return rebuiltEngine(world, none);
}

[[nodiscard]] inline std::string rebuiltLedger(sandbox::World& world) {
  return rebuiltEngine(world)->ledger().dump(false);
}

}  // namespace gs::test
