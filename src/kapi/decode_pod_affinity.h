// What a pod says of other pods: affinity, anti-affinity, spread; and the labels by which others speak of it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "json/document.h"
#include "model/label_selector.h"
#include "model/pod.h"

namespace gs::kapi {

/// metadata.labels. Pods that are read one soon after another share equal ones.
[[nodiscard]] model::PodLabels podLabels(const json::View& labels);

/// Whom a bound pod keeps away by required anti-affinity. Where it says more than a pod can need: everybody.
[[nodiscard]] std::vector<model::AntiAffinityTerm> antiAffinity(const json::View& spec,
                                                                const std::string& own_ns);

/// Of an unbound pod whose namespace is read: Pod::affinity and Pod::spread. What is required and cannot be
/// read, or is more than a pod can need, is in `unsupported` by its path. Of preferences only the first few
/// are kept.
void readPodAffinity(const json::View& spec, model::Pod& pod, std::set<std::string>& unsupported);

}  // namespace gs::kapi
