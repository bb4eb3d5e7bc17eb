#include "engine/cache_sync.h"

#include <fmt/format.h>
#include <algorithm>

#include "kapi/write.h"

namespace gs::engine {

using kapi::Kind;

/// Tokens of an earlier term are never used again.
void CacheSync::reset() {
  states_.assign(kinds_.size(), {});
  wants_.clear();
  due_.reset();
}

void CacheSync::ask(std::size_t i, kapi::Effects& out) {
  kapi::Call call = kapi::listObjects(kinds_[i], "", 1);
  call.token = kapi::makeToken(owner_, next_++);
  states_[i].asked = call.token;
  states_[i].progress = Progress::Asked;
  out.emplace_back(std::move(call));
}

void CacheSync::start(kapi::Effects& out) {
  reset();
  for (std::size_t i = 0; i < kinds_.size(); ++i) { ask(i, out); }
}

void CacheSync::listed(std::size_t i, const kapi::Outcome& outcome, Mono now) {
  const Kind kind = kinds_[i];
  State& state = states_[i];
  state.error.clear();
  if (outcome.result == kapi::CallResult::Applied) {
    state.progress = Progress::Catching;
    wants_.push_back({kind, outcome.list_revision});
  } else if (outcome.http == 404 && kind->may_be_absent) {
    state.progress = Progress::Done;
  } else {
    state.error = fmt::format("cannot list {}: {} {}", kind->plural, outcome.http, outcome.message);
    state.progress = Progress::Failed;
    const Mono at = now + std::max(kRetry, outcome.retry_after);
    due_ = due_ ? std::max(*due_, at)
                : at;  // all that failed is asked again together, at the latest of the times
  }
}

void CacheSync::handle(const kapi::Outcome& outcome, Mono now) {
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    if (states_[i].asked == outcome.token && states_[i].progress == Progress::Asked) {
      listed(i, outcome, now);
    }
  }
}

void CacheSync::tick(Mono now, kapi::Effects& out) {
  if (!due_ || *due_ > now) { return; }
  due_.reset();
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    if (states_[i].progress == Progress::Failed) { ask(i, out); }
  }
}

void CacheSync::caughtUp(Kind kind) {
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    if (kinds_[i] == kind && states_[i].progress == Progress::Catching) {
      states_[i].progress = Progress::Done;
    }
  }
}

std::string CacheSync::error() const {
  for (const State& state : states_) {
    if (!state.error.empty()) { return state.error; }
  }
  return "";
}

bool CacheSync::done() const {
  return std::all_of(states_.begin(), states_.end(),
                     [](const State& state) { return state.progress == Progress::Done; });
}

std::string CacheSync::trouble() const {
  if (auto failed = error(); !failed.empty()) { return failed; }
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    if (states_[i].progress != Progress::Done) {
      return fmt::format("{} have not caught up yet", kinds_[i]->plural);
    }
  }
  return "";
}

}  // namespace gs::engine
