// From client-side to server-side apply, and back: `kubectl apply --server-side` may take over what `kubectl apply` wrote before,
// by what that left in the annotation kubectl.kubernetes.io/last-applied-configuration.
#pragma once

#include "apiserver/meta/answer.h"
#include "apiserver/schema/schema.h"
#include "json/value.h"

namespace gs::apiserver {

/// Whether each field of a refused apply's conflict is one that the annotation names and that still is as it says.
[[nodiscard]] bool mayTakeOver(const json::Value& live, const Schema& schema, const ApiError& conflict);

/// After such an apply the annotation, where there is one, says what was applied.
void refreshLastApplied(json::Value& object, const json::Value& config);

}  // namespace gs::apiserver
