// From which nodes a volume can be reached, by their labels.
#pragma once

#include <string>
#include <vector>

#include "model/volumes.h"

namespace gs::sched {

/// Volumes that can be reached only from nodes with one of these values of that label are looked for there
/// alone. No key: they are looked for everywhere.
struct Pin {
  std::string key;
  std::vector<std::string> values;
  friend bool operator==(const Pin&, const Pin&) = default;
};

[[nodiscard]] bool isReachedFrom(const model::VolumeAffinity& affinity, const model::Labels& node);
[[nodiscard]] Pin pinOf(const model::VolumeAffinity& affinity);
[[nodiscard]] Pin pinOf(const model::LabelSelector& nodes);

}  // namespace gs::sched
