// What a container that is being created gets.
//
// Of a pod that holds devices by the record, and whose sandbox says the same: exactly these devices; so do
// its init containers, sidecars and ephemeral containers. Where record and sandbox differ, or the record is
// not sure, it does not start. Of any other pod: what it has anyhow, but nothing that a lease holds. For a
// device that is held, and that the kubelet's plugin gave it, it gets a free one: no lease and no container
// has it, and no pod whose leases were not read yet claims it; the lowest id of that vendor. One that is
// only claimed is waited for: until that lease is read it does not start. (Partitions have none in their
// place: the record does not say their sizes.) A container that asks for all GPUs by NVIDIA_VISIBLE_DEVICES,
// as CUDA images do, and has none from anybody, gets none. What names single GPUs by that variable cannot be
// told from a device plugin that does, and counts as given.
//
// What is out of reach: a privileged container has all of /dev; and where the runtime does not read rules
// for devices (NRI before 0.10), the right to a node that the plugin brought stays with a container that
// may make nodes (CAP_MKNOD). Pure.
#pragma once

#include "enforce/cdi/index.h"
#include "enforce/containers.h"
#include "enforce/node_record.h"
#include "enforce/plan_types.h"
#include "rpc/nri/messages.h"

namespace gs::enforce {

/// What it is about.
struct Asked {
  const rpc::nri::PodSandbox& pod;
  const rpc::nri::Container& container;
};
/// "container c of pod ns/p"
[[nodiscard]] std::string labelOf(const Asked& asked);

struct Knowledge {
  const NodeRecord& record;
  const cdi::Index& index;
  const RuntimeFacts& facts;
  const Containers& containers;  // without the one in question
};

[[nodiscard]] Planned plan(const Asked& asked, const Knowledge& known);

}  // namespace gs::enforce
