#include "scheduler/barrier.h"

#include <fmt/format.h>
#include <algorithm>

#include "kapi/paths.h"
#include "kapi/write.h"
#include "model/annotations.h"

namespace gs::scheduler {
namespace {

using model::Kind;

std::size_t slot(Kind kind) { return static_cast<std::size_t>(kind); }

}  // namespace

void Barrier::reset() {
  const auto next = next_;  // tokens of an earlier term are never used again
  *this = Barrier{};
  next_ = next;
}

void Barrier::ask(Kind kind, kapi::Effects& out) {
  kapi::Call call = kapi::listObjects(kind, "", 1);
  call.token = kapi::makeToken(kOwner, next_++);
  asked_[slot(kind)] = call.token;
  kinds_[slot(kind)] = Progress::Asked;
  out.emplace_back(std::move(call));
}

void Barrier::askCensus(const std::string& continue_token, kapi::Effects& out) {
  kapi::Call call = kapi::listObjects(Kind::Lease, "", page_size_, continue_token,
                                      fmt::format("{}=true", model::kManagedLabel));
  call.token = kapi::makeToken(kOwner, next_++);
  census_call_ = call.token;
  census_page_ = continue_token;
  out.emplace_back(std::move(call));
}

void Barrier::start(kapi::Effects& out) {
  reset();
  for (const Kind kind : kCaughtUpKinds) { ask(kind, out); }
  startCensus(out);
}

void Barrier::startCensus(kapi::Effects& out) {
  census_ = {};
  census_open_ = true;
  census_failed_ = false;
  askCensus("", out);
}

void Barrier::censusPage(const kapi::Outcome& outcome, Mono now, kapi::Effects& out) {
  census_call_ = 0;
  if (outcome.too_large && page_size_ > 1) {
    page_size_ /= 2;
    askCensus(census_page_, out);
    return;
  }
  if (outcome.fate != kapi::Fate::Applied) {
    errors_[slot(Kind::Lease)] = fmt::format("cannot list leases: {} {}", outcome.http, outcome.message);
    census_failed_ = true;
    retry(outcome, now);
    return;
  }
  errors_[slot(Kind::Lease)].clear();
  if (census_.revision == 0) { census_.revision = outcome.list_revision; }
  for (const auto& item : outcome.items) {
    if (const auto* lease = std::get_if<model::Ptr<model::Lease>>(&item)) {
      census_.leases.push_back(*lease);
    }
  }
  if (!outcome.continue_token.empty()) {
    askCensus(outcome.continue_token, out);
    return;
  }
  census_open_ = false;
  census_done_ = true;
  complete_census_ = std::exchange(census_, {});
}

/// All that failed is asked again together, at the latest of the times.
void Barrier::retry(const kapi::Outcome& outcome, Mono now) {
  const Mono at = now + std::max(kRetry, outcome.retry_after);
  due_ = due_ ? std::max(*due_, at) : at;
}

void Barrier::kindListed(Kind kind, const kapi::Outcome& outcome, Mono now) {
  if (outcome.fate == kapi::Fate::Applied) {
    kinds_[slot(kind)] = Progress::Catching;
    errors_[slot(kind)].clear();
    catch_ups_.push_back({kind, outcome.list_revision});
  } else if (outcome.http == 404 && kapi::mayBeAbsent(kind)) {
    kinds_[slot(kind)] = Progress::Done;
    errors_[slot(kind)].clear();
  } else {
    errors_[slot(kind)] =
        fmt::format("cannot list {}: {} {}", kapi::kindInfo(kind).resource, outcome.http, outcome.message);
    kinds_[slot(kind)] = Progress::Failed;
    retry(outcome, now);
  }
}

void Barrier::handle(const kapi::Outcome& outcome, Mono now, kapi::Effects& out) {
  if (outcome.token == census_call_) {
    censusPage(outcome, now, out);
    return;
  }
  for (const Kind kind : kCaughtUpKinds) {
    if (asked_[slot(kind)] == outcome.token && kinds_[slot(kind)] == Progress::Asked) {
      kindListed(kind, outcome, now);
    }
  }
}

void Barrier::tick(Mono now, kapi::Effects& out) {
  if (!due_ || *due_ > now) { return; }
  due_.reset();
  for (const Kind kind : kCaughtUpKinds) {
    if (kinds_[slot(kind)] == Progress::Failed) { ask(kind, out); }
  }
  if (census_failed_) { startCensus(out); }
}

void Barrier::caughtUp(Kind kind) {
  if (kinds_[slot(kind)] == Progress::Catching) { kinds_[slot(kind)] = Progress::Done; }
}

std::string Barrier::error() const {
  const auto it = std::find_if(errors_.begin(), errors_.end(), [](const auto& e) { return !e.empty(); });
  return it == errors_.end() ? "" : *it;
}

bool Barrier::done() const {
  return census_done_ && std::all_of(std::begin(kCaughtUpKinds), std::end(kCaughtUpKinds),
                                     [this](Kind k) { return kinds_[slot(k)] == Progress::Done; });
}

std::string Barrier::trouble() const {
  if (done()) { return ""; }
  if (auto failed = error(); !failed.empty()) { return failed; }
  for (const Kind kind : kCaughtUpKinds) {
    if (kinds_[slot(kind)] != Progress::Done) {
      return fmt::format("{} have not caught up yet", kapi::kindInfo(kind).resource);
    }
  }
  return "leases were not listed yet";
}

}  // namespace gs::scheduler
