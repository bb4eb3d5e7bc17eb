// What a pod of this node says that we gave it, in its annotations: only a claim, whatever is written there.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/device_id.h"
#include "model/ids.h"
#include "model/pod.h"

namespace gs::agent {

struct Said {
  std::string allocated;                 // as it stands there
  std::string reservation;               // likewise; "" it says none
  std::vector<model::DeviceId> devices;  // ascending; none: it was given a count, and no devices by name
  std::string mistake;                   // why that is no claim that could be true: a sentence; "" it may be
  friend bool operator==(const Said&, const Said&) = default;
};

/// nullopt: it has none of our annotations.
[[nodiscard]] std::optional<Said> saidBy(const model::Pod& pod, const model::NodeName& node);

}  // namespace gs::agent
