// How every node stands for requests of shares: kept up to date from the ledger's change log, given out as
// tables that do not change, for other threads to read.
//
// Equal requests share a table. At most kMaxBoards are kept;
// the one that was not asked for longest goes. Rules: sched/ledger/shares.h.
// Asking costs a look at the nodes that changed since, and a copy of the table if it was given out since and
// changed.
// One thread; the ledger must outlive it, the tables it.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "sched/ledger/ledger.h"
#include "sched/ledger/shares.h"

namespace gs::sched {

inline constexpr std::size_t kMaxBoards = 64;

/// Tightest nodes come first: fewest free milli, then fewest free MiB, then by name.
struct NodeStanding {
  std::int64_t free_milli = 0;
  std::int64_t free_mib = 0;
  std::optional<Reason> refused;  // nullopt: it fits
  Enforcer enforcer = Enforcer::Kubelet;
  std::int64_t devices = 0;  // that gpu-manager gives
  /// For the words of a rejection; only of TooFewFree: devices that nobody holds,
  /// and what is left of the freest one.
  std::int64_t whole = 0;
  std::int64_t most_milli = 0;
  std::int64_t most_mib = 0;
  friend bool operator==(const NodeStanding&, const NodeStanding&) = default;
};
[[nodiscard]] NodeStanding standingOf(const NodeState& node, const PodRequest& request,
                                      const model::Uid& self = model::Uid{});

using Standings = std::vector<NodeStanding>;  // by the ledger's index

class ShareBoard {
 public:
  explicit ShareBoard(const Ledger& ledger) : ledger_{ledger} {}

  [[nodiscard]] std::shared_ptr<const Standings> standings(const PodRequest& request);
  [[nodiscard]] std::size_t size() const { return boards_.size(); }

 private:
  struct Board {
    PodRequest request;
    std::shared_ptr<Standings> table;
    std::vector<std::uint64_t> seen;  // NodeState::version
    std::uint64_t position = 0;       // in the ledger's change log
  };
  void catchUp(Board& board);
  void look(Board& board, Ledger::NodeIndex i, bool& own);

  const Ledger& ledger_;
  std::list<Board> boards_;  // asked for last first
};

}  // namespace gs::sched
