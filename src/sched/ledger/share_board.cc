#include "sched/ledger/share_board.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace gs::sched {
namespace {

/// Whether one table serves both: equal requests, bound by the same terms of a quota.
bool isSame(const PodRequest& a, const PodRequest& b) {
  return a == b && (!a.quota || a.quota->terms == b.quota->terms);
}

}  // namespace

NodeStanding standingOf(const NodeState& n, const PodRequest& r, const model::Uid& self) {
  const auto fit = fitShares(n, r, self);
  NodeStanding standing{n.free_milli, n.free_mib, std::nullopt, n.enforcer, n.share_devices};
  if (fit) { return standing; }
  standing.refused = fit.error().reason;
  if (standing.refused != Reason::TooFewFree) { return standing; }
  for (const FreeShare& device : freeShares(n, self)) {
    if (device.milli == kWholeMilli) { ++standing.whole; }
    const std::pair most{standing.most_milli, standing.most_mib};
    std::tie(standing.most_milli, standing.most_mib) = std::max(most, std::pair{device.milli, device.mib});
  }
  return standing;
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
