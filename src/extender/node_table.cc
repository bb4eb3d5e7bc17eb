#include "extender/node_table.h"

namespace gs::extender {

NodeTable::NodeTable(const sched::Ledger& ledger) : version_{ledger.namings().size()} {
  names_.reserve(ledger.size());
  index_.reserve(ledger.size());
  for (Index i = 0; i < ledger.size(); ++i) { names_.push_back(ledger.at(i).node.name.text); }
  for (Index i = 0; i < names_.size(); ++i) {
    if (!names_[i].empty()) { index_.emplace(names_[i], i); }
  }
}

}  // namespace gs::extender
