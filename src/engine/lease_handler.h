// Leases: who holds which device by them.
//
// A lease that came, changed or went concerns the pods that it names, and named before: each is derived anew.
// A pod that has ended by then, or is gone, may have held the device too, so that drains: pods are listed
// before leases. Leases that nobody of ours wrote (Lease::managed) are no concern of ours. One thread.
#pragma once

#include "base/clock.h"
#include "controller/reflector.h"
#include "engine/engine_state.h"

namespace gs::engine {

class LeaseHandler {
 public:
  explicit LeaseHandler(EngineState& state) : s_{state} {}

  void apply(const controller::Change& change, Mono now);
  void put(const model::Ptr<model::Lease>& lease, Mono now);
  /// See Cache::removeLease().
  void gone(const model::ObjectKey& key, const model::Uid& uid, model::Revision revision);
  /// See LeaseMemory::place().
  void place(const model::ObjectKey& key, const model::NodeName& node, int gpu);

 private:
  void changedOf(const model::Uid& uid, bool is_new, Mono now);
  void deriveAnew(const model::Uid& uid);

  EngineState& s_;
};

}  // namespace gs::engine
