// GpuClaims: what their pods ask for, and whether they share. Where only the status of a claim was written,
// by us or somebody else, nothing changes for its pods. One thread.
#pragma once

#include "controller/reflector.h"
#include "engine/engine_state.h"

namespace gs::engine {

class ClaimHandler {
 public:
  explicit ClaimHandler(EngineState& state) : s_{state} {}

  void apply(const controller::Change& change);

 private:
  EngineState& s_;
};

}  // namespace gs::engine
