// PodDisruptionBudgets: whether an eviction may go on. Counted from the pods at that moment,
// without a controller.
#pragma once

#include "apiserver/meta/answer.h"
#include "apiserver/storage/store.h"
#include "json/value.h"

namespace gs::apiserver {

/// Error 429: a budget of the pod's namespace that selects it has no disruption left; 500:
/// two budgets select it.
/// Pods that are pending, ended or being deleted may always go.
[[nodiscard]] Done budgetAllows(const Store& store, const json::Value& pod);

}  // namespace gs::apiserver
