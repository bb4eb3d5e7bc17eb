// Plays of nodes whose GPUs a DRA driver prepares, drawn from one seed: pods that ask for nvidia.com/gpu come
// and go, leaders die at any write, writes are refused, lost and late, drivers and agents are away, and
// another scheduler allocates devices for itself, sometimes those that we are about to allocate.
// Those of odd seeds have pods of that scheduler too, which run, end, are deleted by force, and lose their
// claims; kubelets that start anew, without slices for a while; a kubelet that knows no DRA; and pods with
// maps, or with a GpuClaim and no limit, which no driver serves.
//
// At every step: a bound pod's ResourceClaim is allocated what the pod is told, its containers have exactly
// that, no device has been given that somebody else was allocated before, and no driver is asked for a device
// that containers of another pod have; who is served by no driver waits. Once all is quiet: whoever fits
// runs, claims and leases of pods that are gone are gone, and each node's GpuNodeStatus says its GPUs and
// `dra`, kept by its agent, else by the scheduler. Nothing of the scheduler's code is asked. The same seed
// gives the same bytes.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"

namespace gs::sim {

struct DraOutcome {
  std::string problem;  // "": nothing
  Duration at{};        // when it was seen, since the start
  // What the play came to.
  std::size_t ran = 0;       // pods whose containers started
  std::size_t gave_way = 0;  // allocations of ours that others had been given first
  std::size_t writes = 0;    // to ResourceClaims
};

[[nodiscard]] DraOutcome playDra(std::uint64_t seed, bool tell = false);

}  // namespace gs::sim
