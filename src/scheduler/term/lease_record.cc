#include "scheduler/term/lease_record.h"

#include <fmt/format.h>
#include <algorithm>

#include "kapi/kinds.h"
#include "kapi/retry_wait.h"
#include "kapi/write.h"
#include "model/annotations.h"
#include "scheduler/core/config.h"

namespace gs::scheduler {
namespace {

constexpr const char* kClaimCrd = "gpuclaims.gpu.scheduling";
constexpr const char* kNotRead = "the record of the lease namespace was not read yet";

}  // namespace

void LeaseRecord::send(kapi::Call call, State state) {
  call.token = kapi::makeToken(owner_, next_++);
  call.leader_only = call.verb != kapi::Verb::Get;
  call_ = call.token;
  state_ = state;
  due_.reset();
  next_call_ = std::move(call);
}

bool LeaseRecord::isFirstRead() const { return trouble_ == kNotRead; }

void LeaseRecord::readCrd() { send(kapi::getObject(kapi::kCrd, {"", kClaimCrd}), State::Reading); }

void LeaseRecord::start(std::string term, kapi::Effects& out) {
  term_ = std::move(term);
  seen_ = {};
  writes_ = 0;
  not_before_ = {};
  trouble_ = kNotRead;
  readCrd();
  tick(Now{}, out);
}

/// Where something takes away what we write, we do not write it again at once.
void LeaseRecord::write(Mono now) {
  if (now < not_before_) {
    state_ = State::Reading;
    return retry(not_before_);
  }
  not_before_ = now + kapi::retryWait(++writes_, {});
  send(kapi::recordLeaseNamespace(*crd_, ns_, scheduler_, term_), State::Writing);
}

void LeaseRecord::crdRead(const kapi::Outcome& outcome, Mono now) {
  const auto crd = outcome.object.as<model::Crd>();
  if (outcome.http == 404) {
    state_ = State::Absent;
    ours_ = false;
    absent_ = came_ = true;
    trouble_.clear();
    retry(now + kAbsentRetry);
  } else if (outcome.result != kapi::CallResult::Applied || crd == nullptr) {
    trouble_ = fmt::format("cannot read CRD {}: {} {}", kClaimCrd, outcome.http, outcome.message);
    retry(now + std::max(kRetry, outcome.retry_after));
  } else {
    crd_ = *crd;
    absent_ = false;
    found(now);
  }
}

/// What the record says.
void LeaseRecord::found(Mono now) {
  const bool our_name = crd_->lease_scheduler == scheduler_;
  if (crd_->lease_namespace == ns_ && our_name && crd_->lease_term == term_) {
    state_ = State::Ours;
    ours_ = true;
    writes_ = 0;
    not_before_ = {};
    trouble_.clear();
  } else if (crd_->lease_namespace.empty() ||
             (crd_->lease_namespace == ns_ && (our_name || crd_->lease_scheduler.empty()))) {
    write(now);
  } else if (crd_->lease_namespace == ns_) {
    ours_ = false;
    trouble_ = fmt::format(
        "the GPU leases in namespace {} are those of scheduler {} (CRD {}, annotation {}), and this is "
        "scheduler {}; two of "
        "different names never share a lease namespace: stop this one, or, once {} is gone for good, remove "
        "that annotation",
        ns_, crd_->lease_scheduler, kClaimCrd, model::kLeaseSchedulerKey, scheduler_, crd_->lease_scheduler);
    state_ = State::Waiting;
    retry(now + kAbsentRetry);
  } else {
    ours_ = false;
    send(kapi::getObject(kapi::kLease, {crd_->lease_namespace, kLeaderLease}), State::Looking);
  }
}

void LeaseRecord::leaderRead(const kapi::Outcome& outcome, Mono now) {
  const auto lease = outcome.object.as<model::Lease>();
  if (outcome.notFound()) {
    write(now);
    return;
  }
  if (outcome.result != kapi::CallResult::Applied || lease == nullptr) {
    trouble_ = fmt::format("cannot read lease {}/{}: {} {}", crd_->lease_namespace, kLeaderLease,
                           outcome.http, outcome.message);
    state_ = State::Reading;
    retry(now + std::max(kRetry, outcome.retry_after));
    return;
  }
  if (lease->holder.empty()) {
    write(now);
    return;
  }
  const Duration duration = std::chrono::seconds{std::clamp<std::int64_t>(lease->record.duration_s, 1, 60)};
  std::pair now_seen{crd_->lease_namespace, lease->record.renew_time};
  if (seen_ != now_seen) {
    seen_ = std::move(now_seen);
    silent_until_ = now + 2 * duration;
  } else if (now >= silent_until_) {
    write(now);
    return;
  }
  const bool another = !crd_->lease_scheduler.empty() && crd_->lease_scheduler != scheduler_;
  trouble_ = fmt::format(
      "GPU leases are recorded in namespace {} (CRD {}, annotation {}) and its leader {} may be alive; stop "
      "that scheduler{}",
      crd_->lease_namespace, kClaimCrd, model::kLeaseNamespaceKey, lease->holder,
      another ? fmt::format(", whose name is {}: there is one for a cluster", crd_->lease_scheduler)
              : fmt::format(" or run this one with --lease-namespace={}", crd_->lease_namespace));
  state_ = State::Waiting;
  retry(silent_until_);
}

void LeaseRecord::handle(const kapi::Outcome& outcome, Now at, kapi::Effects& /*out*/) {
  const Mono now = at.mono;
  if (outcome.token != call_) { return; }
  call_ = 0;
  switch (state_) {
    case State::Reading: crdRead(outcome, now); return;
    case State::Looking: leaderRead(outcome, now); return;
    case State::Writing:  // whatever came of it, the record is read again
      state_ = State::Reading;
      retry(outcome.result == kapi::CallResult::Applied ? now : now + std::max(kRetry, outcome.retry_after));
      return;
    case State::Idle:
    case State::Waiting:
    case State::Ours:
    case State::Absent: return;
  }
}

void LeaseRecord::tick(Now now, kapi::Effects& out) {
  if (call_ == 0 && due_ && *due_ <= now.mono) { readCrd(); }
  if (next_call_) { out.emplace_back(*std::exchange(next_call_, std::nullopt)); }
}

std::optional<Mono> LeaseRecord::nextDue() const { return call_ == 0 ? due_ : std::nullopt; }

}  // namespace gs::scheduler
