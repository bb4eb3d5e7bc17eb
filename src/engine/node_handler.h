// Nodes, and what their agents and DRA drivers say of their GPUs (GpuNodeStatus, ResourceSlice).
//
// They come by watches of their own, in any order. A status counts while it is of the Node of that name
// that is known, or while none is: its owner says so by uid. Others are set aside, for the Node may yet come;
// the newest of a name stands. So a status of a Node that went says nothing of the one that took its name.
// One that is no report (model::GpuNodeStatus::isReport()) is as good as none.
// A new status may mean other devices by the same ids: whoever holds some is derived anew.
// A slice or a taint rule may concern many nodes: these are looked at some at a time, in tick().
// A node's GPUs are its driver's from the first slices on, or while its GpuNodeStatus says `dra`; without
// whole slices nothing of it is given (NodeDevices). It is its driver's no more once it publishes nothing and
//   - the Node offers the same resource, by a device plugin, and no ResourceClaim holds devices there, or
//   - the Node has been gone for some minutes, or
//   - the watch said that somebody deleted the GpuNodeStatus of the Node that is there.
// One thread.
#pragma once

#include <optional>
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
  void applySlice(const controller::Change& change, Mono now) { see(s_.node_devices.publish(change), now); }
  void applyTaintRule(const controller::Change& change, Mono now) { see(s_.node_devices.taint(change), now); }
  /// Looks at the next nodes whose devices may be others.
  void tick(Mono now);
  /// When some are left: at once.
  [[nodiscard]] std::optional<Mono> nextDue() const {
    if (!unseen_.empty()) { return unseen_since_; }
    return s_.node_devices.away().empty() ? std::nullopt : std::optional{look_at_away_};
  }

 private:
  [[nodiscard]] bool isThere(const model::NodeName& name) const;
  [[nodiscard]] bool isOfItsNode(const model::GpuNodeStatus& status) const;
  void report(const model::NodeName& name, const model::Ptr<model::GpuNodeStatus>& status, Mono now);
  void show(const model::NodeName& name, bool report_went, Mono now);
  void statusDeleted(const model::NodeName& name, Mono now);
  void followDriver(const model::NodeName& name, Mono now);
  [[nodiscard]] bool hasLeft(const model::NodeName& name, Mono now) const;
  [[nodiscard]] bool offersPlugin(const sched::NodeState& node) const;
  [[nodiscard]] bool hasClaims(const sched::NodeState& node) const;
  void see(dra::NodeNames nodes, Mono now);
  void lookAt(const model::NodeName& name, Mono now);
  void settleStatus(const model::NodeName& name, Mono now);
  void takeStatus(const model::Ptr<model::GpuNodeStatus>& status, Mono now);
  void dropStatus(const model::NodeName& name, Mono now);
  void renumbered(const model::NodeName& name);
  void touchHolders(const model::NodeName& name, const std::vector<int>& ids);
  void userChanged(const model::Uid& uid);

  EngineState& s_;
  /// Statuses that count for nothing: their owner is not the Node of that name that is known.
  std::unordered_map<model::NodeName, model::Ptr<model::GpuNodeStatus>> aside_;
  dra::NodeNames unseen_;  // nodes whose devices may be others
  Mono unseen_since_{};
  Mono look_at_away_{};  // at the nodes whose drivers are away, when there are any
};

}  // namespace gs::engine
