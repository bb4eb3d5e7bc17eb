// The ledger that a fresh engine makes of the API's objects alone: what a live one must equal.
#pragma once

#include <string>

#include "engine/engine.h"
#include "kapi/decode.h"
#include "sandbox/world.h"

namespace gs::test {

[[nodiscard]] inline std::string rebuiltLedger(sandbox::World& world) {
  engine::Engine fresh;
  const auto feed = [&](const std::string& path, model::Kind kind) {
    for (const auto& item : world.get(path)["items"].items()) {
      model::Object object = kapi::decodeObject(kind, item);
      fresh.apply({kind, kapi::keyOf(object), kapi::uidOf(object), object, kapi::revisionOf(object)},
                  world.now().mono);
    }
  };
  feed("/api/v1/nodes", model::Kind::Node);
  feed("/apis/gpu.scheduling/v1/gpunodestatuses", model::Kind::GpuNodeStatus);
  feed("/apis/gpu.scheduling/v1/gpuclaims", model::Kind::GpuClaim);
  feed("/apis/coordination.k8s.io/v1/leases?labelSelector=gpu.scheduling%2Fmanaged%3Dtrue",
       model::Kind::Lease);
  feed("/api/v1/pods", model::Kind::Pod);
  fresh.synced(world.now().mono);
  return fresh.ledger().dump(false);
}

}  // namespace gs::test
