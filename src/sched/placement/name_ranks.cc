#include "sched/placement/name_ranks.h"

#include <algorithm>

namespace gs::sched {

using NodeIndex = Ledger::NodeIndex;

void NameRanks::catchUp(const Ledger& ledger) {
  const auto& comings = ledger.comings();
  if (position_ == comings.end()) { return; }
  ranks_.resize(ledger.size());
  std::vector<bool> moves(ledger.size(), position_ < comings.begin());
  for (auto at = std::max(position_, comings.begin()); at < comings.end(); ++at) {
    moves[comings.at(at)] = true;
  }
  position_ = comings.end();
  std::erase_if(by_name_, [&](NodeIndex i) { return moves[i]; });
  const auto before = [&](NodeIndex a, NodeIndex b) {
    return ledger.at(a).node.name < ledger.at(b).node.name;
  };
  const auto kept = static_cast<std::ptrdiff_t>(by_name_.size());
  for (NodeIndex i = 0; i < moves.size(); ++i) {
    if (moves[i] && ledger.at(i).exists) { by_name_.push_back(i); }
  }
  std::sort(by_name_.begin() + kept, by_name_.end(), before);
  std::inplace_merge(by_name_.begin(), by_name_.begin() + kept, by_name_.end(), before);
  for (std::uint32_t rank = 0; rank < by_name_.size(); ++rank) { ranks_[by_name_[rank]] = rank; }
}

}  // namespace gs::sched
