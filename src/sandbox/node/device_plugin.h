// A node's device plugin as its kubelet meets it: asked when a bound pod is taken, before its status says
// anything, and again just before its containers start. A refusal is the reason and message of the pod's
// Failed status.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "json/value.h"

namespace gs::sandbox {

class DevicePlugin {
 public:
  struct Refusal {
    std::string reason;
    std::string message;
  };

  virtual ~DevicePlugin() = default;
  /// After its Binding the kubelet takes the pod so much later; asked once of each pod.
  [[nodiscard]] virtual Duration takenAfter() = 0;
  /// The kubelet takes the pod: devices for all its containers.
  [[nodiscard]] virtual std::optional<Refusal> allocate(const json::Value& pod, Now now) = 0;
  /// Its containers are about to start; may write to the pod.
  [[nodiscard]] virtual std::optional<Refusal> preStart(const json::Value& pod, Now now) = 0;
};

}  // namespace gs::sandbox
