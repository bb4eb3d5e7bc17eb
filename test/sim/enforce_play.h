// Plays of nodes with a device plugin whose agents set right what it picks, drawn from one seed: pods that we
// give GPUs come and go, with and without limits for which the plugin picks others; pods of another scheduler
// for which the plugin picks what it likes; and pods that somebody bound himself, with an annotation that
// names GPUs. Agents die at any step of a container, at any call, and for a while; their reads of leases are
// slow, fail and are lost. In half of the plays pods of ours have the gate.
//
// Judged by the leases of the API and what containers can open (enforced_node.h), without the code that
// answers. Of each container that is made while its agent answers: what its pod's sandbox claims is what it
// sees, and each GPU of it was the pod's by a lease; who claims nothing sees nothing that a lease held of
// which the agent knew. With the gate none is made unasked, unless the process died in between. And once all
// is quiet the comparison names each container that has another pod's GPU, or not just its own, and no
// other. The same seed gives the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/clock.h"

namespace gs::sim {

struct EnforceOutcome {
  std::string problem;  // "": nothing
  Duration at{};        // when it was seen, since the start
  // What the play came to.
  std::size_t answered = 0;    // containers for which an agent answered
  std::size_t unanswered = 0;  // and for which none did
  std::size_t refused = 0;     // times
  std::size_t moved = 0;       // containers that got another GPU than the plugin gave them
  std::size_t found = 0;       // by the comparison in the end
};

[[nodiscard]] EnforceOutcome playEnforce(std::uint64_t seed, bool tell = false);

}  // namespace gs::sim
