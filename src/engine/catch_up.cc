#include "engine/catch_up.h"

#include <fmt/format.h>
#include <algorithm>

#include "kapi/paths.h"
#include "kapi/write.h"

namespace gs::engine {

using model::Kind;

/// Tokens of an earlier term are never used again.
void CatchUp::reset() {
  states_ = {};
  wants_.clear();
  due_.reset();
}

void CatchUp::ask(Kind kind, kapi::Effects& out) {
  kapi::Call call = kapi::listObjects(kind, "", 1);
  call.token = kapi::makeToken(owner_, next_++);
  of(kind).asked = call.token;
  of(kind).progress = Progress::Asked;
  out.emplace_back(std::move(call));
}

void CatchUp::start(kapi::Effects& out) {
  reset();
  for (const Kind kind : kinds_) { ask(kind, out); }
}

void CatchUp::listed(Kind kind, const kapi::Outcome& outcome, Mono now) {
  State& state = of(kind);
  state.error.clear();
  if (outcome.fate == kapi::Fate::Applied) {
    state.progress = Progress::Catching;
    wants_.push_back({kind, outcome.list_revision});
  } else if (outcome.http == 404 && kapi::mayBeAbsent(kind)) {
    state.progress = Progress::Done;
  } else {
    state.error =
        fmt::format("cannot list {}: {} {}", kapi::kindInfo(kind).resource, outcome.http, outcome.message);
    state.progress = Progress::Failed;
    const Mono at = now + std::max(kRetry, outcome.retry_after);
    due_ = due_ ? std::max(*due_, at)
                : at;  // all that failed is asked again together, at the latest of the times
  }
}

void CatchUp::handle(const kapi::Outcome& outcome, Mono now) {
  for (const Kind kind : kinds_) {
    if (of(kind).asked == outcome.token && of(kind).progress == Progress::Asked) {
      listed(kind, outcome, now);
    }
  }
}

void CatchUp::tick(Mono now, kapi::Effects& out) {
  if (!due_ || *due_ > now) { return; }
  due_.reset();
  for (const Kind kind : kinds_) {
    if (of(kind).progress == Progress::Failed) { ask(kind, out); }
  }
}

void CatchUp::caughtUp(Kind kind) {
  if (of(kind).progress == Progress::Catching) { of(kind).progress = Progress::Done; }
}

std::string CatchUp::error() const {
  for (const State& state : states_) {
    if (!state.error.empty()) { return state.error; }
  }
  return "";
}

bool CatchUp::done() const {
  return std::all_of(kinds_.begin(), kinds_.end(),
                     [this](Kind k) { return of(k).progress == Progress::Done; });
}

std::string CatchUp::trouble() const {
  if (auto failed = error(); !failed.empty()) { return failed; }
  for (const Kind kind : kinds_) {
    if (of(kind).progress != Progress::Done) {
      return fmt::format("{} have not caught up yet", kapi::kindInfo(kind).resource);
    }
  }
  return "";
}

}  // namespace gs::engine
