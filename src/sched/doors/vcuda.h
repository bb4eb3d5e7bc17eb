// The vcuda door: shares of GPUs in container limits, on nodes of gpu-manager (model/vcuda.h has the
// convention). Its pods are other schedulers'; extender/ answers in this convention and may ask here, others
// ask the table (door.h). It looks at nothing but shares: what else a pod asks of a node,
// its scheduler has seen to.
#pragma once

#include "sched/doors/door.h"

namespace gs::sched {

/// It has a limit of either resource, in a container or an init container, whether or not it makes sense.
/// `as_ancestor`: its containers together ask for a GPU or for a share of both; else it is one without GPUs.
[[nodiscard]] bool wantsVcuda(const model::Pod& pod, bool as_ancestor = false);
/// Refuses what gpu-manager would refuse on the node, or not serve: a share of cores without memory or of
/// memory without cores, more than one GPU and not whole ones, a share in an init container or a sidecar.
/// `as_ancestor`: as the ancestor, which lets all that through.
[[nodiscard]] DoorResult vcudaDoor(const model::Pod& pod, bool as_ancestor = false, PodRequest base = {});
/// What its annotations say that each container gets; ids empty where they say nothing.
[[nodiscard]] SharePicks vcudaPicks(const model::Pod& pod);
/// What its limits ask for at once, in milli-GPU; sidecars and init containers count.
[[nodiscard]] std::int64_t vcudaMilli(const model::Pod& pod);

}  // namespace gs::sched
