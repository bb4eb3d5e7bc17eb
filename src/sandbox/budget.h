// PodDisruptionBudgets: whether an eviction may go on. Counted from the pods at that moment, without a controller.
#pragma once

#include "json/value.h"
#include "sandbox/answer.h"
#include "sandbox/store.h"

namespace gs::sandbox {

/// Error 429: a budget of the pod's namespace that selects it has no disruption left; 500: two budgets select it.
/// Pods that are pending, ended or being deleted may always go.
[[nodiscard]] Done budgetAllows(const Store& store, const json::Value& pod);

}  // namespace gs::sandbox
