// Pods: what a new version of one, or its end, changes in the ledger and for others.
//
// A pod that came, changed or went is derived anew, its use of its node follows, and what it held when it
// ended drains. Besides: what it is to pods that speak of others (near_pods.h), whether it is an agent, and
// whether its leases are remembered any longer.
// A version that is not newer than the one that is known changes nothing. One thread.
#pragma once

#include "base/clock.h"
#include "controller/reflector.h"
#include "engine/engine_state.h"

namespace gs::engine {

class PodHandler {
 public:
  explicit PodHandler(EngineState& state) : s_{state} {}

  void apply(const controller::Change& change, Mono now);
  void put(const model::PodPtr& pod, Mono now) { put(pod, s_.devices.read(*pod), now); }
  void gone(const model::Uid& uid, Mono now) { gone(uid, nullptr, now); }

 private:
  void put(const model::PodPtr& pod, const sched::Holdings& said, Mono now);
  /// `said`: by the version that is known; nullptr: not read yet.
  void gone(const model::Uid& uid, const sched::Holdings* said, Mono now);
  /// `said`: what `after` says that it holds, or `before` where that is nullptr.
  void changed(const model::PodPtr& before, const model::Pod* after, const sched::Holdings& said, Mono now);
  void lives(const model::Pod& pod);
  void agentChanged(const model::Pod& agent, bool over, Mono now);

  EngineState& s_;
};

}  // namespace gs::engine
