// The leader's ledger against one that is made from the API's objects: each time everything became quiet, and
// at the end.
//
// Quiet: no fault of late is still felt, nothing has changed for a while, and the leader's watches say that
// they bring everything. Then left out are reservations, which are in no object yet, and what drains: that is
// known from how a pod ended, which no object says any more.
// One thread; the World must outlive it.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "sandbox/world/world.h"
#include "test/world/rebuilt.h"

namespace gs::sim {

/// "" or the first line in which two dumps differ.
[[nodiscard]] std::string difference(std::string_view live, std::string_view rebuilt);

class LedgerCheck {
 public:
  /// `standbys`: those of other replicas too.
  LedgerCheck(sandbox::World& world, bool standbys) : world_{world}, standbys_{standbys} {}

  /// A fault: the leader, or its ledger, may be behind for so long.
  void trouble(Duration how_long);
  /// Pods that hold what no object says: some remember it.
  void leaveOut(std::set<std::string> uids) { left_out_ = std::move(uids); }
  /// When look() has something to compare for all that is known now; nullopt: not before something changes.
  [[nodiscard]] std::optional<Mono> due(Mono last_change) const;
  /// Compares if everything is quiet, and was not compared since it became so.
  /// "" or the first line that differs.
  [[nodiscard]] std::string look(Mono last_change);
  /// With everything, whatever was compared. `promises`: also what an extender beside the leader promised to
  /// pods that wait.
  [[nodiscard]] std::string atEnd(sandbox::ReplicaId leader, bool promises);

  [[nodiscard]] std::size_t compared() const { return compared_; }
  [[nodiscard]] std::size_t afterTrouble() const { return after_trouble_; }

 private:
  /// As long as it is the same, so is the ledger.
  struct Moment {
    Mono last_change{};
    Mono trouble_until{};
    std::optional<sandbox::ReplicaId> leader;
    friend bool operator==(const Moment&, const Moment&) = default;
  };
  [[nodiscard]] Moment moment(Mono last_change) const { return {last_change, trouble_until_, leader()}; }
  /// Of our installation.
  [[nodiscard]] std::optional<sandbox::ReplicaId> leader() const;

  [[nodiscard]] std::string standbyWrong(std::string_view rebuilt, bool unreadable) const;

  sandbox::World& world_;
  bool standbys_;
  std::set<std::string> left_out_;
  test::Decoded decoded_;
  bool had_trouble_ = false;
  Mono trouble_until_{};
  std::optional<Moment> last_;  // that was compared
  std::size_t compared_ = 0;
  std::size_t after_trouble_ = 0;
};

}  // namespace gs::sim
