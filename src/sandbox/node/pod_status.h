// A pod's JSON and its lifecycle (pod_lifecycle.h): what a kubelet reads of a pod,
// and the status that it writes. Pure.
#pragma once

#include <string>

#include "json/value.h"
#include "sandbox/node/pod_lifecycle.h"

namespace gs::sandbox {

[[nodiscard]] PodView viewOf(const json::Value& pod);

/// The parts of `pod`'s status that the report is about: phase, conditions, containers. Times as Kubernetes
/// writes them; `started` "": its containers never were.
[[nodiscard]] json::Value statusOf(const PodReport& report, const json::Value& pod,
                                   const std::string& started, const std::string& now);
/// Adds what a pod that starts has from its node; `host` "": the node has no address.
void setAddresses(json::Value& status, const std::string& address, const std::string& host);

}  // namespace gs::sandbox
