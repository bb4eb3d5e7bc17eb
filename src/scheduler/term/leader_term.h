// LeaderTerm: a term as leader, from winning the election over recovery to deciding, in one state.
//
//   Standby --leads--> Claiming --the record is ours--> Syncing --all is current--> Adopting
//                          ^                                                            |
//                          |  the record is another's, or the CRD came (Syncing, too)   | first sweep over
//                          +-------------------------- Deciding <-----------------------+
//   Told to stop: Adopting, Deciding -> Finishing (what is under way goes on, nothing new is decided);
//   all others -> Stopped.
//   Leadership lost: Standby again; after Finishing, or when history went back: Stopped, which never leads
//   again.
//
// The record (lease_record.h) comes before the initial sync (initial_sync.h): while another scheduler may
// still write, no census is worth anything. Adopting: leases that an earlier leader left are adopted or
// fenced before the first decision. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "controller/parts.h"
#include "scheduler/core/config.h"
#include "scheduler/term/initial_sync.h"
#include "scheduler/term/lease_record.h"

namespace gs::scheduler {

class LeaderTerm {
 public:
  enum class Phase : std::uint8_t { Standby, Claiming, Syncing, Adopting, Deciding, Finishing, Stopped };
  enum class Step : std::uint8_t {
    None,
    BeganAnew,  // it was leading, and has to claim and sync again: what is under way is to be dropped
    Synced,     // Adopting from now on
  };

  explicit LeaderTerm(const Config& config, controller::Owners owners = {})
      : parts_{std::move(owners)},
        record_{config.lease_namespace, config.scheduler_name, parts_},
        initial_sync_{parts_} {}

  [[nodiscard]] Phase phase() const { return phase_; }
  /// It may write.
  [[nodiscard]] bool leads() const {
    return phase_ == Phase::Adopting || phase_ == Phase::Deciding || phase_ == Phase::Finishing;
  }
  [[nodiscard]] bool recovering() const { return phase_ == Phase::Claiming || phase_ == Phase::Syncing; }
  [[nodiscard]] bool isStandby() const { return phase_ == Phase::Standby || phase_ == Phase::Stopped; }
  /// New decisions may be taken, or will be once the first sweep is over.
  [[nodiscard]] bool taking() const { return phase_ == Phase::Adopting || phase_ == Phase::Deciding; }
  [[nodiscard]] bool deciding() const { return phase_ == Phase::Deciding; }
  [[nodiscard]] bool stopped() const { return phase_ == Phase::Stopped; }
  /// A term that it may lead in and does not yet.
  [[nodiscard]] bool mayBegin(std::uint64_t term) const {
    return phase_ == Phase::Standby || ((taking() || recovering()) && term != term_);
  }

  /// `record_term`: never used before.
  void begin(std::uint64_t term, std::string record_term, kapi::Effects& out);
  void lose();
  /// The process ends. Only Finishing has something to finish.
  void stop();
  /// The first sweep of this term is over.
  void adopted() {
    if (phase_ == Phase::Adopting) { phase_ = Phase::Deciding; }
  }
  /// The next step, if it is time for it: until it is None, at each event.
  [[nodiscard]] Step advance(Now now, kapi::Effects& out);
  bool handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
    return parts_.handle(outcome, now, out);
  }
  /// Leases of other namespaces and the record are read again now and then.
  void tick(Now now, kapi::Effects& out);
  [[nodiscard]] std::optional<Mono> nextDue() const;

  [[nodiscard]] const LeaseRecord& record() const { return record_; }
  [[nodiscard]] InitialSync& initialSync() { return initial_sync_; }
  [[nodiscard]] const InitialSync& initialSync() const { return initial_sync_; }
  /// What keeps it from deciding, for the log; "" nothing: what was not answered yet is none.
  [[nodiscard]] std::string trouble() const {
    const bool fine = record_.trouble().empty() || record_.isFirstRead();
    return fine ? initial_sync_.error() : record_.trouble();
  }

 private:
  Phase phase_ = Phase::Standby;
  std::uint64_t term_ = 0;
  controller::Parts parts_;
  LeaseRecord record_;
  InitialSync initial_sync_;
  Mono next_census_{};
  Mono next_record_{};
};

}  // namespace gs::scheduler
