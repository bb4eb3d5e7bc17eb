// Islands of GPUs with fast links among each other, from the link of each pair.
//
// An island is a set in which every pair is linked, and all by NVLink or all by PCIe. Rule: in the order of
// ids, each GPU goes to the first island with whose every member it has an NVLink; where it has an NVLink to
// nobody, to the first such island of PCIe. So a cube mesh, where not every pair has a link, comes apart into
// its squares; a node with an NVSwitch is one island; GPUs without NVLink are one island per NUMA node.
// Names: "0", "1", ... in the order of their first members. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/hardware.h"

namespace gs::agent {

struct Place {
  std::string island;
  std::int64_t gbps = 0;  // of the worst pair inside; 0 of a GPU alone
  friend bool operator==(const Place&, const Place&) = default;
};

/// Of each of `count` GPUs. Links to places that are not there, or of a GPU to itself, are ignored; of
/// several between two NVLink counts, then the fastest.
[[nodiscard]] std::vector<Place> islandsOf(std::size_t count, const std::vector<PairLink>& links);

}  // namespace gs::agent
