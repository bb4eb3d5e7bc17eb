// Drawn pods, bound ones and the one that is asked about.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "json/value.h"
#include "test/filters/fields.h"

namespace gs::filters {

/// What all pods of a case are drawn for.
struct Scene {
  Fields fields = 0;  // that this case is about
  Release release{};
  std::uint64_t nodes = 0;  // node-0, node-1 ...
};

/// `node`: it is bound there; "": it is the one that is asked about. Without volumes.
[[nodiscard]] json::Value drawPod(Rng& rng, const Scene& scene, const std::string& name,
                                  const std::string& node);

}  // namespace gs::filters
