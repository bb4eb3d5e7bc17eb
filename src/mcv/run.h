// mcv itself: carries out what the options say.
#pragma once

#include <functional>
#include <iosfwd>

#include "base/clock.h"
#include "base/random.h"
#include "cacherim/registry/pause.h"
#include "mcv/extract.h"
#include "mcv/options.h"
#include "noderim/gpu_source.h"

namespace gs::mcv {

/// What it works on. All of it outlives run().
struct Surroundings {
  noderim::GpuSource& gpus;
  Environment environment;
  const Clock& clock;
  cacherim::Pause& pause;  // between two tries at a registry
  Rng rng;                 // spreads them
  std::ostream& out;       // what was asked
  std::ostream& err;       // what is wrong, a line each
  /// Shows how far things are; nullptr: nobody looks.
  std::ostream* terminal = nullptr;
};

/// The exit status.
[[nodiscard]] int run(const Options& options, const Surroundings& in);

}  // namespace gs::mcv
