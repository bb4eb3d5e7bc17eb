// What a pod came to where real schedulers run (the contract case pending-texts).
#pragma once

#include <string>

#include "json/value.h"
#include "test/filters/answer.h"

namespace gs::filters {

struct Outcome {
  std::string node;     // where it was placed; "": it waits
  std::string message;  // of its condition PodScheduled then
};
/// {"node": ...} or {"message": ...}
[[nodiscard]] Outcome outcomeOf(const json::Value& said);

/// "": the pod of our scheduler and that of kube-scheduler were both placed, on nodes that fit; or both wait
/// for the same reasons. `answer` is what our filters say of the case: our pod has to be told the very words,
/// the other one words of the same kinds.
[[nodiscard]] std::string differenceOfOutcomes(const Answer& answer, const Outcome& ours,
                                               const Outcome& theirs);

}  // namespace gs::filters
