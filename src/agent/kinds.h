// The agent's own GpuNodeStatus as it stands in the API: all that the agent writes there, so that it can
// write it again. (What schedulers read of it is model::GpuNodeStatus.)
#pragma once

#include <string>

#include "agent/status.h"
#include "kapi/kind.h"

namespace gs::agent {

struct OwnStatus {
  model::NodeName node;
  model::Uid uid;
  model::Revision revision = 0;
  model::Uid owner;  // uid of the Node that owns it; "" none
  NodeView view;     // its devices sorted by id, each once
  std::string observed_time;
  std::string boot_id;  // of the machine, when the agent started that wrote it; "" not known
  model::Writer writer = model::Writer::Unsaid;
  /// Nobody looked at the node: its GPUs are what the scheduler knows of it, and `view` is empty.
  bool repeats_driver = false;
  bool says_dra = false;  // status.enforcement; that word is the scheduler's
  friend bool operator==(const OwnStatus&, const OwnStatus&) = default;
};
[[nodiscard]] inline model::ObjectKey keyOf(const OwnStatus& status) { return {"", status.node.text}; }

extern const kapi::Kind kOwnStatus;

}  // namespace gs::agent
