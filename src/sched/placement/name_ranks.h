// Places of the nodes that exist by name, shared by all who rank them. Their relative order only changes when
// a node comes or goes.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/ledger/ledger.h"
#include "sched/placement/node_ranking.h"

namespace gs::sched {

class NameRanks {
 public:
  [[nodiscard]] const NodeRanking::Ranks& ranks() const { return ranks_; }
  /// Grows whenever the ranks changed.
  [[nodiscard]] std::uint64_t epoch() const { return position_; }
  void catchUp(const Ledger& ledger);

 private:
  std::vector<Ledger::NodeIndex> by_name_;
  NodeRanking::Ranks ranks_;
  std::uint64_t position_ = 0;
};

}  // namespace gs::sched
