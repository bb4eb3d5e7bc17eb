// Events have two forms, one thing: v1 (core) and events.k8s.io/v1. They are kept in the second.
#pragma once

#include "json/value.h"

namespace gs::apiserver {

[[nodiscard]] json::Value toCoreEvent(json::Value event);
[[nodiscard]] json::Value fromCoreEvent(json::Value event);

}  // namespace gs::apiserver
