// Drawn volumes: what the pods of a case have and ask for, and what there is to give them.
#pragma once

#include "base/random.h"
#include "json/value.h"
#include "test/filters/draw_pod.h"

namespace gs::filters {

/// Volumes of pods, and the objects that they name; nothing where the case is not about volumes. No two
/// volumes that may be chosen have one size, nor two claims: which kube-scheduler takes first of those is
/// chance.
void addVolumes(Rng& rng, const Scene& scene, json::Object& drawn);

}  // namespace gs::filters
