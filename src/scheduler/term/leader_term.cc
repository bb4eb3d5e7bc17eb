#include "scheduler/term/leader_term.h"

#include <algorithm>

#include "base/mutant.h"

namespace gs::scheduler {
namespace {

constexpr Duration kCensusEvery = std::chrono::minutes{10};
constexpr Duration kRecordEvery = std::chrono::seconds{10};

}  // namespace

void LeaderTerm::begin(std::uint64_t term, std::string record_term, kapi::Effects& out) {
  phase_ = Phase::Claiming;
  term_ = term;
  record_.start(std::move(record_term), out);
}

void LeaderTerm::lose() {
  phase_ = phase_ == Phase::Finishing || phase_ == Phase::Stopped ? Phase::Stopped : Phase::Standby;
  initial_sync_.reset();
  record_.reset();
}

void LeaderTerm::stop() {
  if (taking()) {
    phase_ = Phase::Finishing;
  } else if (phase_ != Phase::Finishing) {
    phase_ = Phase::Stopped;
    initial_sync_.reset();
    record_.reset();
  }
}

LeaderTerm::Step LeaderTerm::advance(Now now, kapi::Effects& out) {
  if (isStandby()) { return Step::None; }
  record_.tick(now, out);
  // Before the first lease after the CRD came all leases are read again. Where the record names another
  // namespace, nothing more is decided until it is ours.
  if (leads() && (record_.takeCame() || !record_.settled())) {
    phase_ = phase_ == Phase::Finishing ? Phase::Stopped : Phase::Claiming;
    return Step::BeganAnew;
  }
  // So are they when that happens while they are being read: somebody else may have led,
  // and written some, since.
  if (phase_ == Phase::Syncing && (record_.takeCame() || !record_.settled())) { phase_ = Phase::Claiming; }
  if (phase_ == Phase::Claiming && record_.settled()) {
    (void)record_.takeCame();
    phase_ = Phase::Syncing;
    initial_sync_.start(out);
  }
  const bool synced = initial_sync_.done() || GS_MUTANT(NoInitialSync);
  if (phase_ != Phase::Syncing || !synced) { return Step::None; }
  phase_ = Phase::Adopting;
  next_census_ = now.mono + kCensusEvery;
  next_record_ = now.mono + kRecordEvery;
  return Step::Synced;
}

void LeaderTerm::tick(Now now, kapi::Effects& out) {
  parts_.tick(now, out);
  if (!taking()) { return; }
  if (next_census_ <= now.mono) {
    next_census_ = now.mono + kCensusEvery;
    if (!initial_sync_.censusRunning()) {
      initial_sync_.startCensus(out);
    }  // one that fails goes on by itself
  }
  if (next_record_ <= now.mono) {
    next_record_ = now.mono + kRecordEvery;
    record_.recheck(now.mono);
  }
}

std::optional<Mono> LeaderTerm::nextDue() const {
  if (isStandby()) { return std::nullopt; }
  const auto due = parts_.nextDue();
  if (!taking()) { return due; }
  const Mono recheck = std::min(next_census_, next_record_);
  return due ? std::min(*due, recheck) : recheck;
}

}  // namespace gs::scheduler
