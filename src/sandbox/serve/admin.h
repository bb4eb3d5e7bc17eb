// The sandbox's own paths, beside the Kubernetes API: what happens to machines, as `gpu-sandbox node` and
// `gpu-sandbox gpu` ask for it.
//
//   POST   /sandbox/v1/nodes                      a node file as JSON: these nodes are added
//   DELETE /sandbox/v1/nodes/NAME                 the machine goes
//   POST   /sandbox/v1/nodes/NAME/drain           cordoned, and its pods evicted; answers who is left:
//                                                 {"left":[..]}
//   POST   /sandbox/v1/nodes/NAME/gpus/ID/fail    {"xid":79}
//   POST   /sandbox/v1/nodes/NAME/gpus/ID/repair
#pragma once

#include <optional>

#include "apiserver/handlers/api.h"
#include "sandbox/world/world.h"

namespace gs::sandbox {

/// nullopt: not one of these paths. Answers are Status bodies.
[[nodiscard]] std::optional<apiserver::Response> admin(World& world, const apiserver::Request& request);

}  // namespace gs::sandbox
