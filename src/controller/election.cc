#include "controller/election.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/mutant.h"
#include "kapi/kinds.h"
#include "kapi/time.h"
#include "kapi/write.h"

namespace gs::controller {

Election::Election(Config config, Rng rng) : config_{std::move(config)}, rng_{rng} {}

Election::Output Election::start(Now now) {
  Output out;
  last_pong_ = now.mono;
  read(out);
  return out;
}

void Election::pong(Now now) {
  last_pong_ = now.mono;
  silent_ = false;
}

void Election::read(Output& out) {
  kapi::Call call = kapi::getObject(kapi::kLease, config_.lease);
  call.token = call_ = kapi::makeToken(config_.owner, next_++);
  call.timeout = config_.renew_deadline / 2;  // one that is lost leaves time for another
  state_ = State::Reading;
  reread_ = false;
  due_.reset();
  out.effects.emplace_back(std::move(call));
}

void Election::wait(Duration period, Duration at_least, Now now, Output& out) {
  state_ = State::Waiting;
  // client-go: retry_period, jittered by 1.2 while it does not lead
  const auto spread = static_cast<std::uint64_t>(period.count() / 5 + 1);
  const Duration jitter =
      leadership_.leading ? Duration{} : Duration{static_cast<Duration::rep>(rng_.below(spread))};
  due_ = now.mono + std::max(period + jitter, leadership_.leading ? Duration{} : at_least);
  if (const auto silent_at = holderSilentAt(); silent_at && *silent_at > now.mono) {
    if (at_least == Duration{}) { due_ = std::min(*due_, *silent_at); }
    if (!forewarned_) { out.effects.emplace_back(kapi::Wake{std::max(now.mono, forewarnAt(*silent_at))}); }
  }
  out.effects.emplace_back(kapi::Wake{*due_});
  if (leadership_.leading) { out.effects.emplace_back(kapi::Wake{leadership_.until}); }
}

/// The moment of a change is ours: clocks of two machines are never compared.
void Election::seen(const model::Lease& lease, Now now) {
  const bool same =
      known_ && known_->holder == lease.holder && known_->record == lease.record && known_->uid == lease.uid;
  if (!same) {
    changed_ = now.mono;
    forewarned_ = false;
  }
  known_ = lease;
  holder_ = lease.holder;
}

Election::Output Election::handle(const kapi::Outcome& outcome, Now now) {
  Output out;
  if (outcome.token != call_ || call_ == 0) { return out; }
  call_ = 0;
  checkLife(now, out);
  if (outcome.result == kapi::CallResult::Applied) {
    allowed_ = true;
    forbidden_since_.reset();
  }
  if (state_ == State::Reading) {
    readAnswered(outcome, now, out);
  } else if (state_ == State::Asking) {
    askAnswered(outcome, now, out);
  } else {
    writeAnswered(outcome, now, out);
  }
  return out;
}

void Election::readAnswered(const kapi::Outcome& outcome, Now now, Output& out) {
  const auto lease = outcome.object.as<model::Lease>();
  if (stopping_) {
    if (lease != nullptr && lease->holder == config_.identity) {
      write(lease.get(), true, now, out);
    } else {
      finish(out);
    }
  } else if (outcome.http == 404) {
    vanished(now, out);
  } else if (outcome.result == kapi::CallResult::Applied && lease != nullptr) {
    if (wentBack(*lease, out)) { return; }
    seen(*lease, now);
    if (isAnothers(*lease, now, out)) { return; }
    trouble_.clear();
    consider(lease.get(), now, out);
  } else {
    unreadable("read", outcome, now, out);
  }
}

bool Election::wentBack(const model::Lease& lease, Output& out) {
  if (lease.revision >= newest_) {
    newest_ = lease.revision;
    return false;
  }
  trouble_ = fmt::format("the leader lease {} has resourceVersion {}, after {}", config_.lease.text(),
                         lease.revision, newest_);
  state_ = State::Stopped;
  due_.reset();
  leadership_.went_back = true;
  lose(out);
  return true;
}

/// There is no lease: never was, or somebody deleted it by hand. Whoever held it (not always the one whom we
/// saw last) may lead on for a while, so its going counts as a change of the record: a lease duration passes
/// before we write a new one.
void Election::vanished(Now now, Output& out) {
  const bool was_there = known_ && !leadership_.leading;
  if (was_there) {
    model::Lease gone = *known_;
    gone.uid = {};
    seen(gone, now);
  }
  if (silent_ || (was_there && now.mono - changed_ < lifeOf(*known_))) {
    waitRetry({}, now, out);
    return;
  }
  known_.reset();
  holder_.clear();
  write(nullptr, false, now, out);
}

Duration Election::lifeOf(const model::Lease& lease) const {
  const std::chrono::seconds recorded{std::clamp<std::int64_t>(lease.record.duration_s, 0, 3600)};
  return std::max<Duration>(config_.lease_duration, recorded);
}

void Election::say(const char* verb, const kapi::Outcome& outcome, Output& out) {
  auto trouble = fmt::format("cannot {} the leader lease {}: {} {}", verb, config_.lease.text(), outcome.http,
                             outcome.message);
  if (trouble != trouble_) { out.effects.emplace_back(kapi::Log{kapi::Level::Warn, trouble, {}}); }
  trouble_ = std::move(trouble);
}

void Election::unreadable(const char* verb, const kapi::Outcome& outcome, Now now, Output& out) {
  say(verb, outcome, out);
  if (config_.standalone_when_forbidden && outcome.http == 403 && !allowed_) {
    if (!forbidden_since_) { forbidden_since_ = now.mono; }
    if (now.mono - *forbidden_since_ >= config_.lease_duration) {
      if (!leadership_.leading) {
        out.effects.emplace_back(
            kapi::Log{kapi::Level::Warn,
                      fmt::format("this process works alone, without the leader lease {}: run no "
                                  "second one, or give its account get, create and update on it",
                                  config_.lease.text()),
                      {}});
      }
      sent_ = now.mono;
      lead(now, out);
    }
  }
  waitRetry(outcome.retry_after, now, out);
}

void Election::finish(Output& out) {
  state_ = State::Stopped;
  out.released = true;
}

bool Election::isAnothers(const model::Lease& lease, Now now, Output& out) {
  const std::string& theirs = lease.record.scheduler;
  if (config_.scheduler.empty() || theirs.empty() || theirs == config_.scheduler) { return false; }
  if (GS_MUTANT(IgnoresRecord)) { return false; }
  if (leadership_.leading) { lose(out); }
  auto trouble = fmt::format(
      "the leader lease {} is that of scheduler {}, and this is scheduler {}; two of different names never "
      "share a lease "
      "namespace: stop this one or run it with another --lease-namespace, or, once {} is gone for good, "
      "delete that lease",
      config_.lease.text(), theirs, config_.scheduler, theirs);
  if (trouble != trouble_) { out.effects.emplace_back(kapi::Log{kapi::Level::Warn, trouble, {}}); }
  trouble_ = std::move(trouble);
  waitRetry({}, now, out);
  return true;
}

void Election::consider(const model::Lease* lease, Now now, Output& out) {
  const bool free = lease->holder.empty() || lease->holder == config_.identity;
  const Duration theirs = lifeOf(*lease);
  if (!free && leadership_.leading) { lose(out); }
  if (!free && now.mono - changed_ < theirs) {
    if (const auto container = suspect(*lease, now)) {
      askAfter(*container, now, out);
    } else {
      waitRetry({}, now, out);
    }
    return;
  }
  if (silent_) {
    waitRetry({}, now, out);
    return;
  }
  write(lease, false, now, out);
}

/// Where the holder runs, when it is late and its kubelet may know more.
std::optional<HolderContainer> Election::suspect(const model::Lease& lease, Now now) const {
  const bool late = now.mono - changed_ >= config_.retry_period;
  return late && may_ask_ && !silent_ ? parseHolderContainer(lease.record.container) : std::nullopt;
}

void Election::askAfter(const HolderContainer& container, Now now, Output& out) {
  const bool said = said_soon_ && now.mono - *said_soon_ < config_.lease_duration;
  if (!said && now.mono - changed_ >= 2 * config_.retry_period) { saySoon(now, out); }
  kapi::Call call = kapi::getObject(kHolderPod, container.pod);
  call.token = call_ = kapi::makeToken(config_.owner, next_++);
  call.timeout = config_.retry_period;
  state_ = State::Asking;
  due_.reset();
  out.effects.emplace_back(std::move(call));
}

void Election::askAnswered(const kapi::Outcome& outcome, Now now, Output& out) {
  if (stopping_) {
    finish(out);
    return;
  }
  may_ask_ = may_ask_ && outcome.http != 403;
  const auto pod = outcome.object.as<HolderPod>();
  const auto container = parseHolderContainer(known_->record.container);
  if (outcome.result != kapi::CallResult::Applied || pod == nullptr || !container || silent_ ||
      !hasEnded(*pod, *container, known_->record)) {
    wait(config_.retry_period / 2, {}, now, out);
    return;
  }
  out.effects.emplace_back(kapi::Log{
      kapi::Level::Info,
      fmt::format("the leader {} has ended, as its kubelet says of container {} of pod {}: the lease {} "
                  "is taken over",
                  holder_, container->name, container->pod.text(), config_.lease.text()),
      {}});
  write(&*known_, false, now, out);
}

void Election::write(const model::Lease* lease, bool release, Now now, Output& out) {
  model::Lease next = lease == nullptr ? model::Lease{} : *lease;
  const bool takes_over = lease != nullptr && lease->holder != config_.identity;
  next.key = config_.lease;
  next.record.address = config_.address;
  next.record.scheduler = config_.scheduler;
  next.record.container = config_.container;
  next.record.renew_time = kapi::microTimeText(now.wall);
  if (lease == nullptr || takes_over) { next.record.acquire_time = next.record.renew_time; }
  if (takes_over) { ++next.record.transitions; }
  next.holder = release ? "" : config_.identity;
  next.record.duration_s =
      release ? 1
              : std::max<std::int64_t>(
                    1, std::chrono::ceil<std::chrono::seconds>(config_.lease_duration).count());
  kapi::Call call = kapi::writeElection(next, lease == nullptr);
  call.token = call_ = kapi::makeToken(config_.owner, next_++);
  call.timeout = config_.renew_deadline / 2;
  create_ = lease == nullptr;
  writing_release_ = release;
  sent_ = now.mono;
  state_ = State::Writing;
  due_.reset();
  if (leadership_.leading && !release) { out.effects.emplace_back(kapi::Wake{leadership_.until}); }
  out.effects.emplace_back(std::move(call));
}

void Election::writeAnswered(const kapi::Outcome& outcome, Now now, Output& out) {
  const auto lease = outcome.object.as<model::Lease>();
  if (writing_release_) {
    finish(out);
    return;
  }
  if (stopping_) {  // stop() came while a renewal was in flight
    if (outcome.result == kapi::CallResult::Applied && lease != nullptr) {
      write(lease.get(), true, now, out);
    } else if (outcome.result == kapi::CallResult::Refused) {
      finish(out);
    } else {
      read(out);
    }
    return;
  }
  if (outcome.result == kapi::CallResult::Applied && lease != nullptr) {
    if (wentBack(*lease, out)) { return; }
    trouble_.clear();
    conflicted_ = false;
    seen(*lease, now);
    lead(now, out);
    waitRetry({}, now, out);
  } else if (outcome.http == 409 && !std::exchange(conflicted_, true)) {
    read(out);
  } else {
    reread_ = true;  // it may have been applied: the next write needs the newest revision
    unreadable("write", outcome, now, out);
  }
}

void Election::lead(Now now, Output& out) {
  const Mono until = sent_ + config_.renew_deadline;
  if (until <= now.mono || silent_) { return; }  // answered too late to act on
  if (!leadership_.leading) { ++leadership_.term; }
  if (!leadership_.leading) { last_pong_ = now.mono; }
  leadership_.leading = true;
  leadership_.until = until;
  out.leadership = leadership_;
}

/// An owner that hung does not lead again before it gave a sign of life.
void Election::checkLife(Now now, Output& out) {
  silent_ = silent_ || ownerHangs(now);
  if (expired(now) || ownerHangs(now)) { lose(out); }
}

void Election::lose(Output& out) {
  leadership_.leading = false;
  out.leadership = leadership_;
}

/// When the holder, if it is another, counts as gone unless it renews until then.
std::optional<Mono> Election::holderSilentAt() const {
  if (leadership_.leading || !known_ || holder_.empty() || holder_ == config_.identity) {
    return std::nullopt;
  }
  return changed_ + lifeOf(*known_);
}

Mono Election::forewarnAt(Mono silent_at) const {
  return std::max(silent_at - kForewarning, std::min(silent_at, changed_ + 3 * config_.retry_period));
}

void Election::forewarn(Now now, Output& out) {
  const auto silent_at = holderSilentAt();
  if (stopping_ || silent_ || forewarned_ || !silent_at || now.mono < forewarnAt(*silent_at)) { return; }
  saySoon(now, out);
}

void Election::saySoon(Now now, Output& out) {
  forewarned_ = true;
  said_soon_ = now.mono;
  out.leadership = leadership_;
  out.leadership->soon = true;
}

Election::Output Election::tick(Now now) {
  Output out;
  checkLife(now, out);
  forewarn(now, out);
  if (state_ == State::Waiting && due_ && *due_ <= now.mono) {
    out.ping = leadership_.leading || silent_;
    const bool renew = leadership_.leading && known_ && !reread_;
    if (renew) {
      write(&*known_, false, now, out);
    } else {
      read(out);
    }
  }
  return out;
}

Election::Output Election::stop(Now now) {
  Output out;
  const bool led = leadership_.leading && known_;
  stopping_ = true;
  if (leadership_.leading) { lose(out); }
  if (call_ != 0) { return out; }  // its answer goes on
  if (led && reread_) {
    read(out);
  } else if (led) {
    write(&*known_, true, now, out);
  } else {
    finish(out);
  }
  return out;
}

}  // namespace gs::controller
