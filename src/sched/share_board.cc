#include "sched/share_board.h"

#include <algorithm>

namespace gs::sched {
namespace {

/// Whether one table serves both: equal requests, bound by the same terms of a quota.
bool isSame(const PodRequest& a, const PodRequest& b) {
  return a == b && (!a.quota || a.quota->terms == b.quota->terms);
}

}  // namespace

NodeStanding standingOf(const NodeState& n, const PodRequest& r, const model::Uid& self) {
  const auto fit = fitShares(n, r, self);
  return {n.free_milli, n.free_mib, fit ? std::nullopt : std::optional{fit.error().reason}, n.enforcer,
          n.share_devices};
}

/// `own`: the table is not the one that others may be reading.
void ShareBoard::look(Board& board, Ledger::NodeIndex i, bool& own) {
  const NodeState& n = ledger_.at(i);
  if (board.seen[i] == n.version) { return; }
  board.seen[i] = n.version;
  const NodeStanding now = standingOf(n, board.request);
  if ((*board.table)[i] == now) { return; }
  if (!own) { board.table = std::make_shared<Standings>(*board.table); }
  own = true;
  (*board.table)[i] = now;
}

void ShareBoard::catchUp(Board& board) {
  bool own = false;
  if (board.table == nullptr || board.table->size() != ledger_.size()) {
    board.table = board.table ? std::make_shared<Standings>(*board.table) : std::make_shared<Standings>();
    board.table->resize(ledger_.size());
    board.seen.resize(ledger_.size());
    own = true;
  }
  const std::uint64_t end = ledger_.changesEnd();
  if (board.position < ledger_.changesBegin() || end - board.position > ledger_.size()) {
    for (Ledger::NodeIndex i = 0; i < ledger_.size(); ++i) { look(board, i, own); }
  } else {
    for (std::uint64_t p = board.position; p < end; ++p) { look(board, ledger_.changedAt(p), own); }
  }
  board.position = end;
}

std::shared_ptr<const Standings> ShareBoard::standings(const PodRequest& request) {
  const auto at = std::find_if(boards_.begin(), boards_.end(),
                               [&](const Board& b) { return isSame(b.request, request); });
  if (at != boards_.end()) {
    boards_.splice(boards_.begin(), boards_, at);
  } else {
    if (boards_.size() >= kMaxBoards) { boards_.pop_back(); }
    boards_.push_front({request, nullptr, {}, 0});
  }
  catchUp(boards_.front());
  return boards_.front().table;
}

}  // namespace gs::sched
