#include "sched/ledger/node_changes.h"

#include <algorithm>
#include <utility>

namespace gs::sched {
namespace {

/// Calls `changed(i)` for each node that changed since the reader was at `position`, and brings the reader up
/// to date. Where that part of the log was trimmed, `seen` tells which nodes changed: the latest version that
/// the reader knows.
template <class VersionOf, class Changed>
void read(const Ledger& ledger, const ChangeLog<Ledger::NodeIndex>& log, std::uint64_t& position,
          std::uint64_t& seen, const VersionOf& version_of, const Changed& changed) {
  const std::uint64_t known = seen;
  if (position < log.begin()) {
    for (Ledger::NodeIndex i = 0; i < ledger.size(); ++i) {
      if (version_of(ledger.at(i)) > known) { changed(i); }
      seen = std::max(seen, version_of(ledger.at(i)));
    }
  } else {
    for (; position < log.end(); ++position) {
      const Ledger::NodeIndex i = log.at(position);
      changed(i);
      seen = std::max(seen, version_of(ledger.at(i)));
    }
  }
  position = log.end();
}

}  // namespace

void NodeChanges::watchClosings() {
  if (std::exchange(watches_closings_, true)) { return; }
  catchUp();
  for (Ledger::NodeIndex i = 0; i < ledger_.size(); ++i) { with_closings_.note(i); }
}

void NodeChanges::catchUp() {
  read(
      ledger_, ledger_.changes(), position_, seen_, [](const NodeState& n) { return n.version; },
      [&](Ledger::NodeIndex i) {
        plain_.note(i);
        if (watches_closings_) { with_closings_.note(i); }
      });
  if (!watches_closings_) { return; }
  read(
      ledger_, ledger_.closings(), closings_position_, closings_seen_,
      [](const NodeState& n) { return n.closed_version; },
      [&](Ledger::NodeIndex i) { with_closings_.note(i); });
}

}  // namespace gs::sched
