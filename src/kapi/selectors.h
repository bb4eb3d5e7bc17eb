// Selectors of labels and of nodes (meta/v1 LabelSelector, core/v1 NodeSelector) -> their values. What cannot
// be read matches nothing, as kube-scheduler has it: never more than was meant.
#pragma once

#include <optional>
#include <vector>

#include "json/document.h"
#include "model/label_selector.h"
#include "model/node_affinity.h"

namespace gs::kapi {

/// nullopt: there is none. One that cannot be read matches no labels.
[[nodiscard]] std::optional<model::LabelSelector> strictSelector(const json::View& v);
/// nodeSelectorTerms, without those that cannot match: of neither expressions nor fields, or of some that
/// cannot be read.
[[nodiscard]] std::vector<model::NodeTerm> nodeTerms(const json::View& v);

}  // namespace gs::kapi
