// The vcuda door: shares of GPUs in container limits, on nodes of gpu-manager (model/vcuda.h has the
// convention). Its pods are other schedulers'; extender/ answers in this convention and may ask here, others
// ask the table (door.h). It looks at nothing but shares: what else a pod asks of a node,
// its scheduler has seen to.
#pragma once

#include "sched/doors/door.h"

namespace gs::sched {

[[nodiscard]] bool wantsVcuda(const model::Pod& pod);
/// `any_count`: 150 cores are taken for one GPU, as the ancestor does.
[[nodiscard]] DoorResult vcudaDoor(const model::Pod& pod, bool any_count = false, PodRequest base = {});
/// What its annotations say that each container gets; ids empty where they say nothing.
[[nodiscard]] SharePicks vcudaPicks(const model::Pod& pod);
/// What its limits ask for in all, in milli-GPU.
[[nodiscard]] std::int64_t vcudaMilli(const model::Pod& pod);

}  // namespace gs::sched
