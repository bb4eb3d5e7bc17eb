// Persistent volumes, claims, classes and what CSI drivers say of nodes: kept in sched::Volumes, which says
// which pods that wait are to be asked anew. One thread.
#pragma once

#include "controller/reflector.h"
#include "engine/engine_state.h"

namespace gs::engine {

class VolumeHandler {
 public:
  explicit VolumeHandler(EngineState& state) : s_{state} {}

  void applyVolume(const controller::Change& change) {
    touch(s_.volumes.putVolume(change.key.name, change.object.as<model::PersistentVolume>()));
  }
  void applyClaim(const controller::Change& change) {
    touch(s_.volumes.putClaim(change.key, change.object.as<model::PersistentVolumeClaim>()));
  }
  void applyClass(const controller::Change& change) {
    touch(s_.volumes.putClass(change.key.name, change.object.as<model::StorageClass>()));
  }
  void applyCsiNode(const controller::Change& change) {
    s_.volumes.putCsiNode(model::NodeName{change.key.name}, change.object.as<model::CsiNode>());
  }
  void applyDriver(const controller::Change& change) {
    touch(s_.volumes.putDriver(change.key.name, change.object.as<model::CsiDriver>()));
  }
  void applyCapacity(const controller::Change& change) {
    touch(s_.volumes.putCapacity(change.key, change.object.as<model::CsiStorageCapacity>()));
  }
  void applyAttachment(const controller::Change& change) {
    s_.volumes.putAttachment(change.key.name, change.object.as<model::VolumeAttachment>());
  }
  /// What was chosen for a pod counts from now on, or no more (sched::Volumes).
  void assume(const model::Pod& pod, const model::NodeName& node, const sched::VolumeChoices& choices) {
    touch(s_.volumes.assume(pod, node, choices));
  }
  void forget(const model::Uid& pod) { touch(s_.volumes.forget(pod)); }

 private:
  void touch(const sched::Volumes::Pods& pods) {
    for (const auto& uid : pods) { s_.touched.pod(uid); }
  }

  EngineState& s_;
};

}  // namespace gs::engine
