// Persistent volumes, claims, classes and what CSI drivers say of nodes: kept in sched::Volumes, which says
// which pods that wait are to be asked anew. Where one of these kinds may not be listed no pod with a claim
// is placed: nobody knows where its volume can be reached, or how many its node takes. One thread.
#pragma once

#include <algorithm>
#include <array>

#include "controller/reflector.h"
#include "engine/engine_state.h"
#include "engine/unlisted.h"
#include "kapi/kinds.h"

namespace gs::engine {

class VolumeHandler {
 public:
  explicit VolumeHandler(EngineState& state) : s_{state} {}

  [[nodiscard]] static bool reads(kapi::Kind kind) {
    static const std::array kKinds{
        kapi::kPersistentVolume, kapi::kPersistentVolumeClaim, kapi::kStorageClass,    kapi::kCsiNode,
        kapi::kCsiDriver,        kapi::kCsiStorageCapacity,    kapi::kVolumeAttachment};
    return std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end();
  }
  void mayList(kapi::Kind kind, bool may) {
    if (unlisted_.mayList(kind, may)) { touch(s_.volumes.waiting()); }
  }
  /// What the volumes of a pod ask for.
  [[nodiscard]] sched::VolumeSelections::Said asked(const model::Pod& pod) {
    auto why = pod.volume_claims.empty() ? sched::Blocked{} : unlisted_.whyAny();
    return why.kind.empty() ? s_.volume_selections.of(pod)
                            : sched::VolumeSelections::Said{nullptr, std::move(why)};
  }
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
    s_.volumes.putDriver(change.key.name, change.object.as<model::CsiDriver>());
  }
  void applyCapacity(const controller::Change& change) {
    s_.volumes.putCapacity(change.key, change.object.as<model::CsiStorageCapacity>());
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
  Unlisted unlisted_;
};

}  // namespace gs::engine
