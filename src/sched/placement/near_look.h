// How the Decider looks at nodes for a class with NearRules (sched/request/near_standing.h): each node is
// asked what the pods of its small domains say, and whole cells of nodes what those of wide ones do.
#pragma once

#include <cstdint>

#include "sched/placement/node_ranking.h"
#include "sched/request/request.h"

namespace gs::sched {

/// While it lives the request is asked in part.
class AskedInPart {
 public:
  explicit AskedInPart(PodRequest& request) : near_{request.near} { near_.part = NearPart::Fine; }
  AskedInPart(const AskedInPart&) = delete;
  AskedInPart& operator=(const AskedInPart&) = delete;
  ~AskedInPart() { near_.part = NearPart::All; }

 private:
  NearAsked& near_;
};

/// What a class remembers.
struct NearLook {
  std::uint64_t epoch = 0;  // NearStanding::epoch
  /// Cells with a node that would take the pod, but for what wide domains said of its cell when it was looked
  /// at.
  NearCellSet held = 0;
};

inline constexpr NearCellSet kAllNearCells = ~NearCellSet{0};

[[nodiscard]] inline bool isOpen(NearCellSet open, const NearStanding& standing, std::uint32_t node) {
  return (open >> standing.cells().at(node) & 1U) != 0;
}

}  // namespace gs::sched
