// What a drawn pod says of other pods and of the nodes that it wants, as its spec has it when the API server
// stored it.
#pragma once

#include "base/random.h"
#include "json/value.h"
#include "test/filters/fields.h"

namespace gs::filters {

/// LabelSelector over pods' labels, or null. `own`: the pod's, which it often selects.
[[nodiscard]] json::Value drawSelector(Rng& rng, const json::Object& own);
/// NodeSelectorTerm. `nodes`: their names are node-0, node-1 ...
[[nodiscard]] json::Object drawNodeTerm(Rng& rng, std::uint64_t nodes);
/// spec.affinity.nodeAffinity
[[nodiscard]] json::Object drawNodeAffinity(Rng& rng, std::uint64_t nodes);
/// Of spec.affinity the two that are about pods; `bound`: of such a pod only what it keeps away matters.
[[nodiscard]] json::Object drawPodAffinity(Rng& rng, const json::Object& own, bool bound);
/// spec.topologySpreadConstraints
[[nodiscard]] json::Array drawSpread(Rng& rng, const json::Object& own, Release release);
/// spec.tolerations, with those that the API server adds.
[[nodiscard]] json::Array drawTolerations(Rng& rng, Fields fields);

}  // namespace gs::filters
