// Front doors: a pod (and the objects it names) -> PodRequest, or why not yet. One file per convention; a new one is a
// new file and a line in readPod() (docs/front-doors.md). Pure.
#pragma once

#include <string>
#include <variant>

#include "model/claim.h"
#include "model/pod.h"
#include "sched/request.h"

namespace gs::sched {

/// The pod cannot be tried until it, or an object it names, changes. `kind` is stable across numbers and names (it decides
/// when a condition is written again), `text` is the sentence for condition and event.
struct Blocked {
  std::string kind;
  std::string text;
  friend bool operator==(const Blocked&, const Blocked&) = default;
};

using DoorResult = std::variant<PodRequest, Blocked>;

/// What the pod asks for. `claim` is the GpuClaim that the pod names in its own namespace, or nullptr when there is none (yet).
/// Order of checks: scheduling gates (Blocked kind "SchedulingGated": no condition is written, as in kube-scheduler), two
/// doors at once, fields that are not counted yet, then the door itself.
[[nodiscard]] DoorResult readPod(const model::Pod& pod, const model::GpuClaim* claim);

/// The name of the claim that the pod asks for, "" for none.
[[nodiscard]] std::string claimName(const model::Pod& pod);

// The doors. Each presumes that no other door applies.
[[nodiscard]] DoorResult claimDoor(const model::Pod& pod, const model::GpuClaim* claim, PodRequest base);
[[nodiscard]] DoorResult plainDoor(const model::Pod& pod, PodRequest base);

// The vcuda door. Its pods are other schedulers'; the extender reads them. That is why it is no part of readPod(), and looks at
// nothing but shares: what else a pod asks of a node, its scheduler has seen to.
[[nodiscard]] bool wantsVcuda(const model::Pod& pod);
/// `any_count`: 150 cores are taken for one GPU, as the ancestor does.
[[nodiscard]] DoorResult vcudaDoor(const model::Pod& pod, bool any_count = false, PodRequest base = {});
/// What its annotations say that each container gets; ids empty where they say nothing.
[[nodiscard]] SharePicks vcudaPicks(const model::Pod& pod);
/// What its limits ask for in all, in milli-GPU.
[[nodiscard]] std::int64_t vcudaMilli(const model::Pod& pod);

}  // namespace gs::sched
