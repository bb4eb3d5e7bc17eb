// Which nodes are closed to whom, and what is told of reservations.
#include <algorithm>
#include <utility>

#include "sched/ledger/ledger.h"

namespace gs::sched {

void Ledger::setClosedTo(NodeIndex i, std::vector<std::shared_ptr<const ClosedTerms>> terms) {
  NodeState& n = *nodes_[i];
  if (n.closed_to == terms) { return; }
  const auto closes = [](const auto& closed) {
    return std::any_of(closed.begin(), closed.end(), [](const auto& of) { return !of->empty(); });
  };
  const bool matters = closes(n.closed_to) || closes(terms);
  n.closed_to = std::move(terms);
  if (matters) { closingsChanged(i); }
}

void Ledger::closeTo(NodeIndex i, std::shared_ptr<const ClosedTerms> terms) {
  auto& closed = nodes_[i]->closed_to;
  if (closed.capacity() == 0) { closed.reserve(8); }  // one pod may close it for many keys
  closed.push_back(std::move(terms));
}

void Ledger::closingsChanged(NodeIndex i) {
  std::erase_if(nodes_[i]->closed_to, [](const auto& terms) { return terms->empty(); });
  nodes_[i]->closed_version = ++version_;
  closings_.append(i, mostChanges());
}

void Ledger::tellReserved(const model::NodeName& node, const model::Uid& uid, Source source, bool is) const {
  if (source == Source::Reservation && reserved_listener_) { reserved_listener_(node, uid, is); }
}

}  // namespace gs::sched
