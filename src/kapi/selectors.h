// Selectors of labels and of nodes (meta/v1 LabelSelector, core/v1 NodeSelector) -> their values.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "json/document.h"
#include "model/label_selector.h"
#include "model/node_affinity.h"

namespace gs::kapi {

/// A label selector. What it is where not all of it can be read is for the reader to say.
struct ReadSelector {
  model::LabelSelector selector;
  bool is_whole = true;   // no: requirements that kube-scheduler cannot read either are left out
  std::size_t parts = 0;  // requirements and values that it has
};
[[nodiscard]] ReadSelector readSelector(const json::View& v);

/// nullopt: there is none. One that cannot be read, or is very large, matches no labels: for volumes,
/// kube-scheduler never takes it for more than was meant.
[[nodiscard]] std::optional<model::LabelSelector> strictSelector(const json::View& v);
/// nodeSelectorTerms, without those that cannot match: of neither expressions nor fields, or of some that
/// cannot be read. Of very many, none.
[[nodiscard]] std::vector<model::NodeTerm> nodeTerms(const json::View& v);

}  // namespace gs::kapi
