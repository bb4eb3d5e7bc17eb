#include "extender/protocol/node_table.h"

#include <bit>

namespace gs::extender {

NodeTable::NodeTable(const sched::Ledger& ledger) : version_{ledger.comings().end()} {
  names_.reserve(ledger.size());
  for (Index i = 0; i < ledger.size(); ++i) {
    names_.push_back(ledger.at(i).exists ? ledger.at(i).node.name.text : std::string{});
  }
  slots_.resize(std::bit_ceil(2 * names_.size() + 2));
  mask_ = slots_.size() - 1;
  for (Index i = 0; i < names_.size(); ++i) {
    if (names_[i].empty()) { continue; }
    const std::size_t hash = std::hash<std::string_view>{}(names_[i]);
    std::size_t at = hash & mask_;
    while (slots_[at].node != kUnknown) { at = (at + 1) & mask_; }
    slots_[at] = {tagOf(hash), i};
  }
}

}  // namespace gs::extender
