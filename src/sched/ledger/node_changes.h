// The ledger's changes for classes that wait, and look at them in turn.
//
// Problem: the ledger's own log is trimmed, and a class may not look for long. RecentChanges has each node
// once, so it need not be trimmed. There are two: one for requests that no anti-affinity term means and that
// have no NearRules, and one for the others, to whom it matters too when a node is closed to a term or
// opened. The ledger must outlive it. One thread.
#pragma once

#include <cstdint>

#include "sched/ledger/ledger.h"
#include "sched/ledger/recent_changes.h"

namespace gs::sched {

class NodeChanges {
 public:
  explicit NodeChanges(const Ledger& ledger) : ledger_{ledger} {}

  void catchUp();
  /// From now on closings are kept, too. To be called before of() of a request that reads them.
  void watchClosings();
  [[nodiscard]] const RecentChanges& of(const PodRequest& request) const {
    return readsClosings(request) ? with_closings_ : plain_;
  }
  [[nodiscard]] static bool readsClosings(const PodRequest& request) {
    return !request.kept_away_by.empty() || request.near;
  }

 private:
  const Ledger& ledger_;
  RecentChanges plain_;
  RecentChanges with_closings_;
  std::uint64_t position_ = 0;  // in the ledger's log of changes, and of closings
  std::uint64_t closings_position_ = 0;
  std::uint64_t seen_ = 0;  // the latest NodeState::version, and closed_version
  std::uint64_t closings_seen_ = 0;
  bool watches_closings_ = false;
};

}  // namespace gs::sched
