// Nodes, and what their agents say of their GPUs (GpuNodeStatus).
//
// The two come by watches of their own, in any order. A status counts while it is of the Node of that name
// that is known, or while none is: its owner says so by uid. Others are set aside, for the Node may yet come;
// the newest of a name stands. So a status of a Node that went says nothing of the one that took its name.
// A new status may mean other devices by the same ids: whoever holds some is derived anew. One thread.
#pragma once

#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "controller/reflector.h"
#include "engine/engine_state.h"

namespace gs::engine {

class NodeHandler {
 public:
  explicit NodeHandler(EngineState& state) : s_{state} {}

  void applyNode(const controller::Change& change, Mono now);
  void applyStatus(const controller::Change& change, Mono now);

 private:
  [[nodiscard]] bool isThere(const model::NodeName& name) const;
  [[nodiscard]] bool isOfItsNode(const model::GpuNodeStatus& status) const;
  void settleStatus(const model::NodeName& name, Mono now);
  void takeStatus(const model::Ptr<model::GpuNodeStatus>& status, Mono now);
  void dropStatus(const model::NodeName& name, Mono now);
  void renumbered(const model::NodeName& name);
  void touchHolders(const model::NodeName& name, const std::vector<int>& ids);
  void userChanged(const model::Uid& uid);

  EngineState& s_;
  /// Statuses that count for nothing: their owner is not the Node of that name that is known.
  std::unordered_map<model::NodeName, model::Ptr<model::GpuNodeStatus>> aside_;
};

}  // namespace gs::engine
