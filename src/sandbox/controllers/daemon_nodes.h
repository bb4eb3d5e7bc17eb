// On which nodes a DaemonSet has a pod: as the controller-manager decides it, by name, selector, required
// node affinity and taints. (Preferences count nothing there.) Pure.
#pragma once

#include <string>

#include "json/value.h"

namespace gs::sandbox::controllers {

/// The template's pod for this node: bound to it, since nobody schedules it, and with what every daemon
/// tolerates. It has no name yet.
[[nodiscard]] json::Value daemonPod(const json::Value& set, const std::string& node);

/// Whether a pod like this one (daemonPod()) is to be started on the node.
[[nodiscard]] bool belongsOn(const json::Value& pod, const json::Value& node);
/// Whether one that is there may stay.
[[nodiscard]] bool mayStayOn(const json::Value& pod, const json::Value& node);

}  // namespace gs::sandbox::controllers
