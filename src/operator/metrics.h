// Names of the metrics that gkm-operator and gkm-agent give as effects (docs/use/gkm-operator.md,
// docs/use/gkm-agent.md).
#pragma once

#include <string>
#include <utility>

#include "kapi/call.h"

namespace gs::gkm {

/// `state`: Pending, Extracted, Running and so on (docs/reference/conditions.md), None (no status yet).
inline constexpr const char* kCaches = "gkm_operator_caches";
inline constexpr const char* kDeletingCaches = "gkm_operator_deleting_caches";
inline constexpr const char* kNodeObjects = "gkm_operator_node_objects";
inline constexpr const char* kLostNodeObjects = "gkm_operator_lost_node_objects";
/// `what`: status and finalizer of caches, claim, volume, release and deletion of node objects. `result`:
/// written, failed.
inline constexpr const char* kWrites = "gkm_operator_writes_total";

/// `what`: object, label, status, finalizer, deletion. `result`: written, failed.
inline constexpr const char* kNodeWrites = "gkm_agent_writes_total";

/// One more of `metric`, one of the two above.
inline kapi::Metric countWrite(const char* metric, std::string what, bool is_written) {
  return {kapi::MetricOp::Add,
          metric,
          {{"what", std::move(what)}, {"result", is_written ? "written" : "failed"}},
          1};
}

}  // namespace gs::gkm
