// A DRA driver as kubelets meet it: before the containers of a pod start, it prepares what the pod's
// ResourceClaims were allocated on its node. The containers see that and nothing else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "json/value.h"

namespace gs::sandbox {

class DeviceDriver {
 public:
  virtual ~DeviceDriver() = default;
  /// It is to prepare what this bound pod has, or its devices are on the pod's node.
  [[nodiscard]] virtual bool serves(const json::Value& pod) const = 0;
  /// What the pod's containers have from now on, by UUID; empty: nothing was asked of it. nullopt: it cannot
  /// be had now; they wait, and it is asked again after
  /// PodTimes::prepare_again, or when the pod changes.
  [[nodiscard]] virtual std::optional<std::vector<std::string>> prepare(const json::Value& pod) = 0;
};

}  // namespace gs::sandbox
