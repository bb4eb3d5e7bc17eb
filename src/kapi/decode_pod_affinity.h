// What a pod says of other pods: affinity, anti-affinity, spread; and the labels by which others speak of it.
#pragma once

#include <set>
#include <string>

#include "json/document.h"
#include "model/pod.h"

namespace gs::kapi {

/// metadata.labels. Pods that are read one soon after another share equal ones.
[[nodiscard]] model::PodLabels podLabels(const json::View& labels);

/// Of a bound pod whose namespace is read: whom it keeps away by required anti-affinity (where it says more
/// than a pod can need: everybody), and whom it would like (model::likedWhenThere(), of the first few).
void readAffinityOfBound(const json::View& spec, model::Pod& pod);

/// Of an unbound pod whose namespace is read: Pod::affinity and Pod::spread. What is required and cannot be
/// read, or is more than a pod can need, is in `unsupported` by its path. Of preferences only the first few
/// are kept.
void readPodAffinity(const json::View& spec, model::Pod& pod, std::set<std::string>& unsupported);

}  // namespace gs::kapi
