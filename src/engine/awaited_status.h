// Which nodes without a GpuNodeStatus will have one? (R74) What names devices by their ids is refused there
// until then: the status may say that they are not there, or not healthy, or used by containers of before.
//
// Nobody can know. A status is awaited where one was seen since the Node came (it was deleted, and what it
// said still runs), where an agent pod is, and on any Node that came less than kStatusGrace ago: an agent
// needs a moment to start. On other nodes without a status ids are taken as given.
// A Node that goes and comes back is a new one.
//
// How old is a Node that was there before this process? It is as old as the time that this process has known
// it, at least. And at least so old as its creationTimestamp lies before that of another object: both are
// the API server's own. Our wall clock is not asked, so it may go as wrong as it likes. (API servers of one
// cluster whose clocks differ make a Node look older by that much.) Of Nodes that are seen to come, after all
// were listed, only the first counts: an object from a time in which the API server's clock was ahead would
// make each of them look old.
// One thread; times are arguments.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.h"
#include "model/ids.h"
#include "sched/ledger/ledger.h"

namespace gs::engine {

inline constexpr Duration kStatusGrace = std::chrono::seconds{60};

/// Keeps Ledger::setAwaitsStatus(). The Ledger knows the change already.
class AwaitedStatus {
 public:
  explicit AwaitedStatus(sched::Ledger& ledger) : ledger_{ledger} {}

  void nodeChanged(const model::NodeName& node, Mono now);
  /// All Nodes were listed: those that come from now on are new.
  void allListed() { all_listed_ = true; }
  /// The creationTimestamp of some object.
  void stamped(Wall at);
  /// It came, changed, or (false) went.
  void statusChanged(const model::NodeName& node, bool present);
  /// Whether an agent pod is bound there that has not ended.
  void agentChanged(const model::NodeName& node, bool present);
  void tick(Mono now);
  [[nodiscard]] std::optional<Mono> nextDue() const {
    return due_.empty() ? std::nullopt : std::optional{due_.begin()->first};
  }
  /// Nodes of which anything is kept, for tests of what grows.
  [[nodiscard]] std::size_t remembered() const { return nodes_.size(); }

 private:
  struct Known {
    bool there = false;
    bool has_status = false;
    bool has_agent = false;
    bool had_status = false;        // since it came
    std::optional<Mono> until{};    // it came a moment ago; its place in due_
    std::optional<Wall> created{};  // and was listed; its place in listed_
  };
  using Nodes = std::map<model::NodeName, Known>;

  void settle(Nodes::iterator it);
  void noLongerNew(Nodes::iterator it);
  void followStamps();

  sched::Ledger& ledger_;
  Nodes nodes_;
  std::set<std::pair<Mono, model::NodeName>> due_;
  std::set<std::pair<Wall, model::NodeName>> listed_;  // of those with `until`, by when they were created
  Wall latest_{};                                      // of all stamps
  bool all_listed_ = false;
};

}  // namespace gs::engine
