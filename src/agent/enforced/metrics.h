// Names of the metrics of enforcement (docs/reference/metrics.md).
#pragma once

namespace gs::agent {

/// `gpu_uuid`: the GPU's, or its id where it has none. `pod`: its name. `namespace`: the pod's. `container`:
/// its name. There while the container is.
inline constexpr const char* kHolder = "gpu_scheduler_holder";
inline constexpr const char* kNriConnected = "gpu_agent_nri_connected";
/// `answer`: own (its pod's GPUs), moved (another GPU than the device plugin gave it), other (what it has
/// anyhow, without what leases hold), refused_not_known and so on, by the reason.
inline constexpr const char* kContainers = "gpu_agent_containers_total";
/// `kind`: has_anothers, has_more, lacks_own, told_others, unjudged. Each container once of each kind.
inline constexpr const char* kMismatches = "gpu_agent_device_mismatch_total";

}  // namespace gs::agent
