// What a cluster to try things on begins with: a default StorageClass, whose volumes the sandbox makes as
// soon as a pod that wants one has a node (sandbox/controllers/provisioner.h), and two PriorityClasses.
#pragma once

#include <vector>

#include "json/value.h"

namespace gs::sandbox {

/// Objects to create: StorageClass standard, PriorityClasses high and low. Pods without a class have priority
/// 0, between these two.
[[nodiscard]] std::vector<json::Value> firstClasses();

}  // namespace gs::sandbox
