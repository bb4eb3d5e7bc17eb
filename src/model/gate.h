// The gate of pods with GPUs (docs/use/enforcement.md): an inline CSI volume that the webhook adds to a pod,
// and mounts into its first container. A kubelet starts no container of a pod before the volumes that any of
// them mounts are there, so none starts before the node's agent has answered for it.
#pragma once

namespace gs::model {

/// Served by gpu-scheduler-agent; the CSIDriver object of the chart has this name.
inline constexpr const char* kGateDriver = "gate.gpu.scheduling";
/// Of the pod's spec.
inline constexpr const char* kGateVolume = "gpu-scheduling-gate";
/// Where the container has it: an empty folder, read-only.
inline constexpr const char* kGatePath = "/run/gpu-scheduling-gate";

}  // namespace gs::model
