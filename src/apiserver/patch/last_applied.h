// From client-side to server-side apply, and back: `kubectl apply --server-side` may take over what `kubectl
// apply` wrote before, by what that left in the annotation kubectl.kubernetes.io/last-applied-configuration.
#pragma once

#include "apiserver/meta/answer.h"
#include "apiserver/schema/schema.h"
#include "json/value.h"

namespace gs::apiserver {

/// Whether a refused apply may take the fields over: each field in conflict is named by the annotation, and
/// still has the value that it says.
[[nodiscard]] bool mayTakeOver(const json::Value& live, const Schema& schema, const ApiError& conflict);

/// After such an apply the annotation, where there is one, says what was applied.
void refreshLastApplied(json::Value& object, const json::Value& config);

}  // namespace gs::apiserver
