// What the webhook changes in a pod that asks for GPUs: its containers are told which they get (R-number in
// docs/inside/rules.md).
//
//   gpu.scheduling/claim    is admitted before it is placed, so CUDA_VISIBLE_DEVICES becomes a reference to
//                           the annotation gpu.scheduling/visible-devices, which the kubelet reads when it
//                           starts the container
//   gpu-scheduling-map      says itself which GPUs the pod gets: they are written as they stand there
//
// CUDA_DEVICE_ORDER is set besides: ids count GPUs by PCI address, and CUDA would number the fastest first.
//
// Both stand first in env, in this order, so that the container's own variables may refer to them; those stay
// in their order. Entries of the two names that stand elsewhere, or say something else, go. Of what
// is replaced whoever creates the pod is warned, and of variables that have the container see some GPUs only,
// which it then counts from 0: those are left as they are.
// Containers, init containers and sidecars alike, and those that kubectl debug adds later. What is right
// already is left alone: a second pass changes nothing. Pods of other schedulers are not touched; one that
// has our annotation is warned.
//
// Where the nodes' agents enforce devices, pods that may be given GPUs by us get their gate besides
// (pod_gate.h), also those that ask by limits alone.
//
// The patch grows with what is changed, up to 1 MiB, the work with the pod. A pod with more than 1,000
// containers, or whose patch would be longer, gets its gate only, with a warning; one whose map says nothing
// that it could be given (parseMapGpus() of model/map.h), without one: its scheduler says why it waits. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "admission/review.h"
#include "json/document.h"
#include "model/annotations.h"

namespace gs::webhook {

/// The annotations by which a pod asks for what is done here: those without one need not be sent, but for
/// their gate (PodRules::gate).
inline constexpr std::array kAskedBy{model::kClaimKey, model::kMapKey};

struct PodRules {
  std::set<std::string, std::less<>> schedulers{"gpu-scheduler"};  // whose pods are ours
  std::string device_order = model::kOrderOfIds;  // CUDA_DEVICE_ORDER; "": it is left as it is
  bool gate = false;  // pods with GPUs wait for the agent of their node (pod_gate.h)
};

/// Of the claim that the pod names, where nvidia.com/gpu is to be added to its limits (--inject-limits):
/// how many; nullopt: nothing is added. The namespace is the pod's.
using LimitOf = std::function<std::optional<std::int64_t>(std::string_view ns, std::string_view claim)>;

/// `ns`: of the request; the pod need not say it. `limit_of` may be empty.
[[nodiscard]] admission::Verdict mutatePod(const json::View& pod, std::string_view ns, const PodRules& rules,
                                           const LimitOf& limit_of = {});
/// Of a pod that is there: its ephemeral containers that `old` has not. The others cannot be changed.
[[nodiscard]] admission::Verdict mutateLateContainers(const json::View& pod, const json::View& old,
                                                      const PodRules& rules);

}  // namespace gs::webhook
