// Places of nodes by name, shared by all who rank them. Their relative order only changes when an index is
// given to another node.
#pragma once

#include <cstddef>
#include <vector>

#include "sched/ledger.h"
#include "sched/node_ranking.h"

namespace gs::sched {

class NameRanks {
 public:
  [[nodiscard]] const NodeRanking::Ranks& ranks() const { return ranks_; }
  /// Grows whenever the ranks changed.
  [[nodiscard]] std::size_t epoch() const { return position_; }
  void catchUp(const Ledger& ledger);

 private:
  std::vector<Ledger::NodeIndex> by_name_;
  NodeRanking::Ranks ranks_;
  std::size_t position_ = 0;
};

}  // namespace gs::sched
